"""AWS Budgets: DescribeBudget and DescribeNotificationsForBudget. The endpoint is global (us-east-1).

An answer is kept for 60 s, so that changes of Slurm cost no call each. A message of Budgets is read afresh: it says that the
figures have just changed.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from proctor.adapters.aws_errors import translated
from proctor.domain.budgets_period import TimeUnit
from proctor.domain.budgets_reading import AlertState, BudgetAnswer, BudgetReading, BudgetUnread
from proctor.domain.errors import InvalidInputError, NotFoundError, ProctorError
from proctor.domain.money import Money

if TYPE_CHECKING:
    from mypy_boto3_budgets import BudgetsClient
    from mypy_boto3_budgets.type_defs import BudgetOutputTypeDef, SpendTypeDef

_KEPT_SECONDS = 60.0


class AwsBudgets:
    """Implements the BudgetLedger port for the budgets of one account."""

    def __init__(
        self,
        account_id: str,
        client: Callable[[], "BudgetsClient"],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the account whose budgets these are."""
        self._account_id = account_id
        self._client = client
        self._monotonic = monotonic
        self._kept: dict[str, tuple[float, BudgetReading]] = {}

    def read(self, names: Iterable[str], *, afresh: bool = False) -> Mapping[str, BudgetAnswer]:
        """Every named budget; a failure is that budget's answer and is not kept."""
        found: dict[str, BudgetAnswer] = {}
        for name in sorted(set(names)):
            kept = self._kept.get(name)
            if kept is not None and not afresh and self._monotonic() - kept[0] < _KEPT_SECONDS:
                found[name] = kept[1]
                continue
            answer = self._read(name)
            if isinstance(answer, BudgetReading):
                self._kept[name] = (self._monotonic(), answer)
            found[name] = answer
        return found

    def _read(self, name: str) -> BudgetAnswer:
        try:
            with translated("budgets:DescribeBudget"):
                answer = self._client().describe_budget(AccountId=self._account_id, BudgetName=name)
            return reading(answer["Budget"], self._alerts(name))
        except NotFoundError as error:
            return BudgetUnread(name=name, error=str(error), is_missing=True)
        except ProctorError as error:
            return BudgetUnread(name=name, error=f"{type(error).__name__}: {error}")

    def _alerts(self, name: str) -> tuple[AlertState, ...]:
        found: list[AlertState] = []
        with translated("budgets:DescribeNotificationsForBudget"):
            pages = (
                self._client()
                .get_paginator("describe_notifications_for_budget")
                .paginate(AccountId=self._account_id, BudgetName=name)
            )
            for page in pages:
                found += [
                    AlertState(
                        is_actual=one["NotificationType"] == "ACTUAL",
                        threshold=Decimal(str(one["Threshold"])),
                        is_percent=one.get("ThresholdType", "PERCENTAGE") == "PERCENTAGE",
                    )
                    for one in page.get("Notifications", [])
                    if one.get("NotificationState") == "ALARM" and one["ComparisonOperator"] == "GREATER_THAN"
                ]
        return tuple(found)


def reading(budget: "BudgetOutputTypeDef", alerts: tuple[AlertState, ...] = ()) -> BudgetReading:
    """DescribeBudget's answer as a value. Raises InvalidInputError for a time unit or an amount that is none."""
    spend = budget.get("CalculatedSpend")
    period = budget.get("TimePeriod") or {}
    health = budget.get("HealthStatus") or {}
    types = budget.get("CostTypes") or {}
    # Budgets count credits and refunds in unless told otherwise; newer ones say it by Metrics and FilterExpression.
    is_net = bool(types) and (types.get("IncludeCredit", True) or types.get("IncludeRefund", True))
    status = health.get("Status", "HEALTHY")
    return BudgetReading(
        name=budget["BudgetName"],
        unit=_unit(budget["TimeUnit"]),
        is_cost=budget["BudgetType"] == "COST",
        limit=_money(budget.get("BudgetLimit")),
        actual=_money(spend.get("ActualSpend")) if spend else None,
        forecast=_money(spend.get("ForecastedSpend")) if spend else None,
        planned={
            datetime.fromtimestamp(int(start), tz=UTC): Money.parse(one["Amount"], one["Unit"])
            for start, one in budget.get("PlannedBudgetLimits", {}).items()
        },
        starts_at=_utc(period.get("Start")),
        ends_at=_utc(period.get("End")),
        updated_at=_utc(budget.get("LastUpdatedTime")),
        health="HEALTHY" if status == "HEALTHY" else str(health.get("StatusReason", status)),
        is_net=is_net,
        alerts=alerts,
    )


def _unit(text: str) -> TimeUnit:
    try:
        return TimeUnit(text)
    except ValueError:
        raise InvalidInputError("TimeUnit", text, "this release knows DAILY to ANNUALLY and CUSTOM") from None


def _money(spend: "SpendTypeDef | None") -> Money | None:
    return Money.parse(spend["Amount"], spend["Unit"]) if spend else None


def _utc(at: datetime | None) -> datetime | None:
    if at is None:
        return None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
