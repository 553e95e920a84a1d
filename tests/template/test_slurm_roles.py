"""What the functions of the Slurm side may do, by pairs, and that no condition goes without its pair."""

import pytest

from tests.template.policies import ALLOWED, REFUSED, Request, ask
from tests.template.reach import arn, parameter, table
from tests.template.stack import ACCOUNT
from tests.template.test_slurm_access import (
    AGENTS,
    CONTROLLER_REPORTS,
    GIVEN_TO_NODES,
    HOLDS,
    INTENTS,
    KEY_ARN,
    NODE_REPORTS,
    OBSERVED,
    OTHER,
    VIA,
    WAKES,
    asked,
    stack_of,
)

AGENT_REPORTS, BUDGET_HOLDS = "AgentReportsRole", "BudgetHoldsRole"
FROM = {"ses__FromAddress": "proctor@uni.example"}

PAIRS: list[tuple[str, str, str, dict[str, str], str]] = [
    (AGENT_REPORTS, "dynamodb:PutItem", OBSERVED, {}, ALLOWED),
    (AGENT_REPORTS, "dynamodb:PutItem", INTENTS, {}, REFUSED),
    (AGENT_REPORTS, "dynamodb:Query", INTENTS, {}, REFUSED),
    (AGENT_REPORTS, "dynamodb:DeleteItem", AGENTS, {}, REFUSED),
    (AGENT_REPORTS, "dynamodb:DeleteItem", OBSERVED, {}, ALLOWED),
    (AGENT_REPORTS, "dynamodb:PutItem", table("PeopleTable"), {}, REFUSED),
    (AGENT_REPORTS, "sagemaker:ListClusterNodes", arn("sagemaker", "cluster/abcdef012345"), {}, ALLOWED),
    (
        AGENT_REPORTS,
        "sagemaker:BatchDeleteClusterNodes",
        arn("sagemaker", "cluster/abcdef012345"),
        {},
        REFUSED,
    ),
    (AGENT_REPORTS, "sqs:ReceiveMessage", CONTROLLER_REPORTS, {}, ALLOWED),
    (AGENT_REPORTS, "sqs:ReceiveMessage", NODE_REPORTS, {}, ALLOWED),
    (AGENT_REPORTS, "sqs:SendMessage", NODE_REPORTS, {}, REFUSED),
    (AGENT_REPORTS, "sqs:SendMessage", WAKES, {}, REFUSED),
    (AGENT_REPORTS, "sqs:ReceiveMessage", HOLDS, {}, REFUSED),
    (
        AGENT_REPORTS,
        "events:PutEvents",
        arn("events", "event-bus/default"),
        {"events__source": "proctor.observed"},
        ALLOWED,
    ),
    (
        AGENT_REPORTS,
        "events:PutEvents",
        arn("events", "event-bus/default"),
        {"events__source": "proctor.agent_reports"},
        ALLOWED,
    ),
    (
        AGENT_REPORTS,
        "events:PutEvents",
        arn("events", "event-bus/default"),
        {"events__source": "proctor.budget_holds"},
        REFUSED,
    ),
    (AGENT_REPORTS, "ssm:LabelParameterVersion", parameter("agent_reports"), {}, ALLOWED),
    (AGENT_REPORTS, "ssm:LabelParameterVersion", parameter("budget_holds"), {}, REFUSED),
    (AGENT_REPORTS, "kms:Decrypt", KEY_ARN, VIA["dynamodb"], ALLOWED),
    (AGENT_REPORTS, "kms:Decrypt", KEY_ARN, {}, REFUSED),
    (AGENT_REPORTS, "kms:Encrypt", KEY_ARN, VIA["sqs"], REFUSED),
    (BUDGET_HOLDS, "dynamodb:PutItem", INTENTS, {}, ALLOWED),
    (BUDGET_HOLDS, "dynamodb:DeleteItem", INTENTS, {}, REFUSED),
    (BUDGET_HOLDS, "dynamodb:Query", OBSERVED, {}, ALLOWED),
    (BUDGET_HOLDS, "dynamodb:PutItem", OBSERVED, {}, REFUSED),
    (BUDGET_HOLDS, "dynamodb:GetItem", AGENTS, {}, REFUSED),
    (BUDGET_HOLDS, "dynamodb:Query", AGENTS, {}, REFUSED),
    (BUDGET_HOLDS, "budgets:ViewBudget", f"arn:aws:budgets::{ACCOUNT}:budget/x", {}, ALLOWED),
    (BUDGET_HOLDS, "budgets:ViewBudget", f"arn:aws:budgets::{OTHER}:budget/x", {}, REFUSED),
    (BUDGET_HOLDS, "budgets:ModifyBudget", f"arn:aws:budgets::{ACCOUNT}:budget/x", {}, REFUSED),
    (BUDGET_HOLDS, "sqs:SendMessage", WAKES, {}, ALLOWED),
    (BUDGET_HOLDS, "sqs:ReceiveMessage", WAKES, {}, REFUSED),
    (BUDGET_HOLDS, "sqs:SendMessage", CONTROLLER_REPORTS, {}, REFUSED),
    (BUDGET_HOLDS, "ssm:LabelParameterVersion", parameter("budget_holds/physics"), {}, ALLOWED),
    (BUDGET_HOLDS, "ssm:LabelParameterVersion", parameter("agent_reports"), {}, REFUSED),
    (BUDGET_HOLDS, "ssm:GetParametersByPath", parameter("budget_holds"), {}, ALLOWED),
    (BUDGET_HOLDS, "ssm:GetParametersByPath", arn("ssm", "parameter/proctor"), {}, REFUSED),
    (BUDGET_HOLDS, "ses:SendEmail", arn("ses", "identity/uni.example"), FROM, ALLOWED),
    (
        BUDGET_HOLDS,
        "ses:SendEmail",
        arn("ses", "identity/uni.example"),
        {"ses__FromAddress": "rector@uni.example"},
        REFUSED,
    ),
    (
        BUDGET_HOLDS,
        "events:PutEvents",
        arn("events", "event-bus/default"),
        {"events__source": "proctor.observed"},
        REFUSED,
    ),
    (BUDGET_HOLDS, "kms:Decrypt", KEY_ARN, VIA["sqs"], ALLOWED),
    (BUDGET_HOLDS, "kms:Decrypt", KEY_ARN, VIA["s3"], REFUSED),
    (BUDGET_HOLDS, "kms:Encrypt", KEY_ARN, VIA["sqs"], REFUSED),
]


