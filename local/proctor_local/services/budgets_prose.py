"""The text of AWS Budgets' notification, word for word as mails and topics get it. Pure text, no state.

Source: notifications published by their receivers, 2019 to 2026. A threshold in percent is printed as money. The
wording for quarters, years and custom periods, and of currencies other than the US dollar, is not documented.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal

_CONSOLE = "https://console.aws.amazon.com/costmanagement/home#/budgets"
_CURRENT = {"MONTHLY": "month", "QUARTERLY": "quarter", "ANNUALLY": "year", "CUSTOM": "period"}
_COMPARED = {
    "GREATER_THAN": ("greater than", ">"),
    "LESS_THAN": ("less than", "<"),
    "EQUAL_TO": ("equal to", "="),
}
_SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One notification that went into ALARM: `kind` ACTUAL or FORECASTED, `amount` and `threshold` as money."""

    name: str
    account: str
    time_unit: str
    budget_type: str
    limit: Decimal
    kind: str
    comparison: str
    threshold: Decimal
    amount: Decimal
    currency: str
    at: datetime


def subject(alert: Alert) -> str:
    """The topic message's Subject."""
    return f"AWS Budgets: {alert.name} has exceeded your alert threshold"


def message(alert: Alert) -> str:
    """The topic message's text."""
    what = f"{alert.kind} {alert.budget_type.capitalize()}"
    words, sign = _COMPARED[alert.comparison]
    threshold, amount = money(alert.threshold, alert.currency), money(alert.amount, alert.currency)
    if alert.time_unit == "DAILY":
        when, then = "per day", f"Yesterday, the {what}"
    else:
        when, then = f"for the current {_CURRENT[alert.time_unit]}", f"The {what}"
    asked = (
        f"You requested that we alert you when the {what} associated with your {alert.name} budget is {words} "
        f"{threshold} {when}. {then} associated with this budget is {amount}. You can find additional details "
        "below and by accessing the AWS Budgets dashboard [1]."
    )
    return "\n".join(
        [
            f"AWS Budget Notification {alert.at:%B} {alert.at.day}, {alert.at.year}",
            f"AWS Account {alert.account}",
            "",
            "Dear AWS Customer,",
            "",
            asked,
            "",
            f"Budget Name: {alert.name}",
            f"Budget Type: {alert.budget_type.capitalize()}",
            f"Budgeted Amount: {money(alert.limit, alert.currency)}",
            f"Alert Type: {alert.kind}",
            f"Alert Threshold: {sign} {threshold}",
            f"{alert.kind} Amount: {amount}",
            "",
            f"[1] {_CONSOLE}",
            "",
        ]
    )


def money(amount: Decimal, currency: str) -> str:
    """`$1,234.50`."""
    text = f"{amount.quantize(Decimal('0.01'), ROUND_HALF_UP):,}"
    return f"{_SYMBOLS.get(currency, currency + ' ')}{text}"
