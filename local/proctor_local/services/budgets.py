"""AWS Budgets with figures that move: spend, forecast, health and age by control calls, states and messages after them.

MiniStack has budgets, notifications and subscribers, and never any spend. Here a control call stands for AWS's
refresh of billing data, after which each notification is OK or ALARM. Only the entry into ALARM is published, by
Budgets itself: the topic's policy and its key must let budgets.amazonaws.com in. Nothing is published on recovery,
nor at a new period. Shapes: the Budgets API reference, 2016-10-20.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from proctor_local.clock import Clock
from proctor_local.emulator.authorisation import Authorisation
from proctor_local.emulator.budget_store import BudgetStore
from proctor_local.emulator.calls import FIRST_ERROR_STATUS, ApiCall, Check
from proctor_local.emulator.hooks import Hooks
from proctor_local.problems import Problems
from proctor_local.services import budgets_prose
from proctor_local.services.budgets_prose import Alert
from proctor_local.settings import Settings
from proctor_local.timers import Timers

_HUNDRED = Decimal(100)
_UNHEALTHY = frozenset(
    {
        "BILLING_VIEW_NO_ACCESS",
        "BILLING_VIEW_UNHEALTHY",
        "FILTER_INVALID",
        "MULTI_YEAR_HISTORICAL_DATA_DISABLED",
    }
)
_VIEW = ("DescribeBudget", "DescribeNotificationsForBudget", "DescribeSubscribersForNotification")
_MODIFY = (
    *(f"{verb}Budget" for verb in ("Create", "Update", "Delete")),
    *(f"{verb}Notification" for verb in ("Create", "Update", "Delete")),
    *(f"{verb}Subscriber" for verb in ("Create", "Update", "Delete")),
)


@dataclass(slots=True)
class Figures:
    """What AWS last worked out for one budget."""

    actual: Decimal = Decimal(0)
    forecast: Decimal | None = None
    health: str = "HEALTHY"
    updated_at: datetime | None = None


@dataclass(slots=True)
class Sent:
    """One message, or the attempt: `refusal` says why it was lost."""

    budget: str
    receiver: str
    subject: str
    message: str
    refusal: str = ""


@dataclass(slots=True)
class _Memory:
    figures: dict[tuple[str, str], Figures] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)


class Budgets:
    """Drives the figures, keeps the notifications' states, and publishes."""

    def __init__(
        self,
        hooks: Hooks,
        authorisation: Authorisation,
        settings: Settings,
        clock: Clock,
        timers: Timers,
        problems: Problems,
    ) -> None:
        self._stack, self._store = hooks.ministack, BudgetStore(hooks.ministack)
        self._settings, self._clock, self._timers, self._problems = settings, clock, timers, problems
        self._memory = _Memory()
        hooks.on_reset(self.reset)
        hooks.observe("budgets", "UpdateBudget", self._updated)
        for action in _VIEW:
            authorisation.replace_checks("budgets", action, _viewed)
        for action in _MODIFY:
            authorisation.replace_checks("budgets", action, _modified)
        authorisation.replace_checks("budgets", "DescribeBudgets", _all_viewed)

    def reset(self) -> None:
        """Forget figures and messages; MiniStack forgets the budgets."""
        self._memory = _Memory()

    # control calls

    def shown(self) -> list[dict[str, Any]]:
        """Every budget with its notifications' states and the messages so far."""
        with self._stack.scope():
            return [
                {
                    "budget": self._store.budget(name),
                    "notifications": [one for one, _ in self._store.notifications(name)],
                    "messages": [
                        {
                            "receiver": s.receiver,
                            "subject": s.subject,
                            "message": s.message,
                            "refusal": s.refusal,
                        }
                        for s in self._memory.sent
                        if s.budget == name
                    ],
                }
                for name in self._store.names()
            ]

    def refresh(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """New billing data of `name`: `actual`, `forecast` (null: too young), `health`, `updated_at`, as far as given.

        `messages` is how often a message comes for each notification that enters ALARM: 0 is a lost one. Raises
        LookupError, ValueError.
        """
        name, copies = str(members.get("name") or ""), int(members.get("messages", 1))
        with self._stack.scope():
            self._store.budget(name)
            figures = self._figures(name)
            _change(figures, members, self._clock.now())
            self._write(name, figures)
            for alert, topics in self._enter(name, figures):
                for topic in topics * copies:
                    self._publish_later(alert, topic)
            return {"budget": self._store.budget(name)}

    def begin_period(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """A new period of `name` began: nothing is spent, every notification is OK, nobody is told."""
        name = str(members.get("name") or "")
        with self._stack.scope():
            self._store.budget(name)
            figures = Figures(updated_at=self._clock.now())
            self._memory.figures[self._key(name)] = figures
            self._write(name, figures)
            for notification, _ in self._store.notifications(name):
                notification["NotificationState"] = "OK"
            return {"budget": self._store.budget(name)}

    # figures and states

    def _key(self, name: str) -> tuple[str, str]:
        return self._stack.current_account(), name

    def _figures(self, name: str) -> Figures:
        return self._memory.figures.setdefault(self._key(name), Figures())

    def _write(self, name: str, figures: Figures) -> None:
        budget = self._store.budget(name)
        currency = _limit(budget)[1]
        spend = {"ActualSpend": {"Amount": str(figures.actual), "Unit": currency}}
        if figures.forecast is not None:
            spend["ForecastedSpend"] = {"Amount": str(figures.forecast), "Unit": currency}
        budget["CalculatedSpend"] = spend
        if figures.updated_at is not None:
            budget["LastUpdatedTime"] = figures.updated_at.timestamp()
        is_healthy = figures.health == "HEALTHY"
        budget["HealthStatus"] = {"Status": "HEALTHY" if is_healthy else "UNHEALTHY"}
        if not is_healthy:
            budget["HealthStatus"]["StatusReason"] = figures.health

    def _enter(self, name: str, figures: Figures) -> list[tuple[Alert, list[str]]]:
        """Set every notification's state; those that enter ALARM now, with their receivers."""
        budget = self._store.budget(name)
        found = []
        for notification, subscribers in self._store.notifications(name):
            alert = self._alert(budget, notification, figures)
            was = notification.get("NotificationState", "OK")
            notification["NotificationState"] = "OK" if alert is None else "ALARM"
            if alert is not None and was == "OK":
                found.append((alert, [str(s["Address"]) for s in subscribers]))
        return found

    def _alert(
        self, budget: Mapping[str, Any], notification: Mapping[str, Any], figures: Figures
    ) -> Alert | None:
        """The alert when the notification's threshold is passed."""
        limit, currency = _limit(budget)
        kind, comparison = notification["NotificationType"], notification["ComparisonOperator"]
        amount = figures.actual if kind == "ACTUAL" else figures.forecast
        threshold = Decimal(str(notification["Threshold"]))
        if notification.get("ThresholdType", "PERCENTAGE") == "PERCENTAGE":
            threshold = threshold * limit / _HUNDRED
        if amount is None or not _is_passed(comparison, amount, threshold):
            return None
        return Alert(
            name=str(budget["BudgetName"]),
            account=self._stack.current_account(),
            time_unit=str(budget["TimeUnit"]),
            budget_type=str(budget["BudgetType"]),
            limit=limit,
            kind=kind,
            comparison=comparison,
            threshold=threshold,
            amount=amount,
            currency=currency,
            at=self._clock.now(),
        )

    def _updated(self, call: ApiCall, status: int, _answer: Mapping[str, Any]) -> None:
        """A changed budget keeps its figures; MiniStack sets them to nothing."""
        name = str((call.input.get("NewBudget") or {}).get("BudgetName") or "")
        if status < FIRST_ERROR_STATUS and self._key(name) in self._memory.figures:
            self._write(name, self._figures(name))

    # messages

    def _publish_later(self, alert: Alert, receiver: str) -> None:
        account, region = self._stack.current_account(), self._stack.current_region()

        def publish() -> None:
            with self._stack.scope(account, region):
                self._publish(alert, receiver)

        self._timers.after(self._settings.budget_message_delay_seconds, publish)

    def _publish(self, alert: Alert, receiver: str) -> None:
        subject, text = budgets_prose.subject(alert), budgets_prose.message(alert)
        refusal = ""
        if receiver.startswith("arn:"):
            source = f"arn:aws:budgets::{alert.account}:budget/{alert.name}"
            refusal = self._store.publish(receiver, source, subject, text)
        if refusal:
            self._problems.report("budget notification", receiver, refusal)
        self._memory.sent.append(Sent(alert.name, receiver, subject, text, refusal))


def _change(figures: Figures, members: Mapping[str, Any], now: datetime) -> None:
    """Take over what is given; nothing is changed when one of it is refused."""
    actual = _amount("actual", members["actual"]) if "actual" in members else figures.actual
    forecast = figures.forecast
    if "forecast" in members:
        forecast = None if members["forecast"] is None else _amount("forecast", members["forecast"])
    health = str(members.get("health", figures.health))
    if health != "HEALTHY" and health not in _UNHEALTHY:
        raise ValueError(f"health = {health!r}: give HEALTHY or one of {', '.join(sorted(_UNHEALTHY))}")
    updated_at = datetime.fromisoformat(str(members["updated_at"])) if "updated_at" in members else now
    if updated_at.tzinfo is None:
        raise ValueError(f"updated_at = {members['updated_at']}: give a time with its offset")
    figures.actual, figures.forecast, figures.health, figures.updated_at = (
        actual,
        forecast,
        health,
        updated_at,
    )


def _amount(name: str, value: object) -> Decimal:
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite():
        raise ValueError(f"{name} = {value!r}: give an amount such as 8125.50")
    return amount


def _limit(budget: Mapping[str, Any]) -> tuple[Decimal, str]:
    limit = budget.get("BudgetLimit") or {}
    return Decimal(str(limit.get("Amount", "0"))), str(limit.get("Unit", "USD"))


def _is_passed(comparison: str, amount: Decimal, threshold: Decimal) -> bool:
    if comparison == "GREATER_THAN":
        return amount > threshold
    return amount < threshold if comparison == "LESS_THAN" else amount == threshold


# IAM knows two actions for all of these; a budget's ARN has no Region.


def _viewed(call: ApiCall) -> list[Check]:
    return [Check((_arn(call),), action="budgets:ViewBudget")]


def _all_viewed(call: ApiCall) -> list[Check]:
    return [Check((_arn(call, "*"),), action="budgets:ViewBudget")]


def _modified(call: ApiCall) -> list[Check]:
    return [Check((_arn(call),), action="budgets:ModifyBudget")]


def _arn(call: ApiCall, name: str = "") -> str:
    for holder in ("Budget", "NewBudget"):
        name = name or str((call.input.get(holder) or {}).get("BudgetName") or "")
    name = name or str(call.input.get("BudgetName") or "*")
    return f"arn:aws:budgets::{call.input.get('AccountId') or call.account}:budget/{name}"
