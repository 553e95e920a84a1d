"""Budget periods, in UTC, as AWS Budgets has them: half-open, [start, end).

A recurring period is counted from an anchor, month by month, always from the anchor itself, so that an anchor on the 31st gives
30 April and 31 May, and one on 29 February gives 28 February in common years. The default anchor is a 1 January at
midnight, which makes calendar days, months, quarters and years: the periods of AWS Budgets (TimeUnit, CreateBudget).
"""

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from proctor.domain.errors import InvalidInputError

CALENDAR = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)


class TimeUnit(StrEnum):
    """TimeUnit of a budget. CUSTOM is one period that does not come again."""

    DAILY = "DAILY"
    MONTHLY = "MONTHLY"
    QUARTERLY = "QUARTERLY"
    ANNUALLY = "ANNUALLY"
    CUSTOM = "CUSTOM"


_MONTHS = {TimeUnit.MONTHLY: 1, TimeUnit.QUARTERLY: 3, TimeUnit.ANNUALLY: 12}


@dataclass(frozen=True, slots=True)
class Period:
    """One period of a budget: its start belongs to it, its end to the next."""

    start_at: datetime
    end_at: datetime

    @property
    def key(self) -> str:
        """The period's name in claims and memory."""
        return f"{self.start_at:%Y-%m-%dT%H:%MZ}"

    def __contains__(self, at: datetime) -> bool:
        return self.start_at <= at < self.end_at


def period_at(
    unit: TimeUnit,
    now: datetime,
    *,
    anchor: datetime = CALENDAR,
    starts_at: datetime | None = None,
    ends_at: datetime | None = None,
) -> Period | None:
    """The period that holds `now`; None before the budget's first day and after its last.

    CUSTOM needs both `starts_at` and `ends_at`. Raises InvalidInputError without them.
    """
    if (starts_at is not None and now < starts_at) or (ends_at is not None and now >= ends_at):
        return None
    if unit is TimeUnit.CUSTOM:
        if starts_at is None or ends_at is None:
            raise InvalidInputError("time_unit", unit.value, "a CUSTOM budget needs its start and its end")
        return Period(starts_at, ends_at)
    if unit is TimeUnit.DAILY:
        days = (now - anchor) // _DAY
        return Period(anchor + days * _DAY, anchor + (days + 1) * _DAY)
    step = _MONTHS[unit]
    count = ((now.year - anchor.year) * 12 + now.month - anchor.month) // step
    while add_months(anchor, count * step) > now:
        count -= 1
    while add_months(anchor, (count + 1) * step) <= now:
        count += 1
    return Period(add_months(anchor, count * step), add_months(anchor, (count + 1) * step))


def add_months(at: datetime, months: int) -> datetime:
    """The same day `months` later, or the last day of a shorter month."""
    year, month = divmod(at.year * 12 + at.month - 1 + months, 12)
    day = min(at.day, monthrange(year, month + 1)[1])
    return at.replace(year=year, month=month + 1, day=day)
