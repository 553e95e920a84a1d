"""The process dies at any point; the record comes back, the sweep goes on. Nothing is lost, nobody is ended twice."""

from collections.abc import Callable

import pytest

from proctor.domain.claims import ClaimState
from proctor.domain.sessions import Session
from tests.fakes.events import SWEEP_EVENT, event_of
from tests.fakes.taps import FailAt, ProcessDiedError
from tests.fakes.world import World
from tests.reactions.conftest import university


def surplus_of_one() -> tuple[World, list[Session]]:
    world = university()
    opened = []
    for _ in range(3):
        opened.append(world.open_session("ada"))
        world.clock.advance(seconds=1)
    world.deliver(event_of(opened[0]), event_of(opened[1]))
    return world, opened


def by_event(world: World, opened: list[Session]) -> object:
    return world.deliver(event_of(opened[2]))


def by_sweep(world: World, opened: list[Session]) -> object:
    return world.deliver(SWEEP_EVENT)


def calls_of(run: Callable[[World, list[Session]], object]) -> list[str]:
    world, opened = surplus_of_one()
    before = len(world.taps.journal)
    run(world, opened)
    return world.taps.journal[before:]


def crash(run: Callable[[World, list[Session]], object], nth: int, *, after_call: bool) -> tuple[World, str]:
    """A world in which the evaluator died at its n-th call."""
    world, opened = surplus_of_one()
    world.taps.active.append(FailAt(ProcessDiedError, nth=nth, after_call=after_call))
    with pytest.raises(ProcessDiedError):
        run(world, opened)
    world.taps.active.clear()
    return world, world.taps.journal[-1]


RUNS = [(run, n) for run in (by_event, by_sweep) for n in range(1, len(calls_of(run)) + 1)]


@pytest.mark.parametrize(("run", "nth"), RUNS, ids=lambda v: getattr(v, "__name__", str(v)))
@pytest.mark.parametrize("after_call", [False, True], ids=["before", "after"])
def test_after_a_crash_anywhere_the_surplus_goes_once_and_the_person_is_told(
    run: Callable[[World, list[Session]], object], nth: int, after_call: bool
) -> None:
    world, where = crash(run, nth, after_call=after_call)
    opened = [world.sessions.rows[sid] for sid in sorted(world.sessions.rows)]

    world.clock.advance(minutes=3)
    run(world, opened)
    for _ in range(3):
        world.clock.advance(minutes=2)
        world.sessions.finish_terminating()
        world.sweep()

    assert world.live("ada") == {s.session_id for s in opened[:2]}, where
    assert set(world.sessions.terminate_calls) == {opened[2].session_id}, where
    assert len(world.sessions.terminate_calls) <= 2, f"{where}: asked again at most once, after a look"
    assert 1 <= len(world.mail.sent) <= 2, f"{where}: told, and again only if nobody knows"
    assert 1 <= len(world.operators.published) <= 2, where
    open_claims = [a for a in world.claims.audits.values() if a.claim.state is ClaimState.CLAIMED]
    assert open_claims == [], where


@pytest.mark.parametrize("after_call", [False, True])
def test_a_crash_between_act_and_settlement_is_settled_by_reading_not_by_acting_again(
    after_call: bool,
) -> None:
    calls = calls_of(by_sweep)
    nth = calls.index("sessions.terminate") + (1 if after_call else 2)
    world, _ = crash(by_sweep, nth, after_call=after_call)
    world.clock.advance(minutes=3)
    world.sweep()

    assert len(world.sessions.terminate_calls) == 1
    assert len(world.live("ada")) == 2


def test_until_the_lease_is_over_a_crashed_evaluators_session_is_not_fought_over() -> None:
    calls = calls_of(by_event)
    world, _ = crash(by_event, calls.index("claims.put") + 1, after_call=True)
    world.clock.advance(seconds=60)
    world.sweep()
    assert world.sessions.terminate_calls == []
    assert len(world.live("ada")) == 3

    world.clock.advance(seconds=60)
    world.sweep()
    assert len(world.live("ada")) == 2


def test_a_clock_set_back_after_a_crash_makes_no_intent_last_longer() -> None:
    calls = calls_of(by_event)
    world, _ = crash(by_event, calls.index("claims.put") + 1, after_call=True)
    world.clock.advance(hours=-5)
    world.sweep()

    assert len(world.live("ada")) == 2


def test_an_ended_person_without_a_session_left_is_told_all_the_same() -> None:
    world = university()
    world.add_person("ada", is_disabled=True)
    only = world.open_session("ada")
    world.taps.active.append(FailAt(ProcessDiedError, name="sessions.terminate", after_call=True))
    with pytest.raises(ProcessDiedError):
        world.sweep()
    world.taps.active.clear()
    world.sessions.close(only.session_id)

    world.clock.advance(minutes=3)
    world.sweep()
    assert [m.email for m in world.mail.sent] == ["ada@uni.example"]
    assert "person disabled" in world.mail.sent[0].text


def test_a_pause_keeps_nobody_from_settling_what_was_done_before_it() -> None:
    calls = calls_of(by_sweep)
    world, _ = crash(by_sweep, calls.index("sessions.terminate") + 1, after_call=True)
    world.pause.paused["alpha"] = "maintenance"
    world.sessions.finish_terminating()
    world.clock.advance(minutes=3)
    world.sweep()

    assert [a.claim.state for a in world.claims.audits.values()] == [ClaimState.APPLIED, ClaimState.APPLIED]
    assert world.mail.sent == []
    world.pause.paused.clear()
    world.clock.advance(minutes=2)
    world.sweep()
    assert len(world.mail.sent) == 1
