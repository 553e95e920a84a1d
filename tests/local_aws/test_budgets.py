"""AWS Budgets: figures, states, messages, and who may let them in."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from proctor_local.aws_client import AwsClient, AwsError
from proctor_local.control import LocalAwsClient, LocalAwsError, wait_until
from proctor_local.identities import Identities

pytestmark = pytest.mark.emulator

NAME = "hyperpod-alpha"


class Topic:
    """A topic that Budgets may publish to, or not, and the queue that hears it."""

    def __init__(self, local: LocalAwsClient, publisher: str = "budgets.amazonaws.com") -> None:
        self._root, place = local.aws(), f"{local.region}:{local.account}"
        self.arn, queue = f"arn:aws:sns:{place}:budgets", f"arn:aws:sqs:{place}:budgets"
        self._root.query("sns", "CreateTopic", Name="budgets")
        policy = allowing(publisher, "sns:Publish", self.arn)
        self._root.query(
            "sns", "SetTopicAttributes", TopicArn=self.arn, AttributeName="Policy", AttributeValue=policy
        )
        attributes = {"Policy": allowing("sns.amazonaws.com", "sqs:SendMessage", queue)}
        answer = self._root.call("sqs", "CreateQueue", QueueName="budgets", Attributes=attributes)
        self._url = str(answer["QueueUrl"])
        self._root.query("sns", "Subscribe", TopicArn=self.arn, Protocol="sqs", Endpoint=queue)
        self._heard: list[dict[str, Any]] = []

    def heard(self) -> list[dict[str, Any]]:
        answer = self._root.call("sqs", "ReceiveMessage", QueueUrl=self._url, MaxNumberOfMessages=10)
        self._heard += [json.loads(m["Body"]) for m in answer.get("Messages", [])]
        return self._heard

    def hears(self, count: int) -> list[dict[str, Any]]:
        return wait_until(
            lambda: self.heard() if len(self.heard()) >= count else [], 5, what=f"{count} messages"
        )


def allowing(service: str, action: str, resource: str) -> str:
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": action,
        "Resource": resource,
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


@pytest.fixture
def topic(local: LocalAwsClient) -> Topic:
    local.settings(budget_message_delay_seconds=0.0)
    return Topic(local)


@pytest.fixture
def root(local: LocalAwsClient) -> AwsClient:
    return local.aws()


def make(local: LocalAwsClient, topic_arn: str, **budget: Any) -> None:
    def notification(kind: str, threshold: float) -> dict[str, Any]:
        alert = {"NotificationType": kind, "ComparisonOperator": "GREATER_THAN", "Threshold": threshold}
        return {"Notification": alert, "Subscribers": [{"SubscriptionType": "SNS", "Address": topic_arn}]}

    local.aws().call(
        "budgets",
        "CreateBudget",
        AccountId=local.account,
        Budget={
            "BudgetName": NAME,
            "BudgetLimit": {"Amount": "10000", "Unit": "USD"},
            "TimeUnit": "MONTHLY",
            "BudgetType": "COST",
            **budget,
        },
        NotificationsWithSubscribers=[
            notification("ACTUAL", 80),
            notification("ACTUAL", 100),
            notification("FORECASTED", 100),
        ],
    )


def described(local: LocalAwsClient) -> dict[str, Any]:
    answer = local.aws().call("budgets", "DescribeBudget", AccountId=local.account, BudgetName=NAME)
    return dict(answer["Budget"])


def states(local: LocalAwsClient) -> dict[tuple[str, float], str]:
    answer = local.aws().call(
        "budgets", "DescribeNotificationsForBudget", AccountId=local.account, BudgetName=NAME
    )
    return {(n["NotificationType"], n["Threshold"]): n["NotificationState"] for n in answer["Notifications"]}


def test_a_new_budget_has_spent_nothing_and_has_no_forecast(local: LocalAwsClient, topic: Topic) -> None:
    make(local, topic.arn)
    assert described(local)["CalculatedSpend"] == {"ActualSpend": {"Amount": "0", "Unit": "USD"}}
    assert set(states(local).values()) == {"OK"}


def test_a_passed_threshold_is_an_alarm_and_one_message(local: LocalAwsClient, topic: Topic) -> None:
    make(local, topic.arn)
    local.refresh_budget(NAME, actual="8125.50", forecast="9000")
    assert states(local) == {("ACTUAL", 80): "ALARM", ("ACTUAL", 100): "OK", ("FORECASTED", 100): "OK"}
    (heard,) = topic.hears(1)
    assert heard["Subject"] == f"AWS Budgets: {NAME} has exceeded your alert threshold"
    assert "Alert Threshold: > $8,000.00\nACTUAL Amount: $8,125.50\n" in heard["Message"]
    spend = described(local)["CalculatedSpend"]
    assert (spend["ActualSpend"]["Amount"], spend["ForecastedSpend"]["Amount"]) == ("8125.50", "9000")


def test_the_same_alarm_is_told_once_and_each_other_threshold_too(
    local: LocalAwsClient, topic: Topic
) -> None:
    make(local, topic.arn)
    for actual in ("8125.50", "8200", "10001"):
        local.refresh_budget(NAME, actual=actual)
    assert ["> $8,000.00" in m["Message"] for m in topic.hears(2)] == [True, False]
    local.refresh_budget(NAME, forecast="12000")
    assert "Alert Type: FORECASTED" in topic.hears(3)[-1]["Message"]


def test_recovery_and_a_new_period_are_silent(local: LocalAwsClient, topic: Topic) -> None:
    make(local, topic.arn)
    local.refresh_budget(NAME, actual="10001")
    topic.hears(2)
    local.refresh_budget(NAME, actual="7000")
    assert set(states(local).values()) == {"OK"}
    local.refresh_budget(NAME, actual="8125.50")
    local.begin_budget_period(NAME)
    assert set(states(local).values()) == {"OK"}
    assert described(local)["CalculatedSpend"]["ActualSpend"]["Amount"] == "0"
    assert len(topic.hears(3)) == 3


def test_exactly_the_threshold_is_not_greater(local: LocalAwsClient, topic: Topic) -> None:
    make(local, topic.arn)
    local.refresh_budget(NAME, actual="8000")
    assert set(states(local).values()) == {"OK"}


def test_messages_get_lost_and_come_twice_as_told(local: LocalAwsClient, topic: Topic) -> None:
    make(local, topic.arn)
    local.refresh_budget(NAME, actual="8125.50", messages=0)
    assert states(local)["ACTUAL", 80] == "ALARM"
    local.refresh_budget(NAME, actual="10001", messages=2)
    assert ["> $10,000.00" in m["Message"] for m in topic.hears(2)] == [True, True]


def test_health_and_age_are_shown(local: LocalAwsClient, topic: Topic) -> None:
    make(local, topic.arn)
    old = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=40)
    local.refresh_budget(NAME, actual="5", health="BILLING_VIEW_UNHEALTHY", updated_at=old.isoformat())
    budget = described(local)
    assert budget["HealthStatus"] == {"Status": "UNHEALTHY", "StatusReason": "BILLING_VIEW_UNHEALTHY"}
    assert budget["LastUpdatedTime"] == old.timestamp()


def test_a_changed_limit_keeps_the_spend(local: LocalAwsClient, topic: Topic) -> None:
    make(local, topic.arn)
    local.refresh_budget(NAME, actual="8125.50")
    budget = {
        "BudgetName": NAME,
        "BudgetLimit": {"Amount": "20000", "Unit": "USD"},
        "TimeUnit": "MONTHLY",
        "BudgetType": "COST",
    }
    local.aws().call("budgets", "UpdateBudget", AccountId=local.account, NewBudget=budget)
    assert described(local)["CalculatedSpend"]["ActualSpend"]["Amount"] == "8125.50"
    local.refresh_budget(NAME)
    assert states(local)["ACTUAL", 80] == "OK"


def test_a_topic_that_does_not_let_budgets_in_loses_the_message(local: LocalAwsClient) -> None:
    local.settings(budget_message_delay_seconds=0.0)
    closed = Topic(local, publisher="cloudwatch.amazonaws.com")
    make(local, closed.arn)
    local.refresh_budget(NAME, actual="8125.50")
    problems = wait_until(local.problems, 5, what="a problem")
    assert [(p["where"], p["resource"]) for p in problems] == [("budget notification", closed.arn)]
    assert closed.heard() == []
    (shown,) = local.budgets()
    assert "doesn't let budgets.amazonaws.com" in shown["messages"][0]["refusal"]


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"actual": "much"}, "actual"),
        ({"health": "GOOD"}, "health"),
        ({"updated_at": "2026-09-01"}, "updated_at"),
    ],
)
def test_odd_figures_are_refused_and_change_nothing(
    local: LocalAwsClient, topic: Topic, figures: dict[str, str], words: str
) -> None:
    make(local, topic.arn)
    local.refresh_budget(NAME, actual="5")
    before = described(local)
    with pytest.raises(LocalAwsError, match=words):
        local.refresh_budget(NAME, **figures)
    assert described(local) == before


def test_an_unknown_budget_is_named(local: LocalAwsClient) -> None:
    with pytest.raises(LocalAwsError, match="nobodys"):
        local.refresh_budget("nobodys", actual="5")


def test_reading_is_view_budget_on_the_budgets_arn(local: LocalAwsClient, topic: Topic) -> None:
    make(local, topic.arn)
    identities = Identities(local)
    for resource, is_allowed in ((NAME, True), ("another", False)):
        arn = f"arn:aws:budgets::{local.account}:budget/{resource}"
        statement = {"Effect": "Allow", "Action": "budgets:ViewBudget", "Resource": arn}
        role = identities.role(f"reads-{resource}", {"Version": "2012-10-17", "Statement": [statement]})
        reader = identities.person("reader", role).client
        for action in ("DescribeBudget", "DescribeNotificationsForBudget"):
            assert may(reader, action, local.account) is is_allowed, (resource, action)
        assert not may(reader, "DeleteBudget", local.account)
        assert not may(reader, "DescribeBudget", "999999999999")
    assert {d["action"] for d in local.denials()} == {"budgets:ViewBudget", "budgets:ModifyBudget"}


def may(client: AwsClient, action: str, account: str) -> bool:
    try:
        client.call("budgets", action, AccountId=account, BudgetName=NAME)
    except AwsError as error:
        if error.code != "AccessDeniedException":
            raise
        return False
    return True
