"""Planted bugs in what is concluded from figures, periods and orders."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

from budget_holds import allocations, aws_numbers, definition, states
from budget_holds.facts import Facts, Found
from proctor.adapters import budgets_api
from proctor.adapters.budgets_api import AwsBudgets
from proctor.domain import budgets_reading
from proctor.domain.budgets_exemptions import BudgetExemption
from proctor.domain.budgets_memory import BudgetMemory, Doubt, HandKind, Level
from proctor.domain.budgets_period import Period, TimeUnit, period_at
from proctor.domain.budgets_reading import BudgetAnswer, BudgetReading, BudgetUnread
from proctor.domain.money import Money
from proctor.domain.slurm_state import SlurmView
from tests.simulation.core.planting import Patch, PlantedBug

_LOCAL = timedelta(hours=1)


def _edge_only() -> list[Patch]:
    levelled = states._levelled

    def edge(memory: BudgetMemory, facts: Facts, *rest: Any) -> BudgetMemory:
        was_below = memory.trusted is not None and memory.trusted.amount < facts.limit.amount
        found = levelled(memory, facts, *rest)
        return found if was_below or found.level is not Level.HELD else replace(memory, limit=facts.limit)

    return [(states, "_levelled", edge)]


def _no_hysteresis() -> list[Patch]:
    levelled = states._levelled
    bounds = SimpleNamespace(hold_at_percent=100, release_below_percent=Decimal("99.9"))

    def jumpy(memory: BudgetMemory, facts: Facts, period: Period, policy: Any, now: datetime) -> BudgetMemory:
        del policy
        return levelled(memory, facts, period, bounds, now)  # type: ignore[arg-type]

    return [(states, "_levelled", jumpy)]


def _forecast_holds() -> list[Patch]:
    levelled = states._levelled

    def hasty(memory: BudgetMemory, facts: Facts, *rest: Any) -> BudgetMemory:
        settled = facts.settled if facts.forecast is None else max(facts.settled, facts.forecast, key=_amount)
        return levelled(memory, replace(facts, settled=settled), *rest)

    return [(states, "_levelled", hasty)]


def _new_period_not_noticed() -> list[Patch]:
    def kept(memory: BudgetMemory, finding: Any) -> BudgetMemory:
        if not isinstance(finding, Found) or memory.period == finding.period:
            return memory
        return replace(
            memory,
            period=finding.period,
            held_in=finding.period.key if memory.held_in else None,
            hand=memory.hand,
        )

    def lazy(memory: BudgetMemory, facts: Facts, period: Period, *rest: Any) -> BudgetMemory:
        return (
            memory
            if memory.level is Level.HELD and memory.hand is None
            else levelled(memory, facts, period, *rest)
        )

    levelled = states._levelled
    return [(states, "_rolled", kept), (states, "_levelled", lazy)]


def _release_not_sticky() -> list[Patch]:
    lapsed = states._lapsed

    def forgetful(memory: BudgetMemory, *rest: Any) -> BudgetMemory:
        hand = memory.hand
        is_release = hand is not None and hand.kind is HandKind.RELEASE
        return lapsed(replace(memory, hand=None) if is_release else memory, *rest)

    return [(states, "_lapsed", forgetful)]


def _currency_ignored() -> list[Patch]:
    return [(budgets_api, "_money", lambda spend: Money.parse(spend["Amount"], "USD") if spend else None)]


def _without(doubt: Doubt) -> list[Patch]:
    judged = aws_numbers.reading_doubt

    def trusting(*rest: Any) -> Found | None:
        found = judged(*rest)
        return None if found is not None and found.doubt is doubt else found

    return [(aws_numbers, "reading_doubt", trusting), (allocations, "reading_doubt", trusting)]


def _throttle_read_as_zero() -> list[Patch]:
    read = AwsBudgets._read

    def hopeful(self: AwsBudgets, name: str) -> BudgetAnswer:
        answer = read(self, name)
        if not isinstance(answer, BudgetUnread):
            return answer
        nothing = Money(Decimal(0), "USD")
        limit, now = Money(Decimal(10_000), "USD"), datetime.fromisoformat("2087-01-01T00:00:00+00:00")
        return BudgetReading(
            name=name, unit=TimeUnit.MONTHLY, is_cost=True, limit=limit, actual=nothing, updated_at=now
        )

    return [(AwsBudgets, "_read", hopeful)]


def _credits_netted() -> list[Patch]:
    counted = allocations._facts

    def netted(*rest: Any) -> Facts:
        facts = counted(*rest)
        if facts.credits is None or facts.in_flight is None:
            return facts
        left = max(facts.in_flight.amount - facts.credits.amount, Decimal(0))
        return replace(facts, in_flight=Money(left, facts.in_flight.currency))

    return [(allocations, "_facts", netted)]


def _local_border() -> list[Patch]:
    def local(unit: TimeUnit, now: datetime, **more: Any) -> Period | None:
        if unit is TimeUnit.CUSTOM:
            return period_at(unit, now, **more)
        found = period_at(unit, now + _LOCAL, **more)
        return None if found is None else Period(found.start_at - _LOCAL, found.end_at - _LOCAL)

    return [(definition, "period_at", local), (budgets_reading, "period_at", local)]


def _silent_agent_believed() -> list[Patch]:
    return [(SlurmView, "is_fresh", lambda self, now: self.seen_at is not None)]


def _former_period_judged_again() -> list[Patch]:
    return [(states, "_is_set_back", lambda *_: False)]


def _exemption_never_ends() -> list[Patch]:
    return [(BudgetExemption, "applies", lambda self, cluster, now: True)]


def _amount(money: Money) -> Decimal:
    return money.amount


DECIDING = (
    PlantedBug("edge-only: holds only when the figure is seen to cross", _edge_only),
    PlantedBug("released at 99.9 %: no hysteresis", _no_hysteresis),
    PlantedBug("a FORECASTED figure holds", _forecast_holds),
    PlantedBug("a new period is not noticed", _new_period_not_noticed),
    PlantedBug("a release by hand is not sticky", _release_not_sticky),
    PlantedBug("another currency is taken for ours", _currency_ignored),
    PlantedBug("stale figures act", lambda: _without(Doubt.STALE)),
    PlantedBug("an unhealthy budget acts", lambda: _without(Doubt.UNHEALTHY)),
    PlantedBug("a failed DescribeBudget is read as nothing spent", _throttle_read_as_zero),
    PlantedBug("credits are taken off", _credits_netted),
    PlantedBug("periods begin at midnight local time", _local_border),
    PlantedBug("a silent agent is believed", _silent_agent_believed),
    PlantedBug("an exemption never ends", _exemption_never_ends),
    PlantedBug("a clock set back judges the former period again", _former_period_judged_again, is_rare=True),
)
