"""Copies with clocks of their own race for a budget's memory: whoever loses it writes nothing and tells nobody."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from proctor.domain.budgets_memory import Level
from tests.fakes.budget_values import job, reading
from tests.fakes.budget_world import SWEEP_EVENT, BudgetWorld
from tests.fakes.taps import FailAt, PortCall, ProcessDiedError
from tests.reactions.budget_holds.deliveries import LAB1, USAGE, mails, message

WAIT = "Your jobs on alpha wait: budget lab1"
GRANT = {"aws_budget": "bill", "account": "lab1", "is_only_account": True}


@dataclass
class Later:
    """Just before (or after) the n-th call another copy, whose clock is two seconds ahead, works through."""

    nth: int
    world: BudgetWorld
    act: Callable[[BudgetWorld], object]
    is_after: bool = False
    seen: int = 0
    is_running: bool = field(default=False)

    def before(self, call: PortCall) -> None:
        if not self.is_running:
            self.seen += 1
            if not self.is_after:
                self._maybe()

    def after(self, call: PortCall) -> None:
        if self.is_after and not self.is_running:
            self._maybe()

    def _maybe(self) -> None:
        if self.seen != self.nth:
            return
        self.is_running = True
        self.world.now += timedelta(seconds=2)
        self.act(self.world)
        self.is_running = False
        self.seen += 1


def over() -> BudgetWorld:
    world = BudgetWorld()
    world.define("lab1", LAB1)
    world.spend("lab1", 11)
    world.see(jobs=(job(),))
    return world


def joined() -> BudgetWorld:
    """Held for `grant` already; now `lab1` passes its own limit too."""
    world = BudgetWorld()
    world.define("grant", GRANT)
    world.bill(reading(10500))
    world.sweep()
    world.let_agent_work()
    world.advance(hours=2)
    world.define("lab1", LAB1)
    world.spend("lab1", 11)
    return world


def calls(make: Callable[[], BudgetWorld], event: dict[str, Any]) -> int:
    world = make()
    world.taps.journal.clear()
    world.deliver(event)
    return len(world.taps.journal)


def settle(world: BudgetWorld) -> None:
    world.taps.active.clear()
    for _ in range(4):
        world.advance(minutes=10)
        world.let_agent_work()
        world.sweep()


@pytest.mark.parametrize("make", [over, joined])
@pytest.mark.parametrize("event", [dict(SWEEP_EVENT), USAGE], ids=["sweep", "usage"])
@pytest.mark.parametrize("other", [dict(SWEEP_EVENT), USAGE], ids=["sweep", "usage"])
def test_members_are_told_once_of_one_hold(
    make: Callable[[], BudgetWorld], event: dict[str, Any], other: dict[str, Any]
) -> None:
    for nth in range(1, calls(make, event) + 1):
        world = make()
        world.taps.active.append(Later(nth, world, lambda w: w.deliver(other)))
        world.deliver(event)
        settle(world)
        for who in ("ada", "bob", "cyd"):
            assert mails(world, who).count(WAIT) == 1, f"{who}, other copy at {nth}"
        assert mails(world, "ada").count("Budget lab1: new jobs are held") == 1
        assert world.intents.held() == {"account#lab1"}


@pytest.mark.parametrize("make", [over, joined])
def test_two_copies_at_every_pair_of_places_tell_once(make: Callable[[], BudgetWorld]) -> None:
    """The other copy is itself overtaken: three copies, three clocks."""
    count = calls(make, USAGE)
    for nth in range(1, count + 1, 3):
        world = make()

        def second(world: BudgetWorld) -> None:
            world.deliver(SWEEP_EVENT)

        def first(world: BudgetWorld, nth: int = nth) -> None:
            world.taps.active.append(Later(max(1, count - nth), world, second, is_after=True))
            world.deliver(USAGE)

        world.taps.active.append(Later(nth, world, first))
        world.deliver(USAGE)
        settle(world)
        assert [mails(world, who).count(WAIT) for who in ("ada", "bob", "cyd")] == [1, 1, 1], nth


def test_who_loses_a_memory_leaves_its_intents_to_the_winner() -> None:
    """The winner has died before it wrote: the loser, in a sweep, does not finish on what was never stored."""
    world = over()

    def winner(world: BudgetWorld) -> None:
        world.taps.active.insert(0, FailAt(ProcessDiedError, "intents.put"))
        with pytest.raises(ProcessDiedError):
            world.deliver(USAGE)
        world.taps.active.pop(0)

    journal = _journal(over, dict(SWEEP_EVENT))
    world.taps.active.append(Later(journal.index("memory.swap") + 1, world, winner))
    world.sweep()
    assert (world.intents.written, mails(world, "bob")) == ([], [])
    assert world.remembered("lab1").level is Level.HELD
    settle(world)
    assert (world.intents.held(), mails(world, "bob")) == ({"account#lab1"}, [WAIT])


def test_a_hold_that_was_released_and_ordered_again_is_told_by_its_own_evaluator() -> None:
    """Decided on a hold that was let go and ordered anew meanwhile: neither written nor told a second time."""
    world = over()
    world.taps.active.append(FailAt(ProcessDiedError, "intents.put"))
    with pytest.raises(ProcessDiedError):
        world.sweep()
    world.taps.active.clear()
    assert world.remembered("lab1").level is Level.HELD
    world.advance(minutes=10)

    def again(world: BudgetWorld) -> None:
        world.order("ReleaseBudget", "lab1")
        world.now += timedelta(seconds=1)
        world.order("HoldBudget", "lab1")

    journal = _journal(_died, dict(SWEEP_EVENT))
    at = journal.index("intents.get") + 1
    world.taps.active.append(Later(at, world, again))
    world.sweep()
    settle(world)
    assert world.intents.held() == {"account#lab1"}
    assert mails(world, "bob").count(WAIT) == 1


def _died() -> BudgetWorld:
    world = over()
    world.taps.active.append(FailAt(ProcessDiedError, "intents.put"))
    with pytest.raises(ProcessDiedError):
        world.sweep()
    world.taps.active.clear()
    world.advance(minutes=10)
    return world


def _journal(make: Callable[[], BudgetWorld], event: dict[str, Any]) -> list[str]:
    world = make()
    world.taps.journal.clear()
    world.deliver(event)
    return list(world.taps.journal)


def test_a_message_of_the_bill_and_a_sweep_at_once_are_one_change() -> None:
    world = over()
    world.define("lab1", {**LAB1, "allocation": {"limit": 1000, "bill": "bill"}})
    world.bill(reading(5000))
    for nth in range(1, 30, 2):
        copy = over()
        copy.define("lab1", {**LAB1, "allocation": {"limit": 1000, "bill": "bill"}})
        copy.bill(reading(5000))
        copy.taps.active.append(Later(nth, copy, lambda w: w.deliver(message("bill"))))
        copy.sweep()
        settle(copy)
        assert mails(copy, "bob").count(WAIT) == 1
