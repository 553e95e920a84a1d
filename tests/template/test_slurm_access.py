"""Who may do what on the Slurm side, by pairs: nodes' roles, queues, the budgets' topic, and the functions' roles."""

from functools import cache

import pytest

from tests.template.policies import ALLOWED, REFUSED, Request, ask
from tests.template.reach import arn, table
from tests.template.stack import ACCOUNT, REGION, Stack, build

OTHER = "210987654321"
CONTROLLER, NODE = (f"arn:aws:iam::{ACCOUNT}:role/hyperpod-{name}" for name in ("controller", "nodes"))
PAYER_TOPIC = f"arn:aws:sns:us-west-2:{OTHER}:budgets"
CONTROLLER_REPORTS, NODE_REPORTS = (
    arn("sqs", "proctor-ControllerReportsQueue"),
    arn("sqs", "proctor-NodeReportsQueue"),
)
WAKES = arn("sqs", "proctor-ControllerWakeQueue")
HOLDS, HOLDS_LETTERS = (
    arn("sqs", "proctor-BudgetHoldsQueue"),
    arn("sqs", "proctor-BudgetHoldsDeadLetterQueue"),
)
KEY_ARN = arn("kms", "key/proctor-ProctorKey")
TOPIC = arn("sns", "proctor-BudgetsTopic")
INTENTS, OBSERVED, AGENTS = table("IntentsTable"), table("ObservedTable"), table("AgentsTable")


@cache
def stack_of(controller: str = CONTROLLER, node: str = NODE, payer: str = "", more: str = "") -> Stack:
    return build(
        ControllerRoleArn=controller, NodeRoleArn=node, PayerBudgetsTopicArn=payer, MoreClusterNames=more
    )


def asked(stack: Stack, policy: str, action: str, resource: str, principal: str = "", **context: str) -> str:
    given = {"aws:SecureTransport": "true"} | {
        name.replace("__", ":"): value for name, value in context.items()
    }
    request = Request(action=action, resource=resource, principal=principal, context=given)
    return ask(stack.statements(policy), request)


def as_role(stack: Stack, queue: str, role: str, action: str = "sqs:SendMessage", **context: str) -> str:
    given = {"aws__PrincipalArn": role, **context}
    return asked(stack, f"{queue}Policy", action, arn("sqs", f"proctor-{queue}"), role, **given)


# Queues of the agents


@pytest.mark.parametrize(
    ("queue", "action", "allowed", "refused"),
    [
        ("ControllerReportsQueue", "sqs:SendMessage", CONTROLLER, NODE),
        ("NodeReportsQueue", "sqs:SendMessage", NODE, CONTROLLER),
        ("ControllerWakeQueue", "sqs:ReceiveMessage", CONTROLLER, NODE),
        ("ControllerWakeQueue", "sqs:DeleteMessage", CONTROLLER, NODE),
    ],
)
def test_a_queue_takes_its_role_and_turns_the_other_away(
    queue: str, action: str, allowed: str, refused: str
) -> None:
    assert as_role(stack_of(), queue, allowed, action) == ALLOWED
    assert as_role(stack_of(), queue, refused, action) == REFUSED
    assert as_role(stack_of(), queue, f"arn:aws:iam::{ACCOUNT}:role/another", action) == REFUSED
    assert as_role(stack_of(), queue, allowed, action, aws__SecureTransport="false") == REFUSED
    assert as_role(stack_of(), queue, allowed, "sqs:PurgeQueue") == REFUSED


