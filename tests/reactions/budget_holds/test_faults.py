"""Racing evaluators, crashes at every port call, and messages in any order, twice or never: one final state."""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.domain.budgets_memory import Level
from tests.fakes.budget_values import job, reading
from tests.fakes.budget_world import SWEEP_EVENT, BudgetWorld
from tests.fakes.taps import FailAt, PortCall, ProcessDiedError

LAB1 = {"account": "lab1", "allocation": {"limit": 1000}, "owner": "ada"}
GRANT = {"aws_budget": "bill", "account": "lab1", "is_only_account": True, "owner": "ada"}
USAGE = {"source": "proctor.observed", "detail": {"cluster": "alpha", "kind": "usage"}}


def bill_message() -> dict[str, Any]:
    text = "AWS Budget Notification\nAWS Account 123456789012\n\nBudget Name: bill\n"
    return {"Type": "Notification", "Message": text}


def spent_out() -> BudgetWorld:
    world = BudgetWorld()
    world.define("lab1", LAB1)
    world.define("grant", GRANT)
    world.spend("lab1", 11)
    world.see(jobs=(job(),))
    world.bill(reading(10500))
    return world


def recovered() -> BudgetWorld:
    """Held for both, and the reasons are gone: everything is to be let go."""
    world = spent_out()
    world.sweep()
    world.let_agent_work()
    world.define("lab1", {**LAB1, "allocation": {"limit": 2000}})
    world.bill(reading(9000))
    world.advance(minutes=61)
    return world


def final(world: BudgetWorld) -> dict[str, Any]:
    """What must be the same whatever happened on the way."""
    return {
        "held": world.intents.held(),
        "levels": {s: world.memory.get(s).level for s in world.memory.records},
        "mails": sorted((m.email, m.headline) for m in world.mail.sent),
    }


def settle(world: BudgetWorld) -> None:
    """What time brings by itself: leases run out, sweeps come."""
    world.taps.active.clear()
    for _ in range(3):
        world.advance(minutes=10)
        world.sweep()


@dataclass
class Interleave:
    """At the n-th call, another evaluator runs through first."""

    nth: int
    other: Callable[[], None]
    seen: int = 0
    is_running: bool = field(default=False)

    def before(self, call: PortCall) -> None:
        if self.is_running:
            return
        self.seen += 1
        if self.seen == self.nth:
            self.is_running = True
            self.other()
            self.is_running = False

    def after(self, call: PortCall) -> None:
        return


def calls(make: Callable[[], BudgetWorld], event: dict[str, Any]) -> int:
    world = make()
    world.taps.journal.clear()
    world.deliver(event)
    return len(world.taps.journal)


@pytest.mark.parametrize("make", [spent_out, recovered])
@pytest.mark.parametrize("after_call", [False, True])
def test_a_crash_at_any_call_loses_and_doubles_nothing(
    make: Callable[[], BudgetWorld], *, after_call: bool
) -> None:
    calm = make()
    calm.sweep()
    settle(calm)
    wanted = final(calm)
    count = calls(make, dict(SWEEP_EVENT))
    assert count > 20
    for nth in range(1, count + 1):
        world = make()
        world.taps.active.append(FailAt(ProcessDiedError, nth=nth, after_call=after_call))
        with pytest.raises(ProcessDiedError):
            world.sweep()
        settle(world)
        found = final(world)
        assert (found["held"], found["levels"]) == (wanted["held"], wanted["levels"]), f"crash at {nth}"
        # A mail that was sent just before a crash is sent again; none is lost.
        assert set(found["mails"]) == set(wanted["mails"]), f"crash at {nth}"
        assert max(found["mails"].count(one) for one in found["mails"]) <= 2, f"crash at {nth}"


@pytest.mark.parametrize("make", [spent_out, recovered])
def test_two_evaluators_at_once_decide_as_one(make: Callable[[], BudgetWorld]) -> None:
    calm = make()
    calm.sweep()
    settle(calm)
    count = calls(make, dict(SWEEP_EVENT))
    for nth in range(1, count + 1, 2):
        world = make()
        world.taps.active.append(Interleave(nth, lambda w=world: _other(w)))  # type: ignore[misc]
        world.sweep()
        settle(world)
        assert final(world) == final(calm), f"interleaved at {nth}"


def _other(world: BudgetWorld) -> None:
    world.deliver(USAGE)


def test_a_release_by_hand_during_a_sweep_is_never_overruled() -> None:
    """Whatever call it falls between, the hand release is what stays."""

    def make() -> BudgetWorld:
        world = spent_out()
        world.define("grant", {**GRANT, "mode": "off"})
        return world

    for nth in range(1, calls(make, dict(SWEEP_EVENT)) + 1):
        world = make()
        world.taps.active.append(Interleave(nth, lambda w=world: _release(w)))  # type: ignore[misc]
        world.sweep()
        world.taps.active.clear()
        assert world.remembered("lab1").level is Level.RELEASED, f"at {nth}"
        assert world.intents.held() == set(), f"at {nth}"
        world.advance(minutes=10)
        world.sweep()
        assert world.intents.held() == set(), f"at {nth}"


def _release(world: BudgetWorld) -> None:
    world.order("ReleaseBudget", "lab1")


def test_one_lets_go_while_the_other_begins_to_hold() -> None:
    """The release of one budget races with the hold of another on the same account: it ends held."""

    def make() -> BudgetWorld:
        world = BudgetWorld()
        world.define("lab1", LAB1)
        world.define("grant", GRANT)
        world.spend("lab1", 11)
        world.bill(reading(9000))
        world.sweep()
        world.let_agent_work()
        world.advance(minutes=61)
        world.define("lab1", {**LAB1, "allocation": {"limit": 2000}})
        return world

    for nth in range(1, calls(make, USAGE) + 1):
        world = make()

        def other(world: BudgetWorld = world) -> None:
            world.bill(reading(10500))
            world.deliver(bill_message())

        world.taps.active.append(Interleave(nth, other))
        world.deliver(USAGE)
        settle(world)
        assert world.intents.held() == {"account#lab1"}, f"interleaved at {nth}"
        assert world.remembered("grant").level is Level.HELD


EVENTS = [dict(SWEEP_EVENT), USAGE, bill_message()]


def test_any_order_of_messages_ends_the_same() -> None:
    found = []
    for order in itertools.permutations(EVENTS):
        world = spent_out()
        for event in order:
            world.deliver(event)
            world.advance(minutes=1)
        found.append(json.dumps(final(world), default=sorted))
    assert len(set(found)) == 1


@settings(max_examples=40)
@given(st.lists(st.sampled_from([0, 1, 2]), max_size=6))
def test_lost_and_doubled_messages_end_the_same_after_one_sweep(delivered: list[int]) -> None:
    calm, world = spent_out(), spent_out()
    calm.sweep()
    for index in delivered:
        world.deliver(EVENTS[index])
        world.advance(minutes=1)
    world.sweep()
    assert final(world) == final(calm)
