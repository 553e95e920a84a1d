"""Thresholds fire once a period: level and memory, so neither a correction nor a duplicate fires one again.

Numbers warn by settled + in flight; `forecast` and `committed` warn when they would pass the limit. An ACTUAL notification
that AWS has in ALARM counts as reached: its message may have been lost.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from budget_holds.facts import Facts
from proctor.domain.budgets_memory import BudgetMemory, Fired

FORECAST = "forecast"
COMMITTED = "committed"
_TRUST_EVERY = timedelta(hours=1)


def fire(
    memory: BudgetMemory, facts: Facts, thresholds: tuple[int, ...], now: datetime, *, tells: bool
) -> BudgetMemory:
    """The memory with every threshold that is reached now and has not been told in this period."""
    reached = {name for name in _reached(facts, thresholds) if not _is_done(memory.fired.get(name), tells)}
    if not reached:
        return memory
    return replace(memory, fired={**memory.fired, **dict.fromkeys(sorted(reached), Fired(now, tells))})


def refreshed(memory: BudgetMemory, facts: Facts, *, at_once: bool) -> BudgetMemory:
    """The figure to compare the next one with; kept for an hour, so that small changes cost no write."""
    trusted_at = memory.trusted_at
    if (
        not at_once
        and memory.trusted is not None
        and trusted_at is not None
        and timedelta(0) <= facts.as_of_at - trusted_at < _TRUST_EVERY
    ):
        return memory
    return replace(memory, trusted=facts.guarded, trusted_at=facts.as_of_at)


def _is_done(fired: Fired | None, tells: bool) -> bool:  # noqa: FBT001 - the same flag as above
    return fired is not None and (fired.is_told or not tells)


def _reached(facts: Facts, thresholds: tuple[int, ...]) -> list[str]:
    percent = max(facts.percent, facts.alert_percent)
    found = [str(t) for t in thresholds if percent >= t]
    if facts.spent.amount >= facts.limit.amount:
        return found
    if facts.forecast is not None and facts.forecast.amount >= facts.limit.amount:
        found.append(FORECAST)
    if facts.committed is not None and (facts.spent + facts.committed).amount >= facts.limit.amount:
        found.append(COMMITTED)
    return found
