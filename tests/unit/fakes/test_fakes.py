"""The fakes keep the promises of the ports; the adapters' contract tests hold the real ones to the same."""

from dataclasses import replace
from datetime import timedelta
from typing import get_origin, get_type_hints

import pytest

import proctor.ports
from proctor.domain.claims import Claim, ClaimKey, ClaimState
from proctor.domain.decision import Mode, Outcome, OutcomeStatus, RunContext, Verdict
from proctor.domain.errors import InvalidInputError, LostRaceError, NotFoundError
from proctor.domain.ledger import LedgerEntry, PersonLedger, SeenBy
from proctor.domain.sessions import SessionStatus
from proctor.runtime.executor import Stores
from session_limits.observe import Ports
from tests.fakes import ports
from tests.fakes.memory import FakeCounters, FakeSessionLedger
from tests.fakes.policies import FakePolicyStore
from tests.fakes.records import FakeClaimStore, FakeVerdictStore
from tests.fakes.sessions import FakeSessionManager
from tests.fakes.taps import FailAt, ProcessDiedError, Taps
from tests.fakes.values import NOW, session
from tests.fakes.world import Clock

VERDICT = Verdict(
    subject="s", cluster="alpha", rule="r", reason="a", text="t", mode=Mode.APPLY, policy_version=1
)
CONTEXT = RunContext(function="f", now=NOW, token="one", trigger="test")
KEY = ClaimKey("f", "s", "r", "e", "act")
CLAIM = Claim(KEY, ClaimState.CLAIMED, "one", NOW + timedelta(minutes=2), NOW)
ENTRY = LedgerEntry(cluster="alpha", seen_by=SeenBy.EVENT, seen_at=NOW)
NAME = "/proctor/alpha/numbers"


def test_every_port_that_a_world_is_made_of_is_proved_against_its_protocol() -> None:
    """`MemorySwap` is proved as a part of SessionLedger; who adds a port to a function adds its fake there."""
    hints = [*get_type_hints(Ports).values(), *get_type_hints(Stores).values()]
    needed = {get_origin(h) or h for h in hints} & {
        v for v in vars(proctor.ports).values() if isinstance(v, type)
    }
    proved = {name.replace("_", "").lower() for name in vars(ports) if name.isupper()}

    assert len(needed) >= 13
    assert {h.__name__.lower() for h in needed} - {"memoryswap"} <= proved


def test_a_listing_cuts_pages_before_it_filters() -> None:
    fake = FakeSessionManager(page_size=2)
    for n in range(5):
        fake.open(session(f"a-{n}", status=SessionStatus.TERMINATED if n < 4 else SessionStatus.CONNECTED))

    assert [s.session_id for s in fake.active_sessions()] == ["a-4"]
    assert fake.pages_read == 3
    fake.pages_read = 0
    assert fake.find_active(["nobody"]) == {}
    assert fake.find_active([]) == {}
    assert fake.pages_read == 3


def test_looking_for_sessions_stops_once_all_are_found() -> None:
    fake = FakeSessionManager(page_size=1)
    for n in range(4):
        fake.open(session(f"a-{n}"))

    assert list(fake.find_active(["a-0", "a-1"])) == ["a-0", "a-1"]
    assert fake.pages_read == 2


def test_something_may_happen_between_two_pages() -> None:
    fake = FakeSessionManager(page_size=1)
    fake.open(session("a-0"))
    fake.open(session("a-1"))
    fake.between_pages = lambda _: fake.close("a-1")

    assert [s.session_id for s in fake.active_sessions()] == ["a-0"]


def test_an_end_is_accepted_for_any_id_and_a_session_is_terminating_first() -> None:
    fake = FakeSessionManager(deaf={"a-1"}, slow={"a-2": 2})
    for n in range(3):
        fake.open(session(f"a-{n}"))
    for session_id in ("a-0", "a-1", "a-2", "nobody"):
        fake.terminate(session_id)

    statuses = [[s.status.value for s in fake.active_sessions()] for _ in range(3)]
    assert statuses[0] == statuses[1] == ["Terminating", "Connected", "Connected"]
    assert statuses[2] == ["Terminating", "Connected", "Terminating"]
    fake.finish_terminating()
    assert [s.session_id for s in fake.active_sessions()] == ["a-1"]


def test_a_start_is_noted_once_and_its_answer_is_the_whole_ledger() -> None:
    fake = FakeSessionLedger()
    fake.note_started("ada", "a-0", ENTRY)
    fake.note_started("ada", "a-1", replace(ENTRY, seen_by=SeenBy.SWEEP))

    again = fake.note_started("ada", "a-0", replace(ENTRY, weight=9))
    assert (again.rev, again.entries["a-0"].weight) == (2, 1)
    heard = fake.note_started("ada", "a-1", ENTRY)
    assert (heard.rev, heard.entries["a-1"].seen_by) == (3, SeenBy.EVENT)


