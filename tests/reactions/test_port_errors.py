"""Each port, refused in each way: what happens. A throttle is never "none", a denial is never retried."""

from collections.abc import Callable

import pytest

from proctor.domain.decision import OutcomeStatus
from proctor.domain.errors import DeniedError, ProctorError, ThrottledError, TransientError
from tests.fakes.events import SWEEP_EVENT, event_of
from tests.fakes.taps import FailAt
from tests.fakes.world import World
from tests.reactions.conftest import university

ERRORS: dict[str, Callable[[], ProctorError]] = {
    "throttled": lambda: ThrottledError("ThrottlingException"),
    "transient": lambda: TransientError("InternalServerError"),
    "denied": lambda: DeniedError("AccessDeniedException"),
}

# What must be read before anything is decided. Retried as a whole, or parked when that can't help.
READS = [
    "policies.in_force",
    "exemptions.for_function",
    "clusters.governed",
    "people.by_owner",
    "sessions.active_sessions",
    "pause.paused_clusters",
]
BY_EVENT_ONLY = ["ledger.note_started"]
BY_SWEEP_ONLY = ["ledger.all", "counters.first", "policies.draft"]
# What must be written before anything is done.
WRITES = ["ledger.swap", "claims.put"]


def failing(name: str, error: str) -> World:
    """Ada is about to be over her cap, and a port refuses."""
    world = university()
    for _ in range(2):
        world.start_session("ada")
        world.clock.advance(seconds=1)
    world.taps.active.append(FailAt(ERRORS[error], name=name, times=None))
    return world


def run(world: World, wake: str) -> list[str]:
    started = world.open_session("ada")
    return world.deliver(event_of(started) if wake == "event" else SWEEP_EVENT)


CASES = (
    [("event", name) for name in (*READS, *BY_EVENT_ONLY, *WRITES)]
    + [("sweep", name) for name in (*READS, *BY_SWEEP_ONLY, *WRITES)]
)  # fmt: skip


@pytest.mark.parametrize("error", ["throttled", "transient"])
@pytest.mark.parametrize(("wake", "name"), CASES)
def test_what_cannot_be_read_or_recorded_now_leaves_everything_as_it_is_and_comes_back(
    wake: str, name: str, error: str
) -> None:
    world = failing(name, error)

    assert run(world, wake) == ["m-1"], "the record stays in its queue"
    assert world.sessions.terminate_calls == []
    assert world.mail.sent == []
    assert world.parking.parked == []
    assert world.telemetry.counts["RecordRetried"] == 1

    world.taps.active.clear()
    world.clock.advance(minutes=3)
    world.sweep()
    assert len(world.live("ada")) == 2


@pytest.mark.parametrize(("wake", "name"), CASES)
def test_what_the_role_may_not_do_is_parked_with_its_reason_and_nothing_is_ended(
    wake: str, name: str
) -> None:
    world = failing(name, "denied")

    assert run(world, wake) == []
    assert world.sessions.terminate_calls == []
    assert world.mail.sent == []
    (parked,) = world.parking.parked
    assert parked.error == "DeniedError: AccessDeniedException"
    assert world.telemetry.counts["RecordParked"] == 1


@pytest.mark.parametrize("error", ERRORS)
def test_a_truth_that_cannot_be_read_again_withholds_the_act(error: str) -> None:
    world = failing("sessions.find_active", error)

    assert run(world, "event") == []
    assert world.sessions.terminate_calls == []
    outcome = world.outcome("ada@uni.example-0003")
    assert outcome.status is OutcomeStatus.WITHHELD
    assert outcome.detail.startswith("could not re-read: ")
    assert world.mail.sent == []
    assert all(e.intent_token is None for e in world.ledger.get("ada").entries.values())

    world.taps.active.clear()
    world.clock.advance(minutes=2)
    world.sweep()
    assert len(world.live("ada")) == 2


@pytest.mark.parametrize("error", ERRORS)
def test_an_end_that_cannot_be_read_back_is_unconfirmed_until_the_next_look(error: str) -> None:
    world = university()
    for _ in range(2):
        world.start_session("ada")
        world.clock.advance(seconds=1)
    world.taps.active.append(FailAt(ERRORS[error], name="sessions.find_active", nth=2, times=None))

    assert run(world, "event") == []
    outcome = world.outcome("ada@uni.example-0003")
    assert outcome.status is OutcomeStatus.UNCONFIRMED
    assert outcome.detail.startswith("could not read back: ")
    assert len(world.live("ada")) == 2
    assert len(world.mail.sent) == 1


@pytest.mark.parametrize("error", ["throttled", "denied"])
def test_an_end_that_is_refused_has_failed_and_is_tried_again_after_a_minute(error: str) -> None:
    world = failing("sessions.terminate", error)

    assert run(world, "event") == []
    outcome = world.outcome("ada@uni.example-0003")
    assert outcome.status is OutcomeStatus.FAILED
    assert type(ERRORS[error]()).__name__ in outcome.detail
    assert world.mail.sent == []

    world.taps.active.clear()
    world.clock.advance(seconds=30)
    world.sweep()
    assert world.outcome("ada@uni.example-0003").detail == "tried less than a minute ago; resting"
    world.clock.advance(minutes=2)
    world.sweep()
    assert len(world.live("ada")) == 2
    assert len(world.mail.sent) == 1


