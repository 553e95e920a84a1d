"""What nodes' agents report: who is believed, what is stored, who hears of it."""

import json
from datetime import timedelta
from typing import Any

from proctor.domain.agent_protocol import ObservedPartition
from proctor.domain.agents import fingerprint
from tests.e2e.agents import heartbeat, impostor, now
from tests.e2e.catalogue import scenario
from tests.e2e.directory import ALPHA, GAMMA
from tests.e2e.world import NotSoError, World
from tests.fakes.agents import NodeAgent

_CHANGES_WITHIN_SECONDS = 14.0
_QUIET_SECONDS = 10


@scenario
def a_node_enrols_and_its_heartbeat_is_stored(world: World) -> None:
    agent = _enrolled(world)
    world.agents.send(agent, agent.report(heartbeat("1.2.3")))
    row = world.wait(lambda: world.agents.observed("heartbeat#nodes", agent.instance_id), "the heartbeat")
    assert (row["agent_version"], row["node"], row["role"]) == ("1.2.3", agent.node, "node")


@scenario
def a_second_key_is_told_and_the_first_stays_in_force(world: World) -> None:
    agent = _enrolled(world)
    thief = _disputed(world, agent)
    message = world.expect_told(fingerprint(thief.key))
    assert f"{agent.node} on {ALPHA}" in message["Message"]
    assert world.agents.enrolled(agent)["key"] == agent.key.hex()
    world.agents.send(agent, thief.report(heartbeat("forged")))
    world.agents.send(agent, agent.report(heartbeat("genuine")))
    row = world.wait(lambda: world.agents.observed("heartbeat#nodes", agent.instance_id), "the heartbeat")
    assert row["agent_version"] == "genuine"


@scenario
def what_agent_reports_did_is_published_on_the_bus(world: World) -> None:
    agent = _enrolled(world)
    _disputed(world, agent)
    subject = _subject(agent)
    event = world.wait(
        lambda: next((e for e in world.outcomes() if e["detail"]["subject"] == subject), {}), "the event"
    )
    assert event["source"] == "proctor.agent_reports"
    assert (event["detail"]["action"], event["detail"]["outcome"]) == ("AlarmOperators", "applied")


@scenario
def the_log_of_agent_reports_names_the_agent_and_no_key(world: World) -> None:
    agent = _enrolled(world)
    thief = _disputed(world, agent)
    lines = world.wait(
        lambda: [line for line in world.reports.log_lines() if agent.instance_id in line], "a line in the log"
    )
    if any(key.hex() in line for key in (agent.key, thief.key) for line in lines):
        raise NotSoError("the log holds a key")


@scenario
def an_operator_approves_a_key(world: World) -> None:
    agent = _enrolled(world)
    thief = _disputed(world, agent)
    action = {
        "action": "ApproveAgentKey",
        "agent": f"{ALPHA}#{agent.instance_id}",
        "fingerprint": fingerprint(thief.key),
    }
    (outcome,) = outcomes_of(world.reports.invoke(manual_request() | {"actions": [action]}))
    assert (outcome["reason"], outcome["outcome"]) == ("approved", "applied")
    assert world.agents.enrolled(agent)["key"] == thief.key.hex()


@scenario
def what_changed_in_slurm_is_told_on_the_bus(world: World) -> None:
    """At once, or by the sweep when the last change of that kind is less than ten seconds ago."""
    world.wait(lambda: now() - _last_told(world) >= timedelta(seconds=_QUIET_SECONDS), "a quiet bus")
    before = len(_told(world))
    name = f"p{len(world.stack.rows('Observed'))}-{now():%H%M%S}"
    world.agents.tell(partitions=(ObservedPartition(name, "UP", "ip-10-1-0-4", 1, None, is_default=False),))
    world.wait(lambda: world.agents.observed("partitions", name), "the partition")
    world.wait(lambda: len(_told(world)) > before, "the change", _CHANGES_WITHIN_SECONDS)


@scenario
def a_policy_of_agent_reports_is_put_in_force(world: World) -> None:
    version = world.reports.put_policy(GAMMA, {"silent_after_seconds": 120})
    world.wait(
        lambda: any(
            (v["reason"], v["outcome"]) == ("policy_valid", "applied") and f"version {version}:" in v["text"]
            for v in world.stack.verdicts(f"policy#agent_reports#{GAMMA}")
        ),
        f"version {version} in force",
    )


@scenario
def a_bad_policy_of_agent_reports_is_refused(world: World) -> None:
    world.reports.put_policy(GAMMA, json.dumps({"silent_after_second": 120}))
    world.expect_told("silent_after_second")


@scenario
def agents_are_shown_when_asked(world: World) -> None:
    agent = _enrolled(world)
    scope = {"kind": "node", "id": agent.instance_id}
    (outcome,) = outcomes_of(world.reports.invoke(manual_request() | {"dry_run": True, "scope": scope}))
    assert (outcome["subject"], outcome["reason"]) == (_subject(agent), "enrolled")


@scenario
def a_message_that_agent_reports_cannot_read_is_parked(world: World) -> None:
    expect_parked(world, world.stack.outputs["AgentReportsQueueUrl"], world.reports.take_dead_letters)


def expect_parked(world: World, url: str, take: Any) -> None:
    body = {"source": "nobody", "detail-type": "Nothing", "detail": {"tokenValue": "not-for-anybody"}}
    world.local.aws().call("sqs", "SendMessage", QueueUrl=url, MessageBody=json.dumps(body))
    (letter,) = world.wait(take, "a parked message")
    assert "not-for-anybody" not in letter
    assert json.loads(letter)["error"].startswith("InvalidInputError: ")


def _enrolled(world: World) -> NodeAgent:
    agent = world.agents.new()
    world.agents.send(agent, agent.enrolment(now()))
    world.expect_verdict(_subject(agent), "enrolled")
    return agent


def _disputed(world: World, agent: NodeAgent) -> NodeAgent:
    thief = impostor(agent)
    world.agents.send(agent, thief.enrolment(now()))
    world.expect_verdict(_subject(agent), "second_enrolment", "applied")
    return thief


def _told(world: World) -> list[dict[str, Any]]:
    detail = {"cluster": ALPHA, "kind": "partitions"}
    return [event for event in world.changes() if event["detail"] == detail]


def _last_told(world: World) -> Any:
    row = world.agents.observed("announced", "partitions")
    at = int(row.get("announced_at", 0))
    return now().fromtimestamp(at, now().tzinfo)


def _subject(agent: NodeAgent) -> str:
    return f"agent#{agent.cluster}#{agent.instance_id}"


def manual_request() -> dict[str, Any]:
    return {
        "source": "proctor.manual",
        "requested_by": "ops@uni.example",
        "justification": "ticket 4712",
        "dry_run": False,
    }


def outcomes_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    assert "outcomes" in answer, answer
    return list(answer["outcomes"])
