"""A queue's batch: no record is lost and none blocks the others."""

import json
from dataclasses import replace
from typing import Any

import pytest

from proctor.domain.actions import NotifyOperators
from proctor.domain.decision import Case, Decision, Mode, OutcomeStatus, Verdict
from proctor.domain.errors import TerminalError, ThrottledError
from proctor.runtime.executor import Executor
from proctor.runtime.handler import handle
from tests.fakes.events import SWEEP_EVENT, event_of
from tests.fakes.taps import FailAt
from tests.fakes.values import session
from tests.fakes.world import World
from tests.reactions.conftest import university


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param("{", "Records[].body", id="half a JSON"),
        pytest.param("[]", "event", id="no object"),
        pytest.param("{}", "source and detail-type", id="an empty object"),
        pytest.param('{"source": "aws.ssm"}', "source and detail-type", id="an unknown event"),
    ],
)
def test_a_record_that_cannot_be_used_is_parked_with_its_reason_while_the_others_are_done(
    world: World, body: str, reason: str
) -> None:
    first, last = world.open_session("ada"), world.open_session("ada")

    assert world.deliver(event_of(first), body, event_of(last)) == []
    (parked,) = world.parking.parked
    assert parked.error.startswith(f"InvalidInputError: {reason}")
    assert parked.context.function == "session_limits"
    assert world.outcome(first.session_id).verdict.reason == "allowed"
    assert world.outcome(last.session_id).verdict.reason == "allowed"


@pytest.mark.parametrize(
    "record", [None, 7, "text", {}, {"messageId": "x", "body": None}, {"body": {"a": 1}}]
)
def test_a_record_of_no_shape_at_all_is_parked(world: World, record: Any) -> None:
    assert handle({"Records": [record]}, world.wiring()) == {"batchItemFailures": []}
    assert len(world.parking.parked) == 1


def test_only_the_throttled_record_comes_back() -> None:
    world = university()
    opened = [world.open_session("ada") for _ in range(3)]
    world.taps.active.append(FailAt(lambda: ThrottledError("slow down"), name="ledger.note_started", nth=2))

    assert world.deliver(*(event_of(s) for s in opened)) == ["m-2"]
    world.deliver(event_of(opened[1]))
    assert len(world.live("ada")) == 2


def test_a_record_that_crashes_comes_back_and_the_log_says_where_and_nothing_of_the_data() -> None:
    world = university()
    opened = [world.open_session("ada") for _ in range(3)]
    world.taps.active.append(FailAt(lambda: ZeroDivisionError("secret"), name="people.by_owner", nth=2))

    assert world.deliver(*(event_of(s) for s in opened)) == ["m-2"]
    ((message, fields),) = world.telemetry.warnings
    assert message == "record crashed"
    assert fields["error"] == "ZeroDivisionError"
    assert fields["at"].partition(":")[0] == "taps.py"
    assert "secret" not in json.dumps(fields)
    assert world.telemetry.counts["RecordCrashed"] == 1


def test_one_end_of_three_that_fails_leaves_the_other_two_done() -> None:
    world = university(cap={"max_sessions": 1})
    opened = [world.open_session("ada") for _ in range(4)]
    world.taps.active.append(FailAt(lambda: ThrottledError("slow down"), name="sessions.terminate", nth=2))

    assert world.deliver(SWEEP_EVENT) == []
    statuses = [world.outcome(s.session_id).status for s in opened]
    assert sorted(statuses) == sorted(
        [OutcomeStatus.NONE, OutcomeStatus.APPLIED, OutcomeStatus.FAILED, OutcomeStatus.APPLIED]
    )
    assert len(world.live("ada")) == 2
    intents = {sid for sid, e in world.ledger.get("ada").entries.items() if e.intent_token}
    assert intents == set(world.sessions.terminate_calls), "the one that failed counts again at once"

    world.taps.active.clear()
    world.clock.advance(minutes=2)
    world.sweep()
    assert len(world.live("ada")) == 1


def test_more_ends_than_one_chunk_are_each_read_again_before_the_act() -> None:
    world = university(cap={"max_sessions": 1})
    for _ in range(24):
        world.open_session("ada")
    world.sweep()

    assert len(world.live("ada")) == 1
    journal = world.taps.journal
    assert journal.count("sessions.terminate") == 23
    assert journal.count("sessions.find_active") == 6, "a look before and one after each chunk of ten"
    assert len(world.mail.sent) == 1


def test_an_action_the_function_has_no_applier_for_is_refused_before_anything_happens(world: World) -> None:
    opened = [world.open_session("ada") for _ in range(3)]
    whole = world.wiring()
    ports = world._ports()
    reach = {k: v for k, v in world._appliers(ports).items() if k is not NotifyOperators}
    plain = whole.reaction()
    narrow = replace(plain, executor=Executor(reach, world._stores(ports)))

    assert world.deliver(SWEEP_EVENT, wiring=replace(whole, reaction=lambda: narrow)) == []
    assert world.parking.parked[0].error == (
        "TerminalError: NotifyOperators is not among this function's appliers"
    )
    assert world.live("ada") == {s.session_id for s in opened}
    assert world.claims.audits == {}
    assert world.ledger.items == {}


def test_an_unknown_action_raises_where_nothing_else_was_begun(world: World) -> None:
    verdict = Verdict(
        subject="operators",
        cluster="alpha",
        rule="r",
        reason="r",
        text="t",
        mode=Mode.DRY_RUN,
        policy_version=1,
        action=NotifyOperators(subject="operators", headline="h", text="t"),
    )
    executor = Executor({}, world._stores(world._ports()))
    context = world.wiring()

    with pytest.raises(TerminalError, match="NotifyOperators is not among"):
        executor.run(
            Decision(cases=(Case(subject="x", verdicts=(verdict,)),)),
            _context_of(context),
        )
    assert world.taps.journal == []


def _context_of(wiring: Any) -> Any:
    from proctor.runtime.handler import Request, _context  # noqa: PLC0415 - a look inside

    return _context(wiring, Request(), "test")


def test_a_manual_event_in_a_queue_is_refused_nobodys_rights_were_checked_there(world: World) -> None:
    """Only lambda:InvokeFunction may ask by hand; a queue's record is done all the same, in its own dry run."""
    newest = [world.open_session("ada") for _ in range(3)][2]
    event = {
        "source": "proctor.manual",
        "requested_by": "x",
        "justification": "y",
        "scope": {"kind": "session", "id": newest.session_id},
    }

    assert world.deliver(event) == []
    assert len(world.live("ada")) == 3


def test_failed_calls_are_no_sessions(world: World) -> None:
    failed = event_of(session("ada@uni.example-ff"), errorCode="TargetNotConnected", responseElements=None)

    assert world.deliver(failed) == []
    assert world.verdicts.latest == {}
    assert world.ledger.items == {}
