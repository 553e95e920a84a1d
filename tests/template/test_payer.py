"""accounts/payer.yaml: the topic of budgets in another account."""

import re
from typing import Any

import pytest
import yaml

from tests.template.policies import ALLOWED, REFUSED, Request, ask
from tests.template.stack import ACCOUNT, REGION, ROOT, Loader, Stack, _Resolver, build

PROCTOR, STRANGER = "210987654321", "333333333333"
GIVEN = {"ProctorAccountId": PROCTOR, "ProctorRegion": "eu-central-1", "ProctorStackName": "proctor"}
TOPIC = f"arn:aws:sns:{REGION}:{ACCOUNT}:proctor-BudgetsTopic"
KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/proctor-BudgetsKey"
QUEUE = f"arn:aws:sqs:eu-central-1:{PROCTOR}:proctor-BudgetHoldsQueue-1A2B3C"
BUDGETS = "budgets.amazonaws.com"


def template() -> dict[str, Any]:
    # A subclass of the safe loader.
    return dict(yaml.load((ROOT / "accounts/payer.yaml").read_text(encoding="utf-8"), Loader))  # noqa: S506


@pytest.fixture(scope="module")
def payer() -> Stack:
    return _Resolver(template(), GIVEN).stack()


def asked(stack: Stack, policy: str, request: Request) -> str:
    context = {"aws:SecureTransport": "true", **request.context}
    return ask(
        stack.statements(policy),
        Request(
            action=request.action, resource=request.resource, principal=request.principal, context=context
        ),
    )


def test_budgets_of_the_payer_account_publish_under_its_own_key(payer: Stack) -> None:
    for account, expected in ((ACCOUNT, ALLOWED), (PROCTOR, REFUSED)):
        context = {"aws:SourceAccount": account, "aws:SourceArn": f"arn:aws:budgets::{account}:budget/all"}
        publish = Request(action="sns:Publish", resource=TOPIC, principal=BUDGETS, context=context)
        encrypt = Request(action="kms:GenerateDataKey", resource=KEY, principal=BUDGETS, context=context)
        assert asked(payer, "BudgetsTopicPolicy", publish) == expected
        assert asked(payer, "BudgetsKey", encrypt) == expected
    assert payer.properties("BudgetsTopic")["KmsMasterKeyId"] == payer.refs["BudgetsKey"]


@pytest.mark.parametrize(
    ("account", "protocol", "endpoint", "expected"),
    [
        (PROCTOR, "sqs", QUEUE, ALLOWED),
        (STRANGER, "sqs", QUEUE, REFUSED),
        (PROCTOR, "https", "https://hooks.example", REFUSED),
        (PROCTOR, "sqs", QUEUE.replace(PROCTOR, STRANGER), REFUSED),
        (PROCTOR, "sqs", QUEUE.replace("BudgetHoldsQueue", "AgentReportsQueue"), REFUSED),
    ],
)
def test_only_proctors_queue_may_be_subscribed(
    payer: Stack, account: str, protocol: str, endpoint: str, expected: str
) -> None:
    request = Request(
        action="sns:Subscribe",
        resource=TOPIC,
        principal=f"arn:aws:sts::{account}:assumed-role/deploy/x",
        context={"sns:Protocol": protocol, "sns:Endpoint": endpoint},
    )
    assert asked(payer, "BudgetsTopicPolicy", request) == expected


def test_nobody_else_publishes(payer: Stack) -> None:
    for account in (PROCTOR, STRANGER):
        who = f"arn:aws:sts::{account}:assumed-role/deploy/x"
        request = Request(action="sns:Publish", resource=TOPIC, principal=who)
        assert asked(payer, "BudgetsTopicPolicy", request) == REFUSED


def test_both_templates_fit_together(payer: Stack) -> None:
    stack = build(PayerBudgetsTopicArn=payer.outputs["TopicArn"])
    queue = stack.properties("PayerBudgetsSubscription")["Endpoint"]
    (subscribe,) = [s for s in payer.statements("BudgetsTopicPolicy") if s["Sid"] == "ProctorSubscribes"]
    pattern = subscribe["Condition"]["StringLike"]["sns:Endpoint"].rpartition(":")[2]
    assert re.fullmatch(pattern.replace("*", ".*"), queue.rpartition(":")[2])


@pytest.mark.parametrize(
    ("name", "accepted", "refused"),
    [
        ("ProctorAccountId", ["123456789012"], ["", "1234", "*", "12345678901a"]),
        (
            "ProctorRegion",
            ["us-east-1", "eu-central-1", "us-gov-west-1"],
            ["", "*", "us-east", "eu central 1"],
        ),
        ("ProctorStackName", ["proctor", "Proctor-2"], ["", "*", "-x", "a b"]),
    ],
)
def test_parameters(name: str, accepted: list[str], refused: list[str]) -> None:
    pattern = re.compile(template()["Parameters"][name]["AllowedPattern"].removesuffix("$") + r"\Z")
    assert all(map(pattern.match, accepted))
    assert not any(map(pattern.match, refused))
    assert len(template()["Parameters"][name]["Description"]) > 20
