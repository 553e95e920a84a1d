"""The prose of AWS Budgets' message, against a captured one."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from proctor_local.services.budgets_prose import Alert, message, money, subject

ALERT = Alert(
    name="test",
    account="123456789012",
    time_unit="MONTHLY",
    budget_type="COST",
    limit=Decimal("0.02"),
    kind="FORECASTED",
    comparison="GREATER_THAN",
    threshold=Decimal(0),
    amount=Decimal("0.95"),
    currency="USD",
    at=datetime(2026, 1, 28, 10, tzinfo=UTC),
)
CAPTURED = """\
AWS Budget Notification January 28, 2026
AWS Account 123456789012

Dear AWS Customer,

You requested that we alert you when the FORECASTED Cost associated with your test budget is greater than $0.00 for \
the current month. The FORECASTED Cost associated with this budget is $0.95. You can find additional details below \
and by accessing the AWS Budgets dashboard [1].

Budget Name: test
Budget Type: Cost
Budgeted Amount: $0.02
Alert Type: FORECASTED
Alert Threshold: > $0.00
FORECASTED Amount: $0.95

[1] https://console.aws.amazon.com/costmanagement/home#/budgets
"""


def test_the_text_is_the_captured_one_to_the_letter() -> None:
    assert message(ALERT) == CAPTURED
    assert subject(ALERT) == "AWS Budgets: test has exceeded your alert threshold"


def test_a_daily_budget_speaks_of_yesterday() -> None:
    daily = Alert(
        name="daily-cap",
        account="123456789012",
        time_unit="DAILY",
        budget_type="COST",
        limit=Decimal("0.50"),
        kind="ACTUAL",
        comparison="GREATER_THAN",
        threshold=Decimal("0.20"),
        amount=Decimal("0.45"),
        currency="USD",
        at=datetime(2026, 9, 15, tzinfo=UTC),
    )
    assert (
        "daily-cap budget is greater than $0.20 per day. Yesterday, the ACTUAL Cost associated with this budget is $0.45."
        in message(daily)
    )


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [("8125.5", "USD", "$8,125.50"), ("1234567.895", "USD", "$1,234,567.90"), ("5", "CHF", "CHF 5.00")],
)
def test_money_has_separators_and_two_places(amount: str, currency: str, text: str) -> None:
    assert money(Decimal(amount), currency) == text
