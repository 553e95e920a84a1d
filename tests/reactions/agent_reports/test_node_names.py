"""An agent speaks about its node only, so a node name belongs to one agent."""

from dataclasses import replace

import pytest

from proctor.domain.agent_protocol import Role
from proctor.domain.agents import AgentState
from tests.fakes.agent_world import AgentWorld

RIVAL = b"r" * 32


@pytest.mark.parametrize("role", [Role.NODE, Role.CONTROLLER])
def test_a_node_without_a_listed_host_name_does_not_take_the_name_of_another(role: Role) -> None:
    world = AgentWorld()
    first = world.enrolled()
    world.nodes.launch("i-0fedcba9876543210", None)
    impostor = replace(first, instance_id="i-0fedcba9876543210", key=RIVAL, role=role)
    world.deliver(impostor.enrolment(), role=role)

    assert world.agents.get(impostor.cluster, impostor.instance_id) is None
    assert world.reasons()[-1] == "enrolment_refused"
    assert first.instance_id in world.telemetry.outcomes[-1].verdict.text


def test_a_node_takes_the_name_of_one_that_is_gone() -> None:
    world = AgentWorld()
    first = world.enrolled()
    del world.nodes.listed[first.cluster][first.instance_id]
    world.nodes.launch("i-0fedcba9876543210", None)
    successor = replace(first, instance_id="i-0fedcba9876543210", key=RIVAL)
    world.deliver(successor.enrolment(), role=Role.NODE)

    assert world.record(successor).state is AgentState.ENROLLED
