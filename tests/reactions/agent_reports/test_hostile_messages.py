"""Messages that are none, or that try to break what reads them."""

import hashlib
import hmac
import json
from dataclasses import replace
from typing import Any

import pytest

from proctor.domain.agent_protocol import Chunk, ObservedJob, ObservedUsage, Report, Role, encode
from tests.fakes.agent_world import AgentWorld, heartbeat
from tests.fakes.agents import NodeAgent
from tests.fakes.values import NOW

CONTROLLER, NODE = Role.CONTROLLER, Role.NODE


def sent(**fields: object) -> Report:
    return Report(sent_at=NOW, **fields)  # type: ignore[arg-type]


def usage() -> ObservedUsage:
    return ObservedUsage("physics", "gpu", NOW, 1, 1, 1)


def dropped(world: AgentWorld) -> dict[str, int]:
    prefix = "ReportDropped"
    counts = world.telemetry.counts.items()
    return {n.removeprefix(prefix): c for n, c in counts if n.startswith(prefix) and n != prefix}


def two_senders() -> str:
    """Signed with its own key, so that only the second header in its body gives it away."""
    agent = NodeAgent()
    outer = agent.header()
    inner = {**encode(outer), "instance_id": "i-0c0c0c0c0c0c0c0c0"}
    body = json.dumps({"key_hex": agent.key.hex(), "created_at": 1788256800, "header": inner})
    mac = hmac.new(agent.key, outer.signed_text("proctor enrolment", body), hashlib.sha256).hexdigest()
    return json.dumps({**encode(outer), "type": "enrolment", "body": body, "hmac": mac})


def hostile() -> dict[str, str]:
    agent = NodeAgent()
    good = json.loads(agent.report(heartbeat()))
    enrolment = json.loads(agent.enrolment())

    def like(base: dict[str, Any], **fields: Any) -> str:
        return json.dumps({**base, **fields})

    return {
        "nothing": "",
        "null": "null",
        "a list": "[]",
        "half": json.dumps(good)[:-20],
        "deep": "[" * 50_000,
        "a deep body": like(enrolment, body="[" * 50_000),
        "no body": like(good, body=None),
        "another type": like(good, type="command"),
        "no hex": like(good, hmac="zz"),
        "a mac of other letters": like(enrolment, hmac="ü" * 64),
        "a surrogate": like(good, body="\ud800"),
        "a surrogate in a key": like(enrolment, body="\ud800"),
        "a huge number": json.dumps(good).replace('"sequence": 1', f'"sequence": {"9" * 5000}'),
        "a number too large": like(good, sequence=2**60),
        "a number that is none": like(good, sequence="1"),
        "a later protocol": like(good, protocol=99),
        "a shell in a name": like(good, node="ip-10-1-0-7; reboot"),
        "a path in a name": like(good, cluster="../alpha"),
        "a newline in a name": like(good, node="ip-10-1-0-7\n"),
        "one field more": like(good, sudo=True),
        "two senders in one enrolment": two_senders(),
    }


@pytest.mark.parametrize("name", hostile())
def test_hostile_messages_are_counted_and_never_parked_or_retried(name: str) -> None:
    world = AgentWorld()
    world.node()
    world.node(instance_id="i-0c0c0c0c0c0c0c0c0")

    assert world.deliver(hostile()[name], role=NODE) == []
    assert dropped(world) == {"Malformed": 1}
    assert (world.parking.parked, world.agents.rows, world.observed.rows) == ([], {}, {})
    assert world.telemetry.counts["RecordCrashed"] == 0


def test_an_oversized_message_is_not_even_read() -> None:
    world = AgentWorld()
    agent = world.enrolled()
    message = json.loads(agent.report(heartbeat()))
    message["body"] += " " * 250_000

    assert world.deliver(json.dumps(message), role=NODE) == []
    assert dropped(world) == {"Oversized": 1}


@pytest.mark.parametrize(
    "body",
    [
        "[]",
        "{",
        '{"sent_at": 1788256800, "shell": "reboot"}',
        '{"sent_at": 99999999999999999999}',
        '{"sent_at": 1788256800, "usage": {"account": "physics"}}',
        '{"sent_at": 1788256800, "jobs": [{"job_id": 1}]}',
        '{"sent_at": -1, "heartbeat": []}',
        '{"sent_at": 1788256800, "removed": ' + "[" * 40_000 + "]" * 40_000 + "}",
    ],
)
def test_an_enrolled_agent_that_sends_rubbish(body: str) -> None:
    world = AgentWorld()
    controller = world.controller()

    assert world.deliver(controller.raw_report(body), role=CONTROLLER) == []
    assert dropped(world) == {"Malformed": 1}
    assert world.telemetry.counts["RecordCrashed"] == 0


@pytest.mark.parametrize(("index", "count"), [(2**53, 0), (0, 2**53), (5_000, 5_001), (-1, 1), (0, -1)])
def test_huge_counts_of_parts_are_no_snapshot(index: int, count: int) -> None:
    world = AgentWorld()
    controller = world.controller()
    world.deliver(controller.report(sent(usage=(usage(),), jobs=())), role=CONTROLLER)
    world.deliver(controller.report(sent(chunk=Chunk("x", index, count))), role=CONTROLLER)

    progress = world.record(controller).progress
    assert (progress.parts, progress.whole_at) == (None, None)


@pytest.mark.parametrize("name", ["", "x" * 2000, "a|b", "\ud800"])
def test_odd_names_in_rows_are_left_out_and_the_rest_is_kept(name: str) -> None:
    world = AgentWorld()
    controller = world.controller()
    good = ObservedJob("1", "RUNNING", "", "gpu", "a", "ada", "", 1, "", "", None, None, None)
    world.deliver(controller.report(sent(jobs=(good, replace(good, job_id=name)))), role=CONTROLLER)

    assert list(world.observed.section("jobs")) == ["1"]
    assert dropped(world) == {"OddRow": 1}


def test_a_text_that_can_not_be_stored_is_left_out() -> None:
    world = AgentWorld()
    controller = world.controller()
    bad = ObservedJob("1", "RUNNING", "\udfff", "gpu", "a", "ada", "", 1, "", "", None, None, None)
    assert world.deliver(controller.report(sent(jobs=(bad,))), role=CONTROLLER) == []
    assert world.observed.section("jobs") == {}
