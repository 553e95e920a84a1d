"""What AWS Budgets says about one budget: an answer, or that there is none. An unread budget is never an empty one.

Source: DescribeBudget, DescribeNotificationsForBudget (budgets, 2016-10-20).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from proctor.domain.budgets_period import CALENDAR, Period, TimeUnit, period_at
from proctor.domain.money import Money


@dataclass(frozen=True, slots=True)
class AlertState:
    """A notification in state ALARM: its type and threshold, in percent of the limit where it is one."""

    is_actual: bool
    threshold: Decimal
    is_percent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetReading:
    """One budget as AWS shows it.

    `actual` and `forecast` may be absent (young budget). `planned` maps a period's start to its own limit. `updated_at` says
    how old the numbers are. `health` is HEALTHY or the StatusReason. `is_net`: credits or refunds are taken off `actual`.
    """

    name: str
    unit: TimeUnit
    is_cost: bool
    limit: Money | None
    actual: Money | None
    forecast: Money | None = None
    planned: Mapping[datetime, Money] = field(default_factory=dict)
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    updated_at: datetime | None = None
    health: str = "HEALTHY"
    is_net: bool = False
    alerts: tuple[AlertState, ...] = ()

    @property
    def is_healthy(self) -> bool:
        """Whether AWS itself stands by the numbers."""
        return self.health == "HEALTHY"

    def period(self, now: datetime) -> Period | None:
        """The period that holds `now`: calendar periods, or the one CUSTOM period."""
        return period_at(self.unit, now, anchor=CALENDAR, starts_at=self.starts_at, ends_at=self.ends_at)

    def limit_in(self, period: Period) -> Money | None:
        """The period's own limit where limits are planned, else the budget's."""
        return self.planned.get(period.start_at, self.limit)

    @property
    def alert_percent(self) -> Decimal:
        """The highest percentage of which an ACTUAL notification is in ALARM; 0 without any."""
        return max((a.threshold for a in self.alerts if a.is_actual and a.is_percent), default=Decimal(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetUnread:
    """A budget that could not be read, and why. `is_missing`: AWS says that there is none of this name."""

    name: str
    error: str
    is_missing: bool = False


type BudgetAnswer = BudgetReading | BudgetUnread