def test_after_five_failed_ends_a_person_has_to_look() -> None:
    world = failing("sessions.terminate", "denied")
    run(world, "event")
    for _ in range(6):
        world.clock.advance(minutes=3)
        world.sweep()

    assert world.taps.journal.count("sessions.terminate") == 5
    assert world.outcome("ada@uni.example-0003").detail == "tried five times; a person has to look"


def test_looks_that_failed_are_no_attempts_to_end() -> None:
    world = failing("sessions.find_active", "throttled")
    world.open_session("ada")
    for _ in range(8):
        world.clock.advance(minutes=3)
        world.sweep()
    world.taps.active[:] = [FailAt(ERRORS["throttled"], name="sessions.terminate")]
    world.clock.advance(minutes=3)
    world.sweep()
    assert len(world.live("ada")) == 3
    world.clock.advance(minutes=3)
    world.sweep()

    assert len(world.live("ada")) == 2


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize(
    ("name", "subject"), [("mail.send", "notice#ada"), ("operators.publish", "operators#ada")]
)
def test_a_message_that_fails_takes_nothing_back_and_is_sent_by_a_later_sweep(
    name: str, subject: str, error: str
) -> None:
    world = failing(name, error)

    assert run(world, "event") == []
    assert len(world.live("ada")) == 2
    assert world.verdicts.latest[subject].status is OutcomeStatus.FAILED
    world.taps.active.clear()
    world.sessions.finish_terminating()
    for _ in range(3):
        world.clock.advance(minutes=2)
        world.sweep()
    assert len(world.mail.sent) == 1
    assert len(world.operators.published) == 1


def test_an_address_that_gets_no_mail_is_recorded_as_undeliverable() -> None:
    for suppressed in (True, False):
        world = university()
        world.add_person("ada", email="ada@uni.example" if suppressed else None)
        if suppressed:
            world.mail.suppressed.add("ada@uni.example")
        for _ in range(3):
            world.start_session("ada")

        outcome = world.verdicts.latest["notice#ada"]
        assert outcome.status is OutcomeStatus.FAILED
        assert "undeliverable" in outcome.detail
        assert len(world.live("ada")) == 2
        assert len(world.operators.published) == 1


@pytest.mark.parametrize("error", ERRORS)
def test_a_bus_that_refuses_events_holds_nothing_up(error: str) -> None:
    world = failing("events.publish", error)

    assert run(world, "event") == []
    assert len(world.live("ada")) == 2
    assert world.telemetry.counts["EventsNotPublished"] == 1


@pytest.mark.parametrize(("error", "kept"), [("throttled", ["m-1"]), ("transient", ["m-1"]), ("denied", [])])
@pytest.mark.parametrize("name", ["counters.spend", "claims.settle", "verdicts.record"])
def test_a_book_that_cannot_be_kept_any_more_is_put_right_later(
    name: str, error: str, kept: list[str]
) -> None:
    world = failing(name, error)

    assert run(world, "event") == kept
    assert len(world.parking.parked) == (0 if kept else 1)
    world.taps.active.clear()
    for _ in range(3):
        world.clock.advance(minutes=3)
        world.sessions.finish_terminating()
        world.sweep()
    assert len(world.live("ada")) == 2
    assert len(world.mail.sent) == 1
    assert len(set(world.sessions.terminate_calls)) == 1


@pytest.mark.parametrize("error", ERRORS)
def test_an_input_that_cannot_be_parked_stays_in_its_queue(error: str) -> None:
    world = university()
    world.taps.active.append(FailAt(ERRORS[error], name="parking.park"))

    assert world.deliver("no JSON") == ["m-1"]
    assert world.deliver("no JSON") == []
    assert len(world.parking.parked) == 1


def test_one_person_whose_record_can_never_be_written_holds_up_nobody_else() -> None:
    """E.g. an item too large: it would fail at every sweep, and everybody sorted after her would never be swept."""
    world = university()
    world.add_person("zoe")
    for name in ("ada", "ada", "ada", "zoe", "zoe", "zoe"):
        world.open_session(name)
    world.taps.active.append(FailAt(ERRORS["denied"], name="ledger.swap"))

    assert world.sweep() == []
    assert len(world.live("ada")) == 3
    assert len(world.live("zoe")) == 2
    assert len(world.parking.parked) == 1


def test_what_was_done_before_a_run_is_cut_off_is_recorded() -> None:
    world = university()
    world.add_person("zoe")
    for name in ("ada", "ada", "ada", "zoe", "zoe", "zoe"):
        world.open_session(name)
    world.taps.active.append(FailAt(ERRORS["throttled"], name="ledger.swap", nth=2))

    assert world.sweep() == ["m-1"]
    (ended,) = world.sessions.terminate_calls
    assert ended.startswith("ada")
    assert world.outcome(ended).status is OutcomeStatus.APPLIED


def test_an_end_is_recorded_though_its_message_could_not_be_claimed() -> None:
    world = university()
    for _ in range(3):
        world.open_session("ada")
    world.taps.active.append(FailAt(ERRORS["throttled"], name="claims.put", nth=2))

    assert world.sweep() == ["m-1"]
    (ended,) = world.sessions.terminate_calls
    assert world.outcome(ended).status is OutcomeStatus.APPLIED
    assert world.mail.sent == []
    for _ in range(2):
        world.clock.advance(minutes=2)
        world.sessions.finish_terminating()
        world.sweep()
    assert len(world.mail.sent) == 1
