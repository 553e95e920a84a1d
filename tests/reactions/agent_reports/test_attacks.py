"""What somebody with a node's credentials may try. Nothing of it is stored, and keys show nowhere."""

import json
from dataclasses import replace
from typing import Any

import pytest

from proctor.domain.agent_protocol import (
    Chunk,
    IntentResult,
    ObservedAssociation,
    ObservedJob,
    ObservedNode,
    ObservedUsage,
    Outcome,
    Removed,
    Report,
    Role,
    Undone,
    UndoneBy,
)
from proctor.domain.agents import AgentState
from tests.fakes.agent_world import AgentWorld, heartbeat
from tests.fakes.agents import CONTROLLER_QUEUE, NODE_QUEUE, NodeAgent, record_of
from tests.fakes.values import NOW

CONTROLLER, NODE = Role.CONTROLLER, Role.NODE


def sent(**fields: object) -> Report:
    return Report(sent_at=NOW, **fields)  # type: ignore[arg-type]


def usage(seconds: int = 1, account: str = "physics", partition: str = "gpu") -> ObservedUsage:
    return ObservedUsage(account, partition, NOW, seconds, seconds, 1)


def nodes_row(name: str) -> ObservedNode:
    return ObservedNode(name=name, state="idle", flag="", reason="", reason_by="", reason_at=None)


def dropped(world: AgentWorld) -> dict[str, int]:
    prefix = "ReportDropped"
    return {
        name.removeprefix(prefix): count
        for name, count in world.telemetry.counts.items()
        if name.startswith(prefix) and name != prefix
    }


def test_a_forged_mac() -> None:
    world = AgentWorld()
    agent = world.enrolled()
    thief = replace(agent, key=b"x" * 32)
    world.deliver(thief.report(heartbeat()), role=NODE)

    assert world.observed.rows == {}
    assert dropped(world) == {"Forged": 1}
    assert world.telemetry.counts["ReportForged"] == 1


@pytest.mark.parametrize("field", ["sequence", "boot_id", "node"])
def test_a_header_changed_on_the_way(field: str) -> None:
    world = AgentWorld()
    agent = world.enrolled()
    message = json.loads(agent.report(heartbeat()))
    message[field] = {"sequence": 99, "boot_id": "1788256900000-0a0b0c0d", "node": "ip-10-1-0-9"}[field]
    world.deliver(json.dumps(message), role=NODE)

    assert world.observed.rows == {}
    assert sum(dropped(world).values()) == 1


def test_a_body_changed_on_the_way() -> None:
    world = AgentWorld()
    controller = world.controller()
    message = json.loads(controller.report(sent(usage=(usage(3600),))))
    message["body"] = message["body"].replace("3600", "1")
    world.deliver(json.dumps(message), role=CONTROLLER)

    assert world.observed.rows == {}
    assert dropped(world) == {"Forged": 1}


def test_a_node_that_says_it_is_the_controller() -> None:
    world = AgentWorld()
    controller = world.controller()
    as_controller = controller.report(sent(usage=(usage(),)))
    other = NodeAgent(instance_id=controller.instance_id, node=controller.node, key=b"x" * 32)
    as_node = other.report(heartbeat())
    enrolment = other.enrolment()
    world.deliver(as_controller, as_node, enrolment, role=NODE)

    assert world.observed.rows == {}
    assert dropped(world) == {"CrossRole": 3}
    assert world.record(controller).state is AgentState.ENROLLED
    assert world.operators.published == []


def test_a_node_that_signs_for_another_node() -> None:
    world = AgentWorld()
    agent = world.enrolled()
    victim = world.enrolled(instance_id="i-0fffffffffffffff1", node="ip-10-1-0-8", key=b"v" * 32)
    by_id = replace(victim, key=agent.key).report(heartbeat())
    by_name = agent.report(heartbeat(), node="ip-10-1-0-8")
    world.deliver(by_id, by_name, role=NODE)

    assert world.observed.rows == {}
    assert dropped(world) == {"Forged": 1, "CrossNode": 1}


def test_a_node_that_speaks_of_more_than_itself() -> None:
    world = AgentWorld()
    agent = world.enrolled()
    foreign = sent(
        nodes=(nodes_row("ip-10-1-0-8"),),
        jobs=(ObservedJob("1", "RUNNING", "", "gpu", "a", "ada", "", 1, "", "", None, None, None),),
        usage=(usage(),),
        associations=(ObservedAssociation("physics", "", "", "root", None, None, "", ()),),
        results=(IntentResult("partition#gpu", 1, Outcome.RELEASED, "", "", None, NOW),),
        undone=(Undone("partition#gpu", "UP", UndoneBy.UPDATE, NOW, None),),
        removed=(Removed("partitions", "gpu"), Removed("nodes", "ip-10-1-0-8")),
        chunk=Chunk("20260901T100000Z", 0, 1),
    )
    world.deliver(agent.report(foreign), role=NODE)

    assert world.observed.rows == {}
    assert dropped(world) == {"ForeignRow": 8}
    assert world.operators.published == []
    assert world.changes.told == []


