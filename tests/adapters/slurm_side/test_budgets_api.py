"""AWS Budgets, against answers in the shapes of the service model (botocore's Stubber)."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from proctor.adapters.budgets_api import AwsBudgets
from proctor.domain.budgets_period import TimeUnit
from proctor.domain.budgets_reading import AlertState, BudgetReading, BudgetUnread
from proctor.domain.money import Money
from tests.fakes.budget_values import ACCOUNT_ID, usd

ANSWER: dict[str, Any] = {
    "BudgetName": "hyperpod-team-a",
    "BudgetLimit": {"Amount": "1000", "Unit": "USD"},
    "CostFilters": {"TagKeyValue": ["user:ClusterName$team-a"]},
    "CostTypes": {"IncludeCredit": False, "IncludeRefund": False},
    "TimeUnit": "MONTHLY",
    "TimePeriod": {"Start": datetime(2026, 9, 1, tzinfo=UTC), "End": datetime(2087, 6, 15, tzinfo=UTC)},
    "CalculatedSpend": {
        "ActualSpend": {"Amount": "812.55", "Unit": "USD"},
        "ForecastedSpend": {"Amount": "1190.20", "Unit": "USD"},
    },
    "BudgetType": "COST",
    "LastUpdatedTime": datetime(2026, 9, 20, 11, 0, tzinfo=UTC),
    "HealthStatus": {"Status": "HEALTHY"},
}
NAME = "hyperpod-team-a"
ASKED = {"AccountId": ACCOUNT_ID, "BudgetName": NAME}


class Api:
    def __init__(self) -> None:
        self.client = boto3.Session().client("budgets", region_name="us-east-1")
        self.stub = Stubber(self.client)
        self.clock = 0.0
        self.ledger = AwsBudgets(ACCOUNT_ID, lambda: self.client, lambda: self.clock)

    def answers(self, budget: dict[str, Any], *notifications: dict[str, Any]) -> None:
        self.stub.add_response("describe_budget", {"Budget": budget}, ASKED)
        self.stub.add_response(
            "describe_notifications_for_budget", {"Notifications": list(notifications)}, ASKED
        )


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api()
    with made.stub:
        yield made
        made.stub.assert_no_pending_responses()


def notification(kind: str, threshold: float, state: str = "ALARM", **fields: Any) -> dict[str, Any]:
    values = {
        "NotificationType": kind,
        "ComparisonOperator": "GREATER_THAN",
        "Threshold": threshold,
        "NotificationState": state,
    }
    return {**values, **fields}


def read(api: Api) -> BudgetReading:
    found = api.ledger.read([NAME])[NAME]
    assert isinstance(found, BudgetReading)
    return found


def test_a_budget_is_read_with_its_alerts(api: Api) -> None:
    api.answers(
        ANSWER,
        notification("ACTUAL", 80.0),
        notification("ACTUAL", 100.0, "OK"),
        notification("FORECASTED", 500.5, ThresholdType="ABSOLUTE_VALUE"),
        notification("ACTUAL", 1.0, ComparisonOperator="LESS_THAN"),
    )
    assert read(api) == BudgetReading(
        name=NAME,
        unit=TimeUnit.MONTHLY,
        is_cost=True,
        limit=usd(1000),
        actual=usd("812.55"),
        forecast=usd("1190.20"),
        starts_at=datetime(2026, 9, 1, tzinfo=UTC),
        ends_at=datetime(2087, 6, 15, tzinfo=UTC),
        updated_at=datetime(2026, 9, 20, 11, 0, tzinfo=UTC),
        alerts=(
            AlertState(is_actual=True, threshold=Decimal("80.0"), is_percent=True),
            AlertState(is_actual=False, threshold=Decimal("500.5"), is_percent=False),
        ),
    )


@pytest.mark.parametrize(
    ("fields", "name", "value"),
    [
        ({"CalculatedSpend": {"ActualSpend": {"Amount": "1", "Unit": "USD"}}}, "forecast", None),
        ({"BudgetLimit": {"Amount": "9.99", "Unit": "EUR"}}, "limit", Money(Decimal("9.99"), "EUR")),
        ({"BudgetType": "USAGE"}, "is_cost", False),
        ({"CostTypes": {"IncludeCredit": True, "IncludeRefund": False}}, "is_net", True),
        ({"CostTypes": {"UseBlended": False}}, "is_net", True),
        (
            {"HealthStatus": {"Status": "UNHEALTHY", "StatusReason": "FILTER_INVALID"}},
            "health",
            "FILTER_INVALID",
        ),
        ({"TimeUnit": "CUSTOM"}, "unit", TimeUnit.CUSTOM),
        (
            {"PlannedBudgetLimits": {"1788220800": {"Amount": "7", "Unit": "USD"}}},
            "planned",
            {datetime(2026, 9, 1, tzinfo=UTC): usd(7)},
        ),
    ],
)
def test_what_an_answer_may_hold(api: Api, fields: dict[str, Any], name: str, value: object) -> None:
    api.answers({**ANSWER, **fields})
    assert getattr(read(api), name) == value


def test_an_answer_without_spend_limit_or_health(api: Api) -> None:
    keys = ("BudgetName", "TimeUnit", "BudgetType")
    api.answers({key: ANSWER[key] for key in keys})
    found = read(api)
    assert (found.limit, found.actual, found.updated_at, found.health) == (None, None, None, "HEALTHY")


@pytest.mark.parametrize(
    ("code", "is_missing"),
    [
        ("NotFoundException", True),
        ("ThrottlingException", False),
        ("AccessDeniedException", False),
        ("BillingViewHealthStatusException", False),
        ("InternalErrorException", False),
    ],
)
def test_a_failure_is_this_budgets_answer_and_never_an_empty_budget(
    api: Api, code: str, is_missing: bool
) -> None:
    api.stub.add_client_error("describe_budget", code)
    found = api.ledger.read([NAME])[NAME]
    assert isinstance(found, BudgetUnread)
    assert (found.is_missing, code in found.error) == (is_missing, True)


def test_a_failure_of_the_second_call_is_one_too(api: Api) -> None:
    api.stub.add_response("describe_budget", {"Budget": ANSWER}, ASKED)
    api.stub.add_client_error("describe_notifications_for_budget", "ThrottlingException")
    assert isinstance(api.ledger.read([NAME])[NAME], BudgetUnread)


@pytest.mark.parametrize(
    "fields", [{"TimeUnit": "WEEKLY"}, {"BudgetLimit": {"Amount": "1,000.00", "Unit": "USD"}}]
)
def test_what_this_release_does_not_know_is_unread(api: Api, fields: dict[str, Any]) -> None:
    api.answers({**ANSWER, **fields})
    assert isinstance(api.ledger.read([NAME])[NAME], BudgetUnread)


def test_an_answer_is_kept_for_a_minute_and_a_failure_is_not(api: Api) -> None:
    api.stub.add_client_error("describe_budget", "ThrottlingException")
    api.answers(ANSWER)
    assert isinstance(api.ledger.read([NAME])[NAME], BudgetUnread)
    first = read(api)
    api.clock = 59.0
    assert read(api) is first
    api.clock = 60.0
    api.answers({**ANSWER, "BudgetLimit": {"Amount": "1", "Unit": "USD"}})
    assert read(api).limit == usd(1)
    api.answers({**ANSWER, "BudgetLimit": {"Amount": "2", "Unit": "USD"}})
    afresh = api.ledger.read([NAME], afresh=True)[NAME]
    assert isinstance(afresh, BudgetReading)
    assert afresh.limit == usd(2)
    assert read(api) is afresh