def test_a_swap_takes_the_revision_that_is_stored() -> None:
    fake = FakeSessionLedger()
    ledger = PersonLedger(holder="ada", entries={"a-0": ENTRY})

    fake.swap("ada", ledger, 0)
    assert fake.get("ada").rev == 1
    for stale in (0, 2):
        with pytest.raises(LostRaceError):
            fake.swap("ada", ledger, stale)
    with pytest.raises(TypeError):
        fake.swap("ada", {"not": "a ledger"}, 1)


def test_only_its_owner_lets_go_of_an_intent() -> None:
    fake = FakeSessionLedger()
    held = replace(ENTRY, intent_until=NOW, intent_token="one")
    fake.swap("ada", PersonLedger(holder="ada", entries={"a-0": held}), 0)

    fake.release_intent("ada", "a-0", "other")
    fake.release_intent("ada", "nobody", "one")
    assert fake.get("ada").entries["a-0"] == held
    fake.release_intent("ada", "a-0", "one")
    assert fake.get("ada").entries["a-0"] == ENTRY


def test_a_window_is_spent_up_to_its_limit_and_the_next_one_is_new() -> None:
    fake = FakeCounters()

    assert [fake.spend("c", 2, NOW, 60) for _ in range(3)] == [True, True, False]
    assert fake.spend("c", 2, NOW + timedelta(minutes=60), 60)
    assert fake.spend("other", 2, NOW, 60)
    assert fake.first("m", NOW) == fake.first("m", NOW + timedelta(days=1)) == NOW


def test_a_claim_is_written_only_over_the_one_that_was_read() -> None:
    fake = FakeClaimStore()
    fake.put(CLAIM, VERDICT, CONTEXT, replaces=None)
    theirs = replace(CLAIM, token="two", attempts=2)

    for seen in (None, replace(CLAIM, token="x"), replace(CLAIM, state=ClaimState.FAILED)):
        with pytest.raises(LostRaceError):
            fake.put(theirs, VERDICT, CONTEXT, replaces=seen)
    fake.put(theirs, VERDICT, CONTEXT, replaces=CLAIM)
    with pytest.raises(LostRaceError):
        fake.settle(CLAIM, ClaimState.APPLIED, "", NOW)
    fake.settle(theirs, ClaimState.APPLIED, "done", NOW)
    with pytest.raises(LostRaceError):
        fake.settle(theirs, ClaimState.FAILED, "", NOW)
    assert fake.audits[str(KEY)].detail == "done"


def test_a_verdict_moves_into_history_only_when_something_changed() -> None:
    fake = FakeVerdictStore()
    first = Outcome(VERDICT, OutcomeStatus.NONE)
    fake.record(first, CONTEXT)
    fake.record(Outcome(replace(VERDICT, inputs={"n": 1}), OutcomeStatus.NONE), CONTEXT)
    assert (fake.writes, fake.history) == (1, {})

    fake.record(Outcome(replace(VERDICT, reason="b"), OutcomeStatus.NONE), CONTEXT)
    assert (fake.writes, fake.history) == (2, {"s": [first]})


def number(text: str) -> int:
    if not text.isdecimal():
        raise InvalidInputError("document", text, "write a number")
    return int(text)


def test_a_policy_is_in_force_when_the_label_says_so_and_for_a_minute_in_the_cache() -> None:
    clock = Clock()
    fake = FakePolicyStore("numbers", ("alpha",), number, clock)
    fake.write("alpha", "7")
    assert fake.in_force() == {}
    fake.put_in_force(NAME, 1)
    assert fake.in_force()["alpha"].policy == 7

    fake.write("alpha", "8")
    fake.labels[NAME] = 2
    clock.advance(seconds=59)
    assert fake.in_force()["alpha"].policy == 7
    clock.advance(seconds=1)
    assert fake.in_force()["alpha"].policy == 8


def test_a_version_that_cannot_be_read_any_more_leaves_the_one_before_in_force() -> None:
    fake = FakePolicyStore("numbers", ("alpha",), number)
    fake.write("alpha", "7")
    fake.put_in_force(NAME, 1)
    assert fake.in_force()["alpha"].version == 1
    fake.write("alpha", "x")
    fake.put_in_force(NAME, 2)

    assert fake.in_force()["alpha"].version == 1
    draft = fake.draft("alpha")
    assert draft is not None
    assert (draft.version, draft.is_in_force) == (2, True)
    assert "write a number" in (draft.error or "")
    assert fake.draft("beta") is None


@pytest.mark.parametrize("version", [0, 2])
def test_no_label_stands_on_a_version_that_is_not_there(version: int) -> None:
    fake = FakePolicyStore("numbers", ("alpha",), number)
    fake.write("alpha", "7")

    with pytest.raises(NotFoundError):
        fake.put_in_force(NAME, version)


def test_a_tap_fails_before_or_after_the_call_it_is_set_on() -> None:
    for is_after in (False, True):
        taps, fake = Taps(), FakeCounters()
        tapped = taps.around(fake, "counters")
        taps.active.append(FailAt(ProcessDiedError, name="counters.first", nth=2, after_call=is_after))
        tapped.first("one", NOW)
        with pytest.raises(ProcessDiedError):
            tapped.first("two", NOW)
        assert ("two" in fake.marks) is is_after
        tapped.first("three", NOW)
        assert taps.journal == ["counters.first"] * 3