def test_what_a_node_says_of_itself_stands_apart_from_what_the_controller_says() -> None:
    world = AgentWorld()
    controller, agent = world.controller(), world.enrolled()
    world.deliver(controller.report(sent(nodes=(nodes_row(agent.node),))), role=CONTROLLER)
    own = IntentResult(f"node#{agent.node}", 1, Outcome.APPLIED, "", "", None, NOW)
    told = sent(nodes=(replace(nodes_row(agent.node), state="drained"),), results=(own,), removed=())
    world.deliver(agent.report(told), role=NODE)

    assert world.observed.section("nodes")[agent.node]["state"] == "idle"
    assert world.observed.section(f"nodes#{agent.node}")[agent.node]["state"] == "drained"
    assert world.observed.section("results") == {}
    assert list(world.observed.section(f"results#{agent.node}")) == [f"node#{agent.node}"]


def test_a_message_for_a_cluster_that_is_not_governed() -> None:
    world = AgentWorld()
    world.deliver(
        NodeAgent(cluster="beta").enrolment(), NodeAgent(cluster="beta").report(heartbeat()), role=NODE
    )

    assert world.agents.rows == {}
    assert dropped(world) == {"OtherCluster": 2}


def test_reports_of_nodes_that_do_not_exist_cost_no_retry() -> None:
    world = AgentWorld()
    agent = NodeAgent(instance_id="i-0eeeeeeeeeeeeeee9")

    assert world.deliver(agent.report(heartbeat()), role=NODE) == []
    assert dropped(world) == {"UnknownAgent": 1}


@pytest.mark.parametrize(
    "event",
    [
        {
            "source": "proctor.manual",
            "requested_by": "x",
            "justification": "y",
            "dry_run": False,
            "scope": {"kind": "all"},
        },
        {"source": "proctor.schedule", "detail-type": "Sweep"},
        {"source": "proctor.agent", "role": "controller", "message": "{}"},
        {"Records": []},
    ],
)
@pytest.mark.parametrize("arn", [NODE_QUEUE, CONTROLLER_QUEUE])
def test_a_message_that_looks_like_an_operator_or_a_schedule(event: dict[str, Any], arn: str) -> None:
    world = AgentWorld()
    role = NODE if arn == NODE_QUEUE else CONTROLLER

    assert world.deliver(json.dumps(event), role=role) == []
    assert dropped(world) == {"Malformed": 1}
    assert world.parking.parked == []
    assert "agents.all" not in world.taps.journal


@pytest.mark.parametrize("section", ["usage", "heartbeat", "results", "announced", "jobs#ip-10-1-0-7", ""])
def test_a_controller_takes_away_only_what_a_snapshot_may(section: str) -> None:
    world = AgentWorld()
    controller = world.controller()
    world.deliver(controller.report(sent(usage=(usage(),))), role=CONTROLLER)
    world.deliver(
        controller.report(sent(removed=(Removed(section, "20260901T10|physics|gpu"),))), role=CONTROLLER
    )

    assert len(world.observed.section("usage")) == 1
    assert dropped(world) == {"OddRow": 1}


def test_a_flood_of_forged_messages_writes_nothing() -> None:
    world = AgentWorld()
    agent = world.enrolled()
    thief = replace(agent, key=b"x" * 32)
    writes = world.verdicts.writes
    world.taps.journal.clear()
    for _ in range(20):
        world.deliver(*(thief.report(heartbeat()) for _ in range(10)), role=NODE)

    assert set(world.taps.journal) == {"agents.get", "policies.in_force"}
    assert world.verdicts.writes == writes
    assert dropped(world) == {"Forged": 200}


def test_a_flood_of_second_keys_sends_a_bounded_number_of_messages() -> None:
    world = AgentWorld()
    world.write_policy({"guardrails": {"notices": {"per_run": 5, "per_window": 5}}})
    agents = [world.enrolled(instance_id=f"i-{n:017x}", node=f"ip-10-1-1-{n}") for n in range(12)]
    for agent in agents:
        world.deliver(replace(agent, key=b"x" * 32).enrolment(), role=NODE)

    assert len(world.operators.published) == 5
    assert all(world.record(agent).state is AgentState.DISPUTED for agent in agents)
    assert world.telemetry.counts["GuardrailRefused"] == 7


def test_no_key_shows_in_logs_verdicts_claims_events_or_messages() -> None:
    world = AgentWorld()
    world.write_policy({"late_enrolment": "ask"})
    agent = world.enrolled(key=bytes.fromhex("c0ffee" * 10 + "abcd"))
    rival = replace(agent, key=bytes.fromhex("deadbeef" * 8))
    world.deliver(rival.enrolment(), agent.report(heartbeat()), "{}", role=NODE)
    world.advance(minutes=90)
    late = world.node(instance_id="i-0777777777777777a", node="ip-10-1-0-77", key=b"\xab" * 32)
    world.advance(minutes=90)
    world.deliver(late.enrolment(), role=NODE)
    world.sweep()
    world.manual(scope={"kind": "all"})
    shown = repr(
        [
            world.telemetry.outcomes,
            world.telemetry.warnings,
            world.verdicts.latest,
            world.verdicts.history,
            world.claims.written,
            world.events.published,
            world.operators.published,
            world.parking.parked,
            world.agents.rows,
            [
                outcome.verdict.action.as_record()
                for outcome in world.telemetry.outcomes
                if outcome.verdict.action
            ],
        ]
    )

    assert len(world.operators.published) >= 2
    for key in (agent.key, rival.key, late.key):
        assert key.hex() not in shown
        assert repr(key) not in shown


def test_a_record_without_attributes_is_taken_as_of_now() -> None:
    world = AgentWorld()
    agent = world.enrolled()
    record = record_of(agent.report(heartbeat()), NODE)
    del record["attributes"]

    assert world.batch([record]) == []
    assert world.telemetry.counts["ReportApplied"] == 1
