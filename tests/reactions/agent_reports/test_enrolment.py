"""Whose key is whose."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from proctor.domain.agent_protocol import Role
from proctor.domain.agents import AgentState, ListedNode, fingerprint
from proctor.domain.errors import InvalidInputError
from tests.fakes.agent_world import AgentWorld, heartbeat
from tests.fakes.agents import NodeAgent
from tests.fakes.values import NOW

NODE = Role.NODE
RIVAL = b"r" * 32


def approve(world: AgentWorld, agent: NodeAgent, key: bytes, **fields: Any) -> dict[str, Any]:
    asked = {
        "action": "ApproveAgentKey",
        "agent": f"{agent.cluster}#{agent.instance_id}",
        "fingerprint": fingerprint(key),
    }
    (outcome,) = world.manual(**{"dry_run": False, "actions": [asked], **fields})
    return outcome


def disputed() -> tuple[AgentWorld, NodeAgent, NodeAgent]:
    world = AgentWorld()
    agent = world.enrolled()
    rival = replace(agent, key=RIVAL)
    world.deliver(rival.enrolment(), role=NODE)
    return world, agent, rival


def test_a_fresh_node_enrols() -> None:
    world = AgentWorld()
    agent = world.enrolled()

    record = world.record(agent)
    assert (record.state, record.key, record.node) == (AgentState.ENROLLED, agent.key, agent.node)
    assert world.reasons() == ["enrolled"]
    assert world.operators.published == []


def test_the_same_enrolment_again_changes_nothing() -> None:
    world = AgentWorld()
    agent = world.node()
    message = agent.enrolment()
    world.deliver(message, role=NODE)
    before = world.record(agent)
    world.deliver(message, message, role=NODE)

    assert world.record(agent) == before
    assert world.operators.published == []


def test_a_node_that_is_not_listed_yet_waits_in_the_queue() -> None:
    world = AgentWorld()
    agent = NodeAgent()
    message = agent.enrolment()
    assert world.deliver(message, role=NODE) == ["m-1"]

    world.nodes.launch(agent.instance_id, agent.node)
    assert world.deliver(message, role=NODE) == []
    assert world.record(agent).state is AgentState.ENROLLED


def test_a_node_launched_long_ago_enrols_and_is_told() -> None:
    world = AgentWorld()
    agent = world.node()
    world.advance(minutes=61)
    world.deliver(agent.enrolment(), role=NODE)

    assert world.record(agent).state is AgentState.ENROLLED
    assert world.reasons() == ["enrolled_late"]
    (notice,) = world.operators.published
    assert "61 minutes after the node's launch" in notice.text


def test_it_waits_for_approval_where_the_policy_asks_so() -> None:
    world = AgentWorld()
    world.write_policy({"late_enrolment": "ask", "enrol_within_minutes": 10})
    agent = world.node()
    world.advance(minutes=11)
    world.deliver(agent.enrolment(), role=NODE)
    world.deliver(agent.report(heartbeat(world.now)), role=NODE)
    assert world.record(agent).state is AgentState.WAITING
    assert world.observed.rows == {}
    assert world.telemetry.counts["ReportDroppedWaiting"] == 1

    assert approve(world, agent, agent.key)["outcome"] == "applied"
    world.deliver(agent.report(heartbeat(world.now)), role=NODE)
    assert world.record(agent).state is AgentState.ENROLLED
    assert len(world.observed.rows) == 1


def test_a_node_under_another_nodes_name_is_refused() -> None:
    world = AgentWorld()
    agent = world.node()
    liar = replace(agent, node="ip-10-1-0-200")
    world.deliver(liar.enrolment(), role=NODE)

    assert world.agents.rows == {}
    assert world.reasons() == ["enrolment_refused"]


def test_a_controller_of_another_instance_group_is_refused() -> None:
    world = AgentWorld()
    world.write_policy({"controller_groups": ["controller-machine"]})
    agent = world.node(role=Role.CONTROLLER)
    world.deliver(agent.enrolment(), role=Role.CONTROLLER)
    assert world.agents.rows == {}

    world.nodes.launch(agent.instance_id, agent.node, group="controller-machine")
    world.deliver(agent.enrolment(), role=Role.CONTROLLER)
    assert world.record(agent).role is Role.CONTROLLER


# A second key


def test_a_second_key_never_replaces_the_first_and_the_operators_are_told() -> None:
    world, agent, rival = disputed()

    record = world.record(agent)
    assert (record.state, record.key, record.contender) == (AgentState.DISPUTED, agent.key, RIVAL)
    (notice,) = world.operators.published
    assert fingerprint(RIVAL) in notice.text
    assert fingerprint(agent.key) in notice.text

    world.deliver(rival.report(heartbeat()), role=NODE)
    assert world.observed.rows == {}
    world.deliver(agent.report(heartbeat()), role=NODE)
    assert len(world.observed.rows) == 1
    assert world.record(agent).state is AgentState.DISPUTED


def test_many_second_keys_are_one_message_a_day() -> None:
    world, agent, _ = disputed()
    for n in range(10):
        world.deliver(replace(agent, key=bytes([n]) * 32).enrolment(), role=NODE)
    assert len(world.operators.published) == 1

    world.advance(days=1)
    world.deliver(replace(agent, key=b"z" * 32).enrolment(), role=NODE)
    assert len(world.operators.published) == 2


def test_a_second_key_that_is_delivered_again_is_only_counted() -> None:
    world, agent, rival = disputed()
    before = world.record(agent)
    world.advance(days=2)
    world.deliver(rival.enrolment(), role=NODE)

    assert world.record(agent) == before
    assert len(world.operators.published) == 1
    assert world.telemetry.counts["ReportDroppedSecondEnrolment"] == 1


def test_of_two_enrolments_at_once_exactly_one_wins() -> None:
    world = AgentWorld()
    agent = world.node()
    rival = replace(agent, key=RIVAL)
    theirs = rival.enrolment()

    class Other:
        """Another evaluator enrols the rival between our read and our write."""

        done = False

        def before(self, call: object) -> None:
            if getattr(call, "name", "") == "agents.enrol" and not self.done:
                self.done = True
                world.deliver(theirs, role=NODE, wiring=world.wiring())

        def after(self, call: object) -> None:
            return

    world.taps.active.append(Other())
    assert world.deliver(agent.enrolment(), role=NODE) == []

    record = world.record(agent)
    assert (record.key, record.contender) == (RIVAL, agent.key)
    assert record.state is AgentState.DISPUTED
    assert len(world.operators.published) == 1
    assert world.telemetry.counts["AgentEnrolled"] == 1


def test_a_key_made_after_a_software_update_is_taken_only_where_the_policy_says_so() -> None:
    for may, expected in ((False, AgentState.DISPUTED), (True, AgentState.ENROLLED)):
        world = AgentWorld()
        world.write_policy({"may_enrol_again_after_update": may})
        agent = world.enrolled()
        world.advance(days=30)
        updated = ListedNode(agent.instance_id, "gpu", NOW, agent.node, world.now)
        world.nodes.listed["alpha"][agent.instance_id] = updated
        world.advance(minutes=5)
        renewed = replace(agent, key=RIVAL, boot_id="1791000000000-00000000", sequence=0)
        world.deliver(renewed.enrolment(), role=NODE)

        record = world.record(agent)
        assert record.state is expected
        assert (record.key == RIVAL) is may


def test_a_key_long_after_a_software_update_is_a_second_key() -> None:
    world = AgentWorld()
    world.write_policy({"may_enrol_again_after_update": True})
    agent = world.enrolled()
    world.nodes.listed["alpha"][agent.instance_id] = ListedNode(
        agent.instance_id, "gpu", NOW, agent.node, NOW + timedelta(minutes=1)
    )
    world.advance(minutes=62)
    world.deliver(replace(agent, key=RIVAL).enrolment(), role=NODE)
    assert world.record(agent).state is AgentState.DISPUTED


# An operator's word


def test_approving_the_second_key_puts_it_in_the_first_ones_place() -> None:
    world, agent, rival = disputed()
    assert approve(world, agent, RIVAL)["outcome"] == "applied"
    world.deliver(rival.report(heartbeat()), agent.report(heartbeat()), role=NODE)

    record = world.record(agent)
    assert (record.state, record.key, record.contender) == (AgentState.ENROLLED, RIVAL, None)
    assert world.telemetry.counts["ReportDroppedForged"] == 1
    audit = world.claims.written[-1]
    assert (audit.context.actor, audit.context.justification) == ("ops@uni.example (claimed)", "ticket 4711")


def test_approving_the_first_key_ends_the_dispute() -> None:
    world, agent, rival = disputed()
    assert approve(world, agent, agent.key)["outcome"] == "applied"
    world.deliver(rival.report(heartbeat()), role=NODE)

    assert (world.record(agent).state, world.record(agent).key) == (AgentState.ENROLLED, agent.key)
    assert world.observed.rows == {}


def test_an_approval_is_a_rehearsal_unless_told_otherwise() -> None:
    world, agent, _ = disputed()
    assert approve(world, agent, RIVAL, dry_run=True)["outcome"] == "dry_run"
    assert world.record(agent).key == agent.key


def test_a_key_that_nobody_offered_can_not_be_approved() -> None:
    world, agent, _ = disputed()
    outcome = approve(world, agent, b"?" * 32)
    assert (outcome["reason"], outcome["outcome"]) == ("unknown_fingerprint", "none")
    assert approve(world, replace(agent, instance_id="i-0aaaaaaaaaaaaaaaa"), RIVAL)["reason"] == "unknown"
    assert approve(world, replace(agent, cluster="beta"), RIVAL)["reason"] == "unknown"


def test_an_approval_twice_is_done_once() -> None:
    world, agent, _ = disputed()
    approve(world, agent, RIVAL)
    assert approve(world, agent, RIVAL)["reason"] == "approved_already"


def test_an_operator_sees_one_agent() -> None:
    world, agent, _ = disputed()
    (outcome,) = world.manual(scope={"kind": "node", "id": agent.instance_id})
    assert (outcome["reason"], outcome["subject"]) == ("disputed", f"agent#alpha#{agent.instance_id}")
    (outcome,) = world.manual(scope={"kind": "node", "id": "i-00000000"})
    assert outcome["reason"] == "unknown"


@pytest.mark.parametrize(
    "wrong",
    [
        {"action": "TerminateSession", "session_id": "x"},
        {"action": "ApproveAgentKey", "agent": "alpha", "fingerprint": "0" * 16},
        {"action": "ApproveAgentKey", "agent": "alpha#i-0123456789abcdef0", "fingerprint": "nope"},
        {
            "action": "ApproveAgentKey",
            "agent": "alpha#i-0123456789abcdef0",
            "fingerprint": "0" * 16,
            "force": True,
        },
    ],
)
def test_a_request_with_a_mistake_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        AgentWorld().manual(actions=[wrong])