@pytest.mark.parametrize("queue", ["ControllerReportsQueue", "ControllerWakeQueue"])
def test_the_nodes_role_is_denied_whatever_its_own_policies_allow(queue: str) -> None:
    generous = [{"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}]
    for role, expected in ((NODE, REFUSED), (CONTROLLER, ALLOWED)):
        both = [s for s in stack_of().statements(f"{queue}Policy") if s["Effect"] == "Deny"] + generous
        context = {"aws:PrincipalArn": role, "aws:SecureTransport": "true"}
        request = Request(
            action="sqs:SendMessage", resource=arn("sqs", f"proctor-{queue}"), principal=role, context=context
        )
        assert ask(both, request) == expected


def test_no_agent_may_anything_until_its_role_is_given() -> None:
    stack = stack_of(controller="", node="")
    for queue in ("ControllerReportsQueue", "NodeReportsQueue", "ControllerWakeQueue"):
        assert [s["Sid"] for s in stack.statements(f"{queue}Policy")] == ["DenyPlainText"]


def test_one_role_for_all_nodes_is_not_locked_out() -> None:
    stack = stack_of(controller=NODE, node=NODE)
    assert as_role(stack, "ControllerReportsQueue", NODE) == ALLOWED
    assert as_role(stack, "NodeReportsQueue", NODE) == ALLOWED


def test_wake_ups_are_not_kept() -> None:
    assert stack_of().properties("ControllerWakeQueue")["MessageRetentionPeriod"] == 300


# What the nodes' roles are given

VIA = {name: {"kms__ViaService": f"{name}.{REGION}.amazonaws.com"} for name in ("dynamodb", "sqs", "s3")}


def keys(value: str) -> dict[str, str]:
    return {"dynamodb__LeadingKeys": value}


GIVEN_TO_NODES: list[tuple[str, str, str, dict[str, str], str]] = [
    ("Controller", "dynamodb:Query", INTENTS, keys("alpha#controller"), ALLOWED),
    ("Controller", "dynamodb:Query", INTENTS, keys("alpha#nodes#ip-10-1-0-7"), REFUSED),
    ("Controller", "dynamodb:Query", INTENTS, keys("beta#controller"), REFUSED),
    ("Controller", "dynamodb:Query", INTENTS, keys("alpha#controller,alpha#nodes#ip-10-1-0-7"), REFUSED),
    ("Controller", "dynamodb:Query", INTENTS, {}, REFUSED),
    ("Controller", "dynamodb:Query", OBSERVED, keys("alpha#controller"), REFUSED),
    ("Controller", "dynamodb:Query", AGENTS, keys("alpha#controller"), REFUSED),
    ("Controller", "dynamodb:GetItem", INTENTS, keys("alpha#controller"), REFUSED),
    ("Controller", "dynamodb:PutItem", INTENTS, keys("alpha#controller"), REFUSED),
    ("Controller", "dynamodb:Scan", INTENTS, {}, REFUSED),
    ("Controller", "sqs:SendMessage", CONTROLLER_REPORTS, {}, ALLOWED),
    ("Controller", "sqs:SendMessage", NODE_REPORTS, {}, REFUSED),
    ("Controller", "sqs:ReceiveMessage", CONTROLLER_REPORTS, {}, REFUSED),
    ("Controller", "sqs:ReceiveMessage", WAKES, {}, ALLOWED),
    ("Controller", "sqs:DeleteMessage", WAKES, {}, ALLOWED),
    ("Controller", "sqs:SendMessage", WAKES, {}, REFUSED),
    ("Controller", "kms:Decrypt", KEY_ARN, VIA["dynamodb"], ALLOWED),
    ("Controller", "kms:GenerateDataKey", KEY_ARN, VIA["sqs"], ALLOWED),
    ("Controller", "kms:Decrypt", KEY_ARN, VIA["s3"], REFUSED),
    ("Controller", "kms:Decrypt", KEY_ARN, {}, REFUSED),
    ("Node", "dynamodb:Query", INTENTS, keys("alpha#nodes#ip-10-1-0-7"), ALLOWED),
    ("Node", "dynamodb:Query", INTENTS, keys("alpha#controller"), REFUSED),
    ("Node", "dynamodb:Query", INTENTS, keys("beta#nodes#ip-10-1-0-7"), REFUSED),
    ("Node", "dynamodb:Query", INTENTS, keys("alpha#nodes#ip-10-1-0-7,alpha#controller"), REFUSED),
    ("Node", "dynamodb:Query", INTENTS, {}, REFUSED),
    ("Node", "dynamodb:PutItem", INTENTS, keys("alpha#nodes#ip-10-1-0-7"), REFUSED),
    ("Node", "dynamodb:Query", AGENTS, keys("alpha#nodes#ip-10-1-0-7"), REFUSED),
    ("Node", "sqs:SendMessage", NODE_REPORTS, {}, ALLOWED),
    ("Node", "sqs:SendMessage", CONTROLLER_REPORTS, {}, REFUSED),
    ("Node", "sqs:ReceiveMessage", NODE_REPORTS, {}, REFUSED),
    ("Node", "sqs:ReceiveMessage", WAKES, {}, REFUSED),
    ("Node", "kms:Decrypt", KEY_ARN, VIA["dynamodb"], ALLOWED),
    ("Node", "kms:Decrypt", KEY_ARN, VIA["s3"], REFUSED),
]


@pytest.mark.parametrize(("who", "action", "resource", "context", "expected"), GIVEN_TO_NODES)
def test_a_nodes_role_may(
    who: str, action: str, resource: str, context: dict[str, str], expected: str
) -> None:
    assert asked(stack_of(), f"{who}AgentPolicy", action, resource, **context) == expected


def test_of_several_clusters_each_role_reads_its_own_kind_of_intents() -> None:
    stack = stack_of(more="beta")
    for who, own, foreign in (
        ("Controller", "beta#controller", "beta#nodes#ip-10-1-0-7"),
        ("Node", "beta#nodes#ip-10-1-0-7", "beta#controller"),
    ):
        policy = f"{who}AgentPolicy"
        assert asked(stack, policy, "dynamodb:Query", INTENTS, **keys(own)) == ALLOWED
        assert asked(stack, policy, "dynamodb:Query", INTENTS, **keys(foreign)) == REFUSED


# The budgets' topic, and the payer account's


def test_budgets_of_this_account_may_publish() -> None:
    def by(account: str, source: str, principal: str = "budgets.amazonaws.com", **more: str) -> str:
        context = {"aws__SourceAccount": account, "aws__SourceArn": source, **more}
        return asked(stack_of(), "BudgetsTopicPolicy", "sns:Publish", TOPIC, principal, **context)

    ours = f"arn:aws:budgets::{ACCOUNT}:budget/hyperpod-alpha"
    assert by(ACCOUNT, ours) == ALLOWED
    assert by(OTHER, ours) == REFUSED
    assert by(ACCOUNT, f"arn:aws:budgets::{OTHER}:budget/x") == REFUSED
    assert by(ACCOUNT, ours, principal="s3.amazonaws.com") == REFUSED
    assert by(ACCOUNT, ours, aws__SecureTransport="false") == REFUSED


@pytest.mark.parametrize(
    ("policy", "queue"),
    [("BudgetHoldsQueuePolicy", HOLDS), ("BudgetHoldsDeadLetterQueuePolicy", HOLDS_LETTERS)],
)
def test_only_our_topics_may_send_to_the_queue(policy: str, queue: str) -> None:
    def by(stack: Stack, topic: str) -> str:
        return asked(stack, policy, "sqs:SendMessage", queue, "sns.amazonaws.com", aws__SourceArn=topic)

    assert by(stack_of(), TOPIC) == ALLOWED
    assert by(stack_of(), PAYER_TOPIC) == REFUSED
    assert by(stack_of(payer=PAYER_TOPIC), PAYER_TOPIC) == ALLOWED
    assert by(stack_of(payer=PAYER_TOPIC), arn("sns", "proctor-OperatorsTopic")) == REFUSED


def test_messages_arrive_in_their_envelope() -> None:
    stack = stack_of(payer=PAYER_TOPIC)
    ours, payers = stack.properties("BudgetsSubscription"), stack.properties("PayerBudgetsSubscription")
    for subscription, topic in ((ours, TOPIC), (payers, PAYER_TOPIC)):
        assert (subscription["Protocol"], subscription["Endpoint"], subscription["TopicArn"]) == (
            "sqs",
            HOLDS,
            topic,
        )
        assert subscription["RawMessageDelivery"] is False
    assert payers["Region"] == "us-west-2"
    assert "PayerBudgetsSubscription" not in stack_of().resources


def test_the_payers_topic_uses_the_key_and_no_other_topic_of_that_account() -> None:
    def by(stack: Stack, topic: str, principal: str = "sns.amazonaws.com") -> str:
        context = {"aws__SourceArn": topic, "aws__SourceAccount": OTHER}
        return asked(stack, "ProctorKey", "kms:GenerateDataKey", KEY_ARN, principal, **context)

    assert by(stack_of(), PAYER_TOPIC) == REFUSED
    assert by(stack_of(payer=PAYER_TOPIC), PAYER_TOPIC) == ALLOWED
    assert by(stack_of(payer=PAYER_TOPIC), f"arn:aws:sns:us-west-2:{OTHER}:other") == REFUSED
    assert by(stack_of(payer=PAYER_TOPIC), PAYER_TOPIC, "budgets.amazonaws.com") == REFUSED
