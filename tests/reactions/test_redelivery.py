"""The same record again, the same session twice, a late event: one end, one message."""

from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.domain.sessions import Session
from tests.fakes.events import event_of
from tests.fakes.world import World
from tests.reactions.conftest import university


@pytest.mark.parametrize("seconds", [0, 30, 90, 119, 120, 200, 4000])
def test_a_redelivered_start_ends_nobody_else_and_tells_nobody_again(seconds: int) -> None:
    world = university()
    opened = [world.start_session("ada") for _ in range(3)]
    alive, mails = world.live("ada"), list(world.mail.sent)

    world.clock.advance(seconds=seconds)
    for again in opened:
        assert world.deliver(event_of(again)) == []
        world.clock.advance(seconds=seconds)

    assert world.live("ada") == alive
    assert len(world.sessions.terminate_calls) == 1
    assert world.mail.sent == mails


def test_an_event_twice_in_one_batch_is_one_session(world: World) -> None:
    opened = [world.open_session("ada") for _ in range(3)]

    world.deliver(*(event_of(s) for s in [*opened, *opened]))
    assert len(world.live("ada")) == 2
    assert len(world.sessions.terminate_calls) == 1


def test_a_batch_reads_the_listing_once_before_it_acts(world: World) -> None:
    world.add_person("zoe")
    opened = [world.open_session(name) for name in ("ada", "zoe") for _ in range(3)]

    world.deliver(*(event_of(s) for s in opened))
    assert Counter(world.taps.journal)["sessions.active_sessions"] == 1
    assert len(world.live("ada")) == len(world.live("zoe")) == 2


def test_a_sweep_reads_the_ledgers_before_the_listing_so_that_no_ledger_is_newer_than_it(
    world: World,
) -> None:
    world.sweep()

    assert world.taps.journal.index("ledger.all") < world.taps.journal.index("sessions.active_sessions")


def test_an_event_of_a_session_that_has_ended_since_ends_nobody(world: World) -> None:
    gone = world.open_session("ada")
    world.sessions.close(gone.session_id)
    for _ in range(2):
        world.start_session("ada")
    world.clock.advance(minutes=5)

    world.deliver(event_of(gone))
    assert len(world.live("ada")) == 2
    assert world.sessions.terminate_calls == []


def test_an_event_later_than_the_sweep_that_ended_its_session_changes_nothing(world: World) -> None:
    opened = [world.open_session("ada") for _ in range(3)]
    world.sweep()
    (victim,) = world.sessions.terminate_calls
    world.sessions.finish_terminating()
    world.clock.advance(minutes=3)
    world.sweep()

    late = next(s for s in opened if s.session_id == victim)
    world.deliver(event_of(late))
    world.clock.advance(minutes=3)
    world.sweep()
    assert world.sessions.terminate_calls == [victim]
    assert len(world.mail.sent) == 1


def test_three_starts_in_any_order_of_events_leave_the_two_oldest() -> None:
    for order in permutations(range(3)):
        world = university()
        opened = staggered(world, 3)
        for n in order:
            world.deliver(event_of(opened[n]))
        world.sweep()
        assert world.live("ada") == {s.session_id for s in opened[:2]}, order


def staggered(world: World, count: int) -> list[Session]:
    """Sessions a second apart, all there before any event comes."""
    opened = []
    for _ in range(count):
        opened.append(world.open_session("ada"))
        world.clock.advance(seconds=1)
    return opened


@given(
    count=st.integers(1, 5),
    deliveries=st.lists(st.integers(0, 4), max_size=8),
    pauses=st.lists(st.integers(0, 150), min_size=8, max_size=8),
    order=st.sampled_from(["newest", "oldest"]),
)
def test_any_loss_order_and_repetition_of_events_and_a_sweep_end_in_the_same_state(
    count: int, deliveries: list[int], pauses: list[int], order: str
) -> None:
    """Invariant: with events lost, the sweep alone reaches what events and the sweep reach."""
    world = university(victim_order=order)
    opened = staggered(world, count)
    for n, pause in zip(deliveries, pauses, strict=False):
        if n < count:
            world.deliver(event_of(opened[n]))
        world.clock.advance(seconds=pause)
    world.sweep()

    by_age = opened if order == "newest" else opened[::-1]
    assert world.live("ada") == {s.session_id for s in by_age[:2]}
    assert len(world.sessions.terminate_calls) == max(0, count - 2)
    assert len(world.mail.sent) <= 1


@given(st.integers(0, 6), st.integers(1, 3), st.integers(0, 6))
def test_the_sweep_alone_holds_every_cap(count: int, cap: int, lost_by_themselves: int) -> None:
    world = university(cap={"max_sessions": cap})
    opened = staggered(world, count)
    for ended in opened[:lost_by_themselves]:
        world.sessions.close(ended.session_id)
    before = len(world.live("ada"))

    world.sweep()
    assert len(world.live("ada")) == min(cap, before)
    assert len(world.sessions.terminate_calls) == max(0, before - cap)


def test_a_record_of_a_person_who_left_the_directory_is_of_an_unmapped_owner(world: World) -> None:
    world.people.remove("ada")
    started = world.start_session("ada")

    assert world.outcome(started.session_id).verdict.reason == "unmapped_owner"
