"""Silence, agents that go with their nodes, and policies."""

import json

from proctor.domain.agent_protocol import Role
from proctor.domain.agents import AgentState
from tests.fakes.agent_world import AgentWorld, heartbeat
from tests.fakes.values import NOW


def test_all_is_well() -> None:
    world = AgentWorld()
    world.controller()
    world.enrolled()
    world.advance(seconds=119)
    world.sweep()

    assert world.verdicts.latest["agents#alpha"].verdict.reason == "all_heard"
    assert (world.telemetry.counts["AgentSilent"], world.nodes.listings) == (0, 2)


def test_a_silent_controller_is_an_alarm_once() -> None:
    world = AgentWorld()
    world.controller()
    world.advance(seconds=121)
    world.sweep()
    world.advance(seconds=60)
    world.sweep()

    assert world.verdicts.latest["agents#alpha"].verdict.reason == "controller_silent"
    assert world.telemetry.counts["ControllerSilent"] == 2
    (notice,) = world.operators.published
    assert "ip-10-1-0-1 (i-0c0c0c0c0c0c0c0c0), last heard 2026-09-01 10:00:00 UTC" in notice.text


def test_a_second_silence_is_another_alarm() -> None:
    world = AgentWorld()
    controller = world.controller()
    world.advance(seconds=121)
    world.sweep()
    world.deliver(controller.report(heartbeat(world.now)), role=Role.CONTROLLER)
    world.sweep()
    assert world.verdicts.latest["agents#alpha"].verdict.reason == "all_heard"
    world.advance(seconds=121)
    world.sweep()

    assert len(world.operators.published) == 2


def test_a_silent_node_is_marked_and_counted_without_a_message() -> None:
    world = AgentWorld()
    agent = world.enrolled()
    world.advance(seconds=121)
    world.sweep()
    assert world.record(agent).silent_since == NOW
    assert (world.telemetry.counts["AgentSilent"], world.telemetry.counts["ControllerSilent"]) == (1, 0)
    assert world.operators.published == []

    world.deliver(agent.report(heartbeat(world.now)), role=Role.NODE)
    assert world.record(agent).silent_since is None


def test_an_agent_whose_node_is_gone_is_not_missed() -> None:
    world = AgentWorld()
    controller, agent = world.controller(), world.enrolled()
    del world.nodes.listed["alpha"][agent.instance_id]
    for _ in range(2):
        world.advance(seconds=121)
        world.deliver(controller.report(heartbeat(world.now)), role=Role.CONTROLLER)
        world.sweep()
    listings = world.nodes.listings
    world.sweep()

    assert world.record(agent).state is AgentState.GONE
    assert world.telemetry.counts["AgentSilent"] == 0
    assert world.nodes.listings == listings


def test_an_agent_that_comes_back_is_enrolled_as_before() -> None:
    world = AgentWorld()
    agent = world.enrolled()
    listed = world.nodes.listed["alpha"].pop(agent.instance_id)
    world.advance(seconds=121)
    world.sweep()
    assert world.record(agent).state is AgentState.GONE
    world.nodes.listed["alpha"][agent.instance_id] = listed
    world.deliver(agent.report(heartbeat(world.now)), role=Role.NODE)
    assert world.record(agent).state is AgentState.ENROLLED


def test_a_mass_of_silent_agents_is_bounded_work() -> None:
    world = AgentWorld()
    for n in range(250):
        world.enrolled(instance_id=f"i-{n:017x}", node=f"ip-10-2-{n // 200}-{n % 200}")
    world.advance(seconds=121)
    world.taps.journal.clear()
    world.sweep()

    assert world.taps.journal.count("agents.swap") == 100
    assert world.telemetry.counts["AgentSilent"] == 250


def test_a_new_policy_is_put_in_force_also_in_dry_run() -> None:
    world = AgentWorld()
    version = world.policies.write("alpha", json.dumps({"silent_after_seconds": 300}))
    event = {
        "detail-type": "Parameter Store Change",
        "source": "aws.ssm",
        "detail": {"operation": "Update", "name": "/proctor/alpha/agent_reports"},
    }
    world.batch([{"messageId": "m-1", "body": json.dumps(event)}])

    assert world.policies.labels == {"/proctor/alpha/agent_reports": version}
    said = world.verdicts.latest["policy#agent_reports#alpha"].verdict.text
    assert said == f"/proctor/alpha/agent_reports version {version}: valid"
    world.controller()
    world.advance(seconds=299)
    world.sweep()
    assert world.telemetry.counts["AgentSilent"] == 0


def test_a_refused_policy_leaves_the_old_one_in_force_and_is_told() -> None:
    world = AgentWorld()
    world.write_policy({})
    world.policies.write("alpha", json.dumps({"silent_after_seconds": 5}))
    world.sweep()

    assert world.policies.labels == {"/proctor/alpha/agent_reports": 1}
    (notice,) = world.operators.published
    assert "silent_after_seconds must be 90 to 3600" in notice.text
