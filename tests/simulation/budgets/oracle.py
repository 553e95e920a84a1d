"""What must be true of a budget, from operators' JSON, AWS's figures and Slurm's rows. Imports no rule of Proctor."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from proctor.domain.agent_protocol import ObservedUsage
from proctor.domain.budgets_reading import BudgetReading, BudgetUnread
from tests.simulation.budgets.scenario import PRICE
from tests.simulation.budgets.slurm import below

HOLD_AT, RELEASE_BELOW = 100.0, 95.0
LAG = timedelta(hours=8)
STALE = timedelta(hours=36)
_MONTHS = {"MONTHLY": 1, "QUARTERLY": 3, "ANNUALLY": 12}

type Span = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """`percent` None: nothing may be concluded (`why`). `is_over`: the budget's time is over or has not begun."""

    percent: float | None = None
    why: str = ""
    span: Span | None = None
    limit: float = 0.0
    is_over: bool = False
    can_release: bool = True


def calendar(unit: str, now: datetime) -> Span:
    """The calendar period around a moment, in UTC."""
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "DAILY":
        return day, day + timedelta(days=1)
    months = _MONTHS[unit]
    start = day.replace(day=1, month=(day.month - 1) // months * months + 1)
    ahead = start.month - 1 + months
    return start, start.replace(year=start.year + ahead // 12, month=ahead % 12 + 1)


def period_of(raw: Mapping[str, Any], now: datetime, unit_of_bill: str) -> Span | None:
    """The period of a budget; None outside its time."""
    allocation = raw.get("allocation")
    if allocation is None:
        return calendar(unit_of_bill, now)
    if allocation["time_unit"] != "CUSTOM":
        return calendar(allocation["time_unit"], now)
    start, end = (datetime.fromisoformat(allocation[name]) for name in ("starts_at", "ends_at"))
    return (start, end) if start <= now < end else None


def cost(rows: Iterable[ObservedUsage], since: datetime, accounts: set[str] | None, until: datetime) -> float:
    """Use times price."""
    return sum(
        row.node_seconds * PRICE[row.partition] / 3600
        for row in rows
        if since <= row.hour_at < until and (accounts is None or row.account in accounts)
    )


def judge(
    raw: Mapping[str, Any],
    answer: BudgetReading | BudgetUnread | None,
    rows: Iterable[ObservedUsage],
    *,
    is_fresh: bool,
    accepted: set[str],
    now: datetime,
) -> Judgement:
    """One budget. `answer` is AWS's, about the budget or about an allocation's bill."""
    allocation = raw.get("allocation")
    if allocation is None:
        return _of_aws(raw, answer, rows, is_fresh=is_fresh, accepted=accepted, now=now)
    span = period_of(raw, now, "")
    if span is None:
        return Judgement(is_over=True)
    if not is_fresh:
        return Judgement(why="Slurm is unknown", span=None)
    accounts, until = below(raw["account"]), now + timedelta(hours=1)
    factor, cut_at = 1.0, span[0]
    if allocation.get("bill"):
        if answer is None or isinstance(answer, BudgetUnread):
            return Judgement(why="the bill is unread", span=None)
        if doubt := doubt_of(answer, accepted, now):
            return Judgement(why=doubt, span=span)
        if calendar(answer.unit.value, now) == span:
            billed, cut_at = _actual(answer, span)
            total = cost(rows, span[0], None, cut_at)
            factor = min(max(billed / total, 0.5), 1.0) if billed > 0 and total > 0 else 1.0
    spent = cost(rows, span[0], accounts, cut_at) * factor + cost(rows, cut_at, accounts, until)
    limit = float(allocation["limit"])
    return Judgement(percent=100 * spent / limit, span=span, limit=limit)


def doubt_of(answer: BudgetReading, accepted: set[str], now: datetime) -> str:
    """Why AWS's figures can't be used."""
    for money in (answer.limit, answer.actual):
        if money is not None and money.currency != "USD":
            return "currency"
    if not answer.is_healthy and "unhealthy" not in accepted:
        return "unhealthy"
    is_old = answer.updated_at is None or answer.updated_at < now - STALE
    return "stale" if answer.is_healthy and is_old and "stale" not in accepted else ""


def _of_aws(
    raw: Mapping[str, Any],
    answer: BudgetReading | BudgetUnread | None,
    rows: Iterable[ObservedUsage],
    *,
    is_fresh: bool,
    accepted: set[str],
    now: datetime,
) -> Judgement:
    if answer is None or isinstance(answer, BudgetUnread) or answer.limit is None:
        return Judgement(why="AWS is unread", span=None)
    span = calendar(answer.unit.value, now)
    if doubt := doubt_of(answer, accepted, now):
        return Judgement(why=doubt, span=span)
    settled, cut_at = _actual(answer, span)
    accounts = below(raw["account"]) if raw.get("account") else None
    in_flight = cost(rows, cut_at, accounts, now + timedelta(hours=1)) if is_fresh else 0.0
    limit = float(answer.limit.amount)
    return Judgement(
        percent=100 * (settled + in_flight) / limit, span=span, limit=limit, can_release=is_fresh
    )


def _actual(answer: BudgetReading, span: Span) -> tuple[float, datetime]:
    """ActualSpend of this period, and the hour up to which it is taken to be complete."""
    if answer.updated_at is None or answer.actual is None or answer.updated_at <= span[0]:
        return 0.0, span[0]
    cut_at = max(answer.updated_at - LAG, span[0]).replace(minute=0, second=0, microsecond=0)
    return float(answer.actual.amount), cut_at