@pytest.mark.parametrize(("role", "action", "resource", "context", "expected"), PAIRS)
def test_the_role_may(role: str, action: str, resource: str, context: dict[str, str], expected: str) -> None:
    assert asked(stack_of(), role, action, resource, **context) == expected


@pytest.mark.parametrize(
    ("policy", "pairs"),
    [
        (AGENT_REPORTS, [(a, r, e) for role, a, r, _, e in PAIRS if role == AGENT_REPORTS]),
        (BUDGET_HOLDS, [(a, r, e) for role, a, r, _, e in PAIRS if role == BUDGET_HOLDS]),
        ("ControllerAgentPolicy", [(a, r, e) for who, a, r, _, e in GIVEN_TO_NODES if who == "Controller"]),
        ("NodeAgentPolicy", [(a, r, e) for who, a, r, _, e in GIVEN_TO_NODES if who == "Node"]),
    ],
)
def test_every_condition_has_its_pair(policy: str, pairs: list[tuple[str, str, str]]) -> None:
    """Without its condition a statement would allow a request that these pairs refuse."""
    for statement in stack_of().statements(policy):
        if "Condition" in statement:
            bare = {name: value for name, value in statement.items() if name != "Condition"}
            refused = [Request(action=a, resource=r) for a, r, expected in pairs if expected == REFUSED]
            assert any(ask([bare], request) == ALLOWED for request in refused), statement["Sid"]
