"""Evaluators at once: at every step of one, another one runs from beginning to end. Exactly the surplus is ended."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from proctor.domain.decision import OutcomeStatus
from proctor.domain.sessions import Session
from proctor.runtime.reaction import ATTEMPTS
from tests.fakes.events import SWEEP_EVENT, event_of
from tests.fakes.taps import PortCall
from tests.fakes.world import World
from tests.reactions.conftest import university


@dataclass
class Meanwhile:
    """Once, before or after the n-th call, something else happens; calls made in it count for nothing."""

    happens: Callable[[], object]
    nth: int
    is_after: bool
    seen: int = 0
    is_over: bool = False
    is_inside: bool = False

    def before(self, call: PortCall) -> None:
        if not self.is_inside:
            self.seen += 1
            self._maybe(is_after=False)

    def after(self, call: PortCall) -> None:
        self._maybe(is_after=True)

    def _maybe(self, *, is_after: bool) -> None:
        if self.is_over or self.is_inside or is_after is not self.is_after or self.seen != self.nth:
            return
        self.is_inside = True
        self.happens()
        self.is_inside, self.is_over = False, True


def four_sessions() -> tuple[World, list[Session]]:
    world = university()
    opened = []
    for _ in range(4):
        opened.append(world.open_session("ada"))
        world.clock.advance(seconds=1)
    return world, opened


def over_by_one() -> tuple[World, list[Session]]:
    """Four sessions under a cap of three, of which the ledger knows all but the newest."""
    world = university(cap={"max_sessions": 3})
    opened = []
    for _ in range(4):
        opened.append(world.open_session("ada"))
        world.clock.advance(seconds=1)
    world.deliver(*(event_of(s) for s in opened[:3]))
    return world, opened


def steps_of(run: Callable[[World, list[Session]], object]) -> int:
    world, opened = four_sessions()
    run(world, opened)
    return len(world.taps.journal)


def newest(world: World, opened: list[Session]) -> object:
    return world.deliver(event_of(opened[3]))


def second_newest(world: World, opened: list[Session]) -> object:
    return world.deliver(event_of(opened[2]))


def sweep(world: World, opened: list[Session]) -> object:
    return world.deliver(SWEEP_EVENT)


def by_hand(world: World, opened: list[Session]) -> object:
    return world.manual(scope={"kind": "person", "id": "ada"}, dry_run=False)


RUNS = {"newest": newest, "second_newest": second_newest, "sweep": sweep, "by_hand": by_hand}
PAIRS = [(one, other) for one in RUNS for other in RUNS]


@pytest.mark.parametrize(("one", "other"), PAIRS)
@pytest.mark.parametrize("is_after", [False, True])
def test_two_evaluators_end_exactly_the_surplus_at_any_interleaving(
    one: str, other: str, is_after: bool
) -> None:
    for nth in range(1, steps_of(RUNS[one]) + 8):
        world, opened = four_sessions()
        if one not in ("sweep", "by_hand") and other not in ("sweep", "by_hand"):
            world.deliver(event_of(opened[0]), event_of(opened[1]))
        first, second = RUNS[one], RUNS[other]
        tap = Meanwhile(lambda w=world, o=opened, s=second: s(w, o), nth, is_after)  # type: ignore[misc]
        world.taps.active.append(tap)

        first(world, opened)
        world.taps.active.clear()
        where = f"{other} during {one} at step {nth}"
        assert len(world.live("ada")) >= 2, where
        assert set(world.sessions.terminate_calls) <= {s.session_id for s in opened[2:]}, where
        assert len(world.sessions.terminate_calls) == len(set(world.sessions.terminate_calls)), where

        world.clock.advance(minutes=4)
        world.sweep()
        assert world.live("ada") == {s.session_id for s in opened[:2]}, where
        assert sorted(world.sessions.terminate_calls) == [s.session_id for s in opened[2:]], where


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("leaver", [0, 1, 2, 3])
def test_nobody_is_ended_when_room_appeared_before_the_last_look(run: str, leaver: int) -> None:
    """One over the cap, and one leaves at any step of the evaluation: at most the surplus goes."""
    for nth in range(1, 30):
        world = university(cap={"max_sessions": 3})
        opened = [world.open_session("ada") for _ in range(4)]
        leave = Meanwhile(
            lambda w=world, s=opened[leaver].session_id: w.sessions.close(s),  # type: ignore[misc]
            nth,
            is_after=False,
        )
        world.taps.active.append(leave)
        RUNS[run](world, opened)

        last_look = _last_index(world.taps.journal, "sessions.find_active", before="sessions.terminate")
        if leave.is_over and (last_look is None or nth <= last_look):
            assert len(world.live("ada")) == 3, f"step {nth}: {world.taps.journal[nth - 1]}"
        world.clock.advance(minutes=3)
        world.taps.active.clear()
        world.sweep()
        assert len(world.live("ada")) <= 3


def _last_index(journal: list[str], name: str, before: str) -> int | None:
    if before not in journal:
        return None
    end = journal.index(before)
    return max((n for n, call in enumerate(journal[:end], 1) if call == name), default=None)


def test_a_spared_session_counts_again_at_once_and_its_record_says_why(world: World) -> None:
    opened = [world.open_session("ada") for _ in range(3)]
    leave = Meanwhile(lambda: world.sessions.close(opened[0].session_id), 1, is_after=True)
    world.taps.active.append(_AtCall("ledger.swap", leave.happens))

    world.sweep()
    spared = world.outcome(opened[1].session_id if opened[1].session_id in world.live() else "")
    withheld = [o for o in world.verdicts.latest.values() if o.status is OutcomeStatus.WITHHELD]
    assert spared.verdict.reason in ("allowed", "over_cap")
    assert [o.detail for o in withheld if "room" in o.detail or "ended by itself" in o.detail]
    assert all(not e.intent_token for e in world.ledger.get("ada").entries.values())
    assert world.mail.sent == []


@dataclass
class _AtCall:
    name: str
    happens: Callable[[], object]

    def before(self, call: PortCall) -> None:
        pass

    def after(self, call: PortCall) -> None:
        if call.name == self.name:
            self.happens()


@pytest.mark.parametrize("leaver", [0, 1, 2, 3])
def test_of_two_victims_one_is_spared_when_one_place_becomes_free(leaver: int) -> None:
    world, opened = four_sessions()
    world.taps.active.append(_AtCall("ledger.swap", lambda: world.sessions.close(opened[leaver].session_id)))

    world.sweep()
    assert len(world.live("ada")) == 2
    assert len(world.sessions.terminate_calls) == 1


def test_who_left_before_the_act_is_not_told_of_an_end(world: World) -> None:
    world.add_person("ada", is_disabled=True)
    only = world.open_session("ada")
    world.taps.active.append(_AtCall("ledger.swap", lambda: world.sessions.close(only.session_id)))

    world.sweep()
    assert world.outcome(only.session_id).detail == "the session has ended by itself"
    assert world.sessions.terminate_calls == []
    assert world.mail.sent == []


def test_a_lost_swap_is_decided_again_from_the_truth() -> None:
    world, opened = over_by_one()
    fifth: list[Session] = []

    def another_start() -> None:
        if not fifth:
            fifth.append(world.open_session("ada"))
            world.deliver(event_of(fifth[0]))

    world.taps.active.append(_BeforeCall("ledger.swap", another_start))
    assert newest(world, opened) == []
    assert world.waits != []
    assert world.live("ada") == {s.session_id for s in opened[:3]}
    assert sorted(world.sessions.terminate_calls) == sorted([opened[3].session_id, fifth[0].session_id])


@dataclass
class _BeforeCall:
    name: str
    happens: Callable[[], object]

    def before(self, call: PortCall) -> None:
        if call.name == self.name:
            self.happens()

    def after(self, call: PortCall) -> None:
        pass


def disturb(world: World) -> Callable[[], None]:
    """Somebody else's write to ada's ledger."""

    def write() -> None:
        ledger = world.ledger.get("ada")
        world.ledger.swap("ada", ledger, ledger.rev)

    return write


def test_after_a_lost_race_the_listing_is_read_anew() -> None:
    world, opened = over_by_one()
    write = disturb(world)

    def leave() -> None:
        if opened[0].session_id in world.live("ada"):
            world.sessions.close(opened[0].session_id)
            write()

    world.taps.active.append(_BeforeCall("ledger.swap", leave))
    newest(world, opened)
    assert world.taps.journal.count("sessions.active_sessions") == 2
    assert world.outcome(opened[3].session_id).verdict.reason == "allowed"
    assert world.sessions.terminate_calls == []


def test_six_lost_races_in_a_row_are_reported_as_contention_and_the_record_comes_back() -> None:
    world, opened = over_by_one()
    world.taps.active.append(_BeforeCall("ledger.swap", disturb(world)))

    assert newest(world, opened) == ["m-1"]
    assert world.taps.journal.count("ledger.swap") == ATTEMPTS
    assert world.telemetry.counts["RecordRetried"] == 1
    assert ("record will be retried", "ContendedError") in [
        (message, fields.get("error")) for message, fields in world.telemetry.warnings
    ]
    assert world.sessions.terminate_calls == []
    assert world.parking.parked == []

    world.taps.active.clear()
    assert newest(world, opened) == []
    assert world.live("ada") == {s.session_id for s in opened[:3]}


def test_a_sweep_that_loses_a_race_leaves_it_to_the_next_one() -> None:
    world, opened = four_sessions()
    world.taps.active.append(_BeforeCall("ledger.swap", disturb(world)))

    assert world.sweep() == []
    assert world.taps.journal.count("ledger.swap") == 1
    assert world.sessions.terminate_calls == []
    world.taps.active.clear()
    world.sweep()
    assert world.live("ada") == {s.session_id for s in opened[:2]}


def test_a_lost_race_is_no_verdict_about_a_session() -> None:
    world, _ = four_sessions()
    world.taps.active.append(_BeforeCall("ledger.swap", disturb(world)))

    world.sweep()
    assert world.verdicts.latest == {}
