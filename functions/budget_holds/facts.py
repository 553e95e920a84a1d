"""The three numbers of a budget: settled, in flight, committed. What can't be known is said, never guessed."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from budget_holds.snapshot import OrderKind, Situation
from proctor.domain.budgets_memory import Doubt
from proctor.domain.budgets_period import Period
from proctor.domain.money import Money

APPROVABLE = frozenset({Doubt.UNHEALTHY, Doubt.STALE})
"""Doubts about AWS's own numbers that stay accepted for the period."""

ONE = Decimal(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The numbers of one budget in one period.

    `in_flight`, `committed` and `forecast` are None when unknown. `settled_to_at` is the cut-off, `as_of_at` the numbers' age.
    `factor` is bill ÷ metered, `idle` what the bill holds beyond. `guarded` is the figure that plausibility is judged by.
    `can_hold` and `can_release` say whether the numbers carry such a step; `lacks` says why not.
    """

    limit: Money
    settled: Money
    in_flight: Money | None
    committed: Money | None
    guarded: Money
    settled_to_at: datetime
    as_of_at: datetime
    forecast: Money | None = None
    credits: Money | None = None
    factor: Decimal = ONE
    idle: Money | None = None
    alert_percent: Decimal = Decimal(0)
    can_hold: bool = True
    can_release: bool = True
    lacks: str = ""
    is_net: bool = False

    @property
    def spent(self) -> Money:
        """Settled and in flight: what a hold is decided on."""
        return self.settled + self.in_flight if self.in_flight is not None else self.settled

    @property
    def percent(self) -> Decimal:
        """Spent, in percent of the limit."""
        return self.spent.percent_of(self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Numbers in a period, or a doubt about them."""

    period: Period
    facts: Facts | None = None
    doubt: Doubt | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing can be said: the last state stays. `reason` is a stable code."""

    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The budget is not in force now: before its first day, or after its last."""

    text: str


type Finding = Found | Unknown | Ended


def accepted(situation: Situation, period: Period) -> frozenset[Doubt]:
    """Doubts that an operator has answered: for this period, or by the order at hand. A foreign currency can't be accepted."""
    memory, order = situation.memory, situation.order
    found = set(memory.approved) if memory.period == period else set()
    if order is not None and order.kind is OrderKind.APPROVE:
        found |= APPROVABLE
    return frozenset(found & APPROVABLE)
