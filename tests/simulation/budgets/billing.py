"""AWS Budgets: figures that come late, noisy and corrected, forecasts, odd days, throttles; and its messages in prose.

What it shows of a period is made of Slurm's usage, with something on top that no job pays for.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from botocore.exceptions import ClientError

from tests.simulation.budgets.scenario import HOUR, Scenario
from tests.simulation.core.dynamo import Call

ACCOUNT_ID = "123456789012"
_OVERHEAD = Decimal("1.02")


@dataclass
class Bill:
    """One AWS budget as it is shown now. `gross` is what it would show on a good day."""

    name: str
    unit: str
    limit: Decimal
    actual: Decimal = Decimal(0)
    forecast: Decimal = Decimal(0)
    updated_at: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    told: set[str] = field(default_factory=set)
    period: str = ""


@dataclass
class Billing:
    """All AWS budgets. `cost(since, until)` is what Slurm's usage comes to, `publish` sends a message."""

    scenario: Scenario
    chance: random.Random
    now_seconds: Callable[[], float]
    cost: Callable[[datetime, datetime], Decimal]
    publish: Callable[[Mapping[str, Any]], None]
    bills: dict[str, Bill] = field(default_factory=dict)
    served: dict[str, list[tuple[str, Decimal, bool]]] = field(default_factory=dict)

    def odd(self) -> str | None:
        """What is wrong with the figures now."""
        now = self.now_seconds()
        return next((kind for kind, start, end in self.scenario.odd_bills if start <= now < end), None)

    def update(self, bill: Bill) -> None:
        """AWS counts again: at most three times a day, as of some hours ago."""
        now = self.scenario.start_at + timedelta(seconds=self.now_seconds())
        start = now.replace(hour=0, minute=0, second=0, microsecond=0)
        start = start if bill.unit == "DAILY" else start.replace(day=1)
        noise = Decimal(str(round(1 + self.chance.uniform(-1, 1) * self.scenario.noise, 4)))
        if bill.period != str(start):
            bill.period, bill.told = str(start), set()
        lag = timedelta(hours=self.chance.uniform(0, 6))
        bill.actual = round(self.cost(start, max(now - lag, start)) * _OVERHEAD * noise, 2)
        bill.updated_at = now
        bill.forecast = round(bill.actual * Decimal("1.6"), 2)
        for kind, amount in (("FORECASTED", bill.forecast), ("ACTUAL", bill.actual)):
            if amount >= bill.limit and kind not in bill.told:
                bill.told.add(kind)
                self.publish(_message(bill, kind, amount, now))

    def client(self, call: Call) -> "_Client":
        """A client whose calls go through `call`."""
        return _Client(self, call)

    def describe(self, name: str) -> dict[str, Any]:
        """DescribeBudget's answer."""
        bill, odd = self.bills[name], self.odd()
        if odd == "missing":
            raise ClientError({"Error": {"Code": "NotFoundException", "Message": name}}, "DescribeBudget")
        factor = {"jump": Decimal(1000), "shrink": Decimal("0.3")}.get(odd or "", Decimal(1))
        actual = bill.actual * factor
        unit = "EUR" if odd == "currency" else "USD"
        self.served.setdefault(name, []).append((unit, actual, odd is not None))
        updated_at = bill.updated_at - timedelta(hours=60 if odd == "stale" else 0)
        health = "UNHEALTHY" if odd == "unhealthy" else "HEALTHY"
        return {
            "BudgetName": name,
            "BudgetType": "COST",
            "TimeUnit": bill.unit,
            "BudgetLimit": {"Amount": str(bill.limit), "Unit": unit},
            "CalculatedSpend": {
                "ActualSpend": {"Amount": str(actual), "Unit": unit},
                "ForecastedSpend": {"Amount": str(bill.forecast), "Unit": unit},
            },
            "CostTypes": {"IncludeCredit": False, "IncludeRefund": False, "UseBlended": False},
            "TimePeriod": {
                "Start": datetime(2026, 1, 1, tzinfo=UTC),
                "End": datetime(2087, 6, 15, tzinfo=UTC),
            },
            "LastUpdatedTime": updated_at,
            "HealthStatus": {"Status": health, "StatusReason": "BILLING_VIEW_NO_ACCESS"},
        }

    def alerts(self, name: str) -> list[dict[str, Any]]:
        """DescribeNotificationsForBudget's answer."""
        told = self.bills[name].told
        return [
            {
                "NotificationType": kind,
                "ComparisonOperator": "GREATER_THAN",
                "Threshold": 100.0,
                "ThresholdType": "PERCENTAGE",
                "NotificationState": state,
            }
            for kind in ("ACTUAL", "FORECASTED")
            for state in ["ALARM" if kind in told else "OK"]
        ]


class _Client:
    def __init__(self, billing: Billing, call: Call) -> None:
        self._billing = billing
        self._call = call

    def describe_budget(self, *, AccountId: str, BudgetName: str) -> dict[str, Any]:  # noqa: N803
        assert AccountId == ACCOUNT_ID
        return {"Budget": self._call("budgets:DescribeBudget", lambda: self._billing.describe(BudgetName))}

    def get_paginator(self, operation: str) -> "_Client":
        assert operation == "describe_notifications_for_budget"
        return self

    def paginate(self, *, AccountId: str, BudgetName: str) -> Iterator[dict[str, Any]]:  # noqa: N803
        assert AccountId == ACCOUNT_ID
        found = self._call("budgets:DescribeNotificationsForBudget", lambda: self._billing.alerts(BudgetName))
        yield {"Notifications": found}


def _message(bill: Bill, kind: str, amount: Decimal, now: datetime) -> dict[str, Any]:
    """Prose, with the amounts as AWS writes them; only name and account may be believed."""
    text = (
        f"AWS Budget Notification {now:%B %d, %Y}\nAWS Account {ACCOUNT_ID}\n\nDear AWS Customer,\n\nYou requested that we "
        f"alert you when the {kind} Cost associated with your {bill.name} budget is greater than ${bill.limit:,.2f} for the "
        f"current month.\n\nBudget Name: {bill.name}\nBudget Type: Cost\nBudgeted Amount: ${bill.limit:,.2f}\nAlert Type: "
        f"{kind}\nAlert Threshold: > ${bill.limit:,.2f}\n{kind} Amount: ${amount:,.2f}\n"
    )
    return {
        "Type": "Notification",
        "MessageId": "3c5a0e5e-9a6f-5e1d-8c1b-50d5f1c6a001",
        "TopicArn": f"arn:aws:sns:us-east-1:{ACCOUNT_ID}:proctor-BudgetsTopic-A1B2C3D4E5F6",
        "Subject": f"AWS Budgets: {bill.name} has exceeded your alert threshold",
        "Message": text,
        "Timestamp": f"{now:%Y-%m-%dT%H:%M:%S}.401Z",
        "SignatureVersion": "1",
        "Signature": "EXAMPLE",
        "SigningCertURL": "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0.pem",
        "UnsubscribeURL": "https://sns.us-east-1.amazonaws.com/?Action=Unsubscribe",
    }


UPDATE_EVERY_SECONDS = 1.5 * HOUR
