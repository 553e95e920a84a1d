"""Plausibility: a figure that can't be right is asked about, not acted on.

The ceiling is what the cluster could have cost at most: nodes by list price by hours. AWS's estimates were wrong by orders of
magnitude for two days in July 2026 and fired alerts; a hold must not follow such a figure.
"""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from budget_holds.facts import Facts
from budget_holds.policy import BudgetHoldsPolicy
from proctor.domain.budgets_memory import BudgetMemory, Doubt
from proctor.domain.budgets_period import Period
from proctor.domain.money import Money

_HUNDRED = Decimal(100)
_NOISE = Decimal(100)
"""A fall within one hundredth of the limit is noise."""


@dataclass(frozen=True, slots=True)
class Doubted:
    """A doubt and its sentence for people."""

    doubt: Doubt
    text: str


def doubt_about(
    facts: Facts, memory: BudgetMemory, period: Period, policy: BudgetHoldsPolicy, nodes: int
) -> Doubted | None:
    """The first guard that the numbers fail; `memory` is of the same period, `nodes` the most seen in it."""
    return _shrink(facts, memory, policy) or _jump(facts, memory, period, policy, nodes)


def hourly_ceiling(policy: BudgetHoldsPolicy, nodes: int) -> Decimal | None:
    """The most that an hour of the whole cluster can cost; None when that is unknown."""
    if policy.plausibility.ceiling_per_hour is not None:
        return policy.plausibility.ceiling_per_hour
    dearest = policy.rates.dearest_node_hour if policy.rates is not None else None
    return dearest * nodes if dearest is not None and nodes > 0 else None


def _shrink(facts: Facts, memory: BudgetMemory, policy: BudgetHoldsPolicy) -> Doubted | None:
    trusted = memory.trusted
    if trusted is None or trusted.currency != facts.guarded.currency:
        return None
    fall = trusted.amount - facts.guarded.amount
    percent = policy.plausibility.shrink_percent
    if fall * _HUNDRED <= trusted.amount * percent or fall <= facts.limit.amount / _NOISE:
        return None
    text = f"the spend fell from {trusted} to {facts.guarded}, more than {percent} % within one period"
    return Doubted(Doubt.SHRINK, text)


def _jump(
    facts: Facts, memory: BudgetMemory, period: Period, policy: BudgetHoldsPolicy, nodes: int
) -> Doubted | None:
    hourly = hourly_ceiling(policy, nodes)
    if hourly is None:
        return None
    since_start = _most(facts.as_of_at - period.start_at, hourly, policy)
    trusted, since = memory.trusted, memory.trusted_at
    if trusted is None or since is None or trusted.currency != facts.guarded.currency:
        trusted, step = Money(Decimal(0), facts.guarded.currency), since_start
    else:
        lag = timedelta(hours=policy.billing_lag_hours)
        step = _most(facts.as_of_at - since + lag, hourly, policy)
    # A figure that a person has approved may be over the period's ceiling; what follows is measured from it.
    most = max(since_start, trusted.amount + step)
    if facts.guarded.amount > most:
        text = f"{facts.guarded} in this period is more than {nodes} nodes can cost ({Money(most, trusted.currency)})"
        return Doubted(Doubt.JUMP, text)
    if facts.guarded.amount - trusted.amount > step:
        text = (
            f"the spend rose from {trusted} to {facts.guarded}, more than {nodes} nodes can cost in that time"
        )
        return Doubted(Doubt.JUMP, text)
    return None


def _most(elapsed: timedelta, hourly: Decimal, policy: BudgetHoldsPolicy) -> Decimal:
    hours = Decimal(max(elapsed, timedelta(0)) // timedelta(seconds=1)) / Decimal(3600)
    margin = Decimal(policy.plausibility.ceiling_margin_percent) / _HUNDRED
    return hourly * hours * margin + policy.plausibility.ceiling_slack
