"""Conditions, by pairs: a request that must pass, and the nearest one that must not."""

from typing import Any

import pytest

from tests.template.policies import ALLOWED, REFUSED, Request, ask
from tests.template.stack import ACCOUNT, REGION, Stack, build

OTHER = "210987654321"
ROLE, KEY = "SessionLimitsRole", "ProctorKey"
QUEUE_POLICY, LETTERS_POLICY = "SessionLimitsQueuePolicy", "SessionLimitsDeadLetterQueuePolicy"
TOPIC_POLICY = "OperatorsTopicPolicy"
EVENTS, CLOUDWATCH = "events.amazonaws.com", "cloudwatch.amazonaws.com"
ROOT = f"arn:aws:iam::{ACCOUNT}:root"
RULES = [
    "SessionLimitsStartRule",
    "SessionLimitsResumeRule",
    "SessionLimitsPolicyRule",
    "SessionLimitsSweepRule",
]
SERVICES = [EVENTS, CLOUDWATCH, "sns.amazonaws.com", "sqs.amazonaws.com", "budgets.amazonaws.com"]
SESSION = "session/ada@uni.example-t59j8gpq2ta8hniozstbnphqs8"


def arn(service: str, rest: str, account: str = ACCOUNT, region: str = REGION) -> str:
    return f"arn:aws:{service}:{region}:{account}:{rest}"


KEY_ARN, TOPIC = arn("kms", "key/proctor-ProctorKey"), arn("sns", "proctor-OperatorsTopic")
QUEUE, LETTERS = arn("sqs", "proctor-SessionLimitsQueue"), arn("sqs", "proctor-SessionLimitsDeadLetterQueue")


def asked(stack: Stack, policy: str, action: str, resource: str, principal: str = "", **context: str) -> str:
    given = {"aws:SecureTransport": "true"} | {
        name.replace("__", ":"): value for name, value in context.items()
    }
    request = Request(action=action, resource=resource, principal=principal, context=given)
    return ask(stack.statements(policy), request)


# --- the key ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("action", ["kms:Decrypt", "kms:GenerateDataKey"])
def test_a_service_uses_the_key_for_this_account_only(stack: Stack, service: str, action: str) -> None:
    assert asked(stack, KEY, action, KEY_ARN, service, aws__SourceAccount=ACCOUNT) == ALLOWED
    assert asked(stack, KEY, action, KEY_ARN, service, aws__SourceAccount=OTHER) == REFUSED
    assert asked(stack, KEY, action, KEY_ARN, service) == REFUSED
    assert asked(stack, KEY, "kms:CreateGrant", KEY_ARN, service, aws__SourceAccount=ACCOUNT) == REFUSED


def test_another_service_can_not_use_the_key(stack: Stack) -> None:
    assert (
        asked(stack, KEY, "kms:Decrypt", KEY_ARN, "s3.amazonaws.com", aws__SourceAccount=ACCOUNT) == REFUSED
    )


@pytest.mark.parametrize(
    ("service", "group", "expected"),
    [
        (f"logs.{REGION}.amazonaws.com", arn("logs", "log-group:/aws/lambda/x"), ALLOWED),
        (f"logs.{REGION}.amazonaws.com", arn("logs", "log-group:/aws/lambda/x", account=OTHER), REFUSED),
        (f"logs.{REGION}.amazonaws.com", arn("logs", "log-group:/aws/lambda/x", region="eu-west-1"), REFUSED),
        (f"logs.{REGION}.amazonaws.com", arn("logs", "destination:x"), REFUSED),
        ("logs.eu-west-1.amazonaws.com", arn("logs", "log-group:/aws/lambda/x"), REFUSED),
    ],
)
def test_logs_of_this_account_and_region_use_the_key(
    stack: Stack, service: str, group: str, expected: str
) -> None:
    context = {"kms__EncryptionContext__aws__logs__arn": group}
    assert asked(stack, KEY, "kms:Encrypt", KEY_ARN, service, **context) == expected


def test_the_account_administers_the_key_and_no_other(stack: Stack) -> None:
    assert asked(stack, KEY, "kms:PutKeyPolicy", KEY_ARN, ROOT) == ALLOWED
    assert asked(stack, KEY, "kms:PutKeyPolicy", KEY_ARN, f"arn:aws:iam::{OTHER}:root") == REFUSED


# --- queues and topic ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "queue"), [(QUEUE_POLICY, QUEUE), (LETTERS_POLICY, LETTERS)])
@pytest.mark.parametrize("rule", RULES)
def test_each_rule_of_ours_may_send(stack: Stack, policy: str, queue: str, rule: str) -> None:
    ours = stack.arns[rule]
    assert asked(stack, policy, "sqs:SendMessage", queue, EVENTS, aws__SourceArn=ours) == ALLOWED
    assert asked(stack, policy, "sqs:ReceiveMessage", queue, EVENTS, aws__SourceArn=ours) == REFUSED
    assert asked(stack, policy, "sqs:SendMessage", queue, "sns.amazonaws.com", aws__SourceArn=ours) == REFUSED
    plain = {"aws__SourceArn": ours, "aws__SecureTransport": "false"}
    assert asked(stack, policy, "sqs:SendMessage", queue, EVENTS, **plain) == REFUSED


@pytest.mark.parametrize(("policy", "queue"), [(QUEUE_POLICY, QUEUE), (LETTERS_POLICY, LETTERS)])
@pytest.mark.parametrize(
    "rule",
    [
        arn("events", "rule/proctor-SessionLimitsStartRule2"),
        arn("events", "rule/proctor-SessionLimitsStartRule", account=OTHER),
        arn("events", "rule/proctor-SessionLimitsStartRule", region="eu-west-1"),
    ],
)
def test_no_other_rule_may_send(stack: Stack, policy: str, queue: str, rule: str) -> None:
    assert asked(stack, policy, "sqs:SendMessage", queue, EVENTS, aws__SourceArn=rule) == REFUSED
    assert asked(stack, policy, "sqs:SendMessage", queue, EVENTS) == REFUSED


def test_alarms_of_this_account_may_publish(stack: Stack) -> None:
    def by(alarm: str, account: str, **more: str) -> str:
        context = {"aws__SourceArn": alarm, "aws__SourceAccount": account, **more}
        return asked(stack, TOPIC_POLICY, "sns:Publish", TOPIC, CLOUDWATCH, **context)

    ours = stack.arns["SessionLimitsErrorsAlarm"]
    assert by(ours, ACCOUNT) == ALLOWED
    assert by(ours, OTHER) == REFUSED
    assert by(arn("cloudwatch", "alarm:x", account=OTHER), ACCOUNT) == REFUSED
    assert by(arn("cloudwatch", "dashboard/x"), ACCOUNT) == REFUSED
    assert by(ours, ACCOUNT, aws__SecureTransport="false") == REFUSED


def test_principals_of_this_account_may_publish_and_nothing_else(stack: Stack) -> None:
    def by(action: str, account: str, **more: str) -> str:
        who = f"arn:aws:sts::{account}:assumed-role/r/s"
        return asked(stack, TOPIC_POLICY, action, TOPIC, who, **more)

    assert by("sns:Publish", ACCOUNT) == ALLOWED
    assert by("sns:Publish", OTHER) == REFUSED
    assert by("sns:Subscribe", ACCOUNT) == REFUSED
    assert by("sns:Publish", ACCOUNT, aws__SecureTransport="false") == REFUSED


# --- the function's role -----------------------------------------------------------------------------------------------

FROM = {"ses__FromAddress": "proctor@uni.example"}
VIA = {
    name: {"kms__ViaService": f"{name}.{REGION}.amazonaws.com"} for name in ("dynamodb", "sqs", "sns", "s3")
}
OURS = {"events__source": "proctor.session_limits"}
STREAM = "log-group:/aws/lambda/proctor-{}:log-stream:2026/09/01/[$LATEST]0123"

PAIRS: list[tuple[str, str, dict[str, str], str]] = [
    ("ssm:TerminateSession", arn("ssm", SESSION), {}, ALLOWED),
    ("ssm:TerminateSession", arn("ssm", SESSION, account=OTHER), {}, REFUSED),
    ("ssm:TerminateSession", arn("ssm", SESSION, region="eu-west-1"), {}, REFUSED),
    ("ssm:StartSession", arn("ssm", SESSION), {}, REFUSED),
    ("ssm:ResumeSession", arn("ssm", SESSION), {}, REFUSED),
    ("ses:SendEmail", arn("ses", "identity/uni.example"), FROM, ALLOWED),
    (
        "ses:SendEmail",
        arn("ses", "identity/uni.example"),
        {"ses__FromAddress": "rector@uni.example"},
        REFUSED,
    ),
    ("ses:SendEmail", arn("ses", "identity/uni.example"), {}, REFUSED),
    ("ses:SendEmail", arn("ses", "identity/uni.example", account=OTHER), FROM, REFUSED),
    ("ses:SendRawEmail", arn("ses", "identity/uni.example"), FROM, REFUSED),
    ("ses:PutSuppressedDestination", "*", {}, REFUSED),
    ("sns:Publish", TOPIC, {}, ALLOWED),
    ("sns:Publish", arn("sns", "another"), {}, REFUSED),
    ("ssm:LabelParameterVersion", arn("ssm", "parameter/proctor/beta/session_limits"), {}, ALLOWED),
    ("ssm:LabelParameterVersion", arn("ssm", "parameter/proctor/beta/pause"), {}, REFUSED),
    ("ssm:LabelParameterVersion", arn("ssm", "parameter/proctor/beta/session_limits_old"), {}, REFUSED),
    ("ssm:PutParameter", arn("ssm", "parameter/proctor/beta/session_limits"), {}, REFUSED),
    ("ssm:GetParameters", arn("ssm", "parameter/proctor/beta/session_limits:in-force"), {}, ALLOWED),
    ("ssm:GetParameters", arn("ssm", "parameter/proctor/beta/pause"), {}, ALLOWED),
    ("ssm:GetParameters", arn("ssm", "parameter/proctor/beta/idle_sessions"), {}, REFUSED),
    ("ssm:GetParameters", arn("ssm", "parameter/other/beta/session_limits"), {}, REFUSED),
    ("sagemaker:DescribeCluster", arn("sagemaker", "cluster/abcdef012345"), {}, ALLOWED),
    ("sagemaker:DescribeCluster", arn("sagemaker", "cluster/abcdef012345", account=OTHER), {}, REFUSED),
    ("sagemaker:BatchDeleteClusterNodes", arn("sagemaker", "cluster/abcdef012345"), {}, REFUSED),
    ("dynamodb:BatchGetItem", arn("dynamodb", "table/proctor-PeopleTable"), {}, ALLOWED),
    ("dynamodb:PutItem", arn("dynamodb", "table/proctor-PeopleTable"), {}, REFUSED),
    ("dynamodb:PutItem", arn("dynamodb", "table/proctor-ClaimsTable"), {}, ALLOWED),
    ("dynamodb:DeleteItem", arn("dynamodb", "table/proctor-ClaimsTable"), {}, REFUSED),
    ("dynamodb:DeleteItem", arn("dynamodb", "table/proctor-VerdictsTable"), {}, REFUSED),
    ("dynamodb:Scan", arn("dynamodb", "table/proctor-VerdictsTable"), {}, REFUSED),
    ("dynamodb:PutItem", arn("dynamodb", "table/another"), {}, REFUSED),
    ("events:PutEvents", arn("events", "event-bus/default"), OURS, ALLOWED),
    (
        "events:PutEvents",
        arn("events", "event-bus/default"),
        {"events__source": "proctor.budget_holds"},
        REFUSED,
    ),
    ("events:PutEvents", arn("events", "event-bus/another"), OURS, REFUSED),
    ("sqs:ReceiveMessage", QUEUE, {}, ALLOWED),
    ("sqs:ReceiveMessage", LETTERS, {}, REFUSED),
    ("sqs:SendMessage", LETTERS, {}, ALLOWED),
    ("sqs:SendMessage", QUEUE, {}, REFUSED),
    ("kms:Decrypt", KEY_ARN, VIA["dynamodb"], ALLOWED),
    ("kms:Decrypt", KEY_ARN, VIA["sqs"], ALLOWED),
    ("kms:GenerateDataKey", KEY_ARN, VIA["sns"], ALLOWED),
    ("kms:Decrypt", KEY_ARN, VIA["s3"], REFUSED),
    ("kms:Decrypt", KEY_ARN, {}, REFUSED),
    ("kms:Decrypt", arn("kms", "key/another"), VIA["dynamodb"], REFUSED),
    ("kms:Encrypt", KEY_ARN, VIA["dynamodb"], ALLOWED),
    ("kms:Encrypt", KEY_ARN, VIA["sqs"], REFUSED),
    ("kms:ScheduleKeyDeletion", KEY_ARN, VIA["dynamodb"], REFUSED),
    ("logs:PutLogEvents", arn("logs", STREAM.format("session_limits")), {}, ALLOWED),
    ("logs:PutLogEvents", arn("logs", STREAM.format("budget_holds")), {}, REFUSED),
    ("logs:DeleteLogGroup", arn("logs", "log-group:/aws/lambda/proctor-session_limits:*"), {}, REFUSED),
]


@pytest.mark.parametrize(("action", "resource", "context", "expected"), PAIRS)
def test_the_role_may(
    stack: Stack, action: str, resource: str, context: dict[str, str], expected: str
) -> None:
    assert asked(stack, ROLE, action, resource, **context) == expected


def test_every_condition_of_the_role_has_its_pair(stack: Stack) -> None:
    """Without its condition a statement would allow a request that these pairs refuse."""
    for statement in stack.statements(ROLE):
        if "Condition" not in statement:
            continue
        bare: dict[str, Any] = {name: value for name, value in statement.items() if name != "Condition"}
        refused = [
            Request(action=action, resource=resource)
            for action, resource, _, expected in PAIRS
            if expected == REFUSED
        ]
        assert any(ask([bare], request) == ALLOWED for request in refused), statement["Sid"]


def test_without_a_sender_no_mail_may_be_sent_at_all() -> None:
    silent = build(Sender="")
    for address in ("", "proctor@uni.example", "x@no-sender"):
        asked_from = {"ses__FromAddress": address}
        assert (
            asked(silent, ROLE, "ses:SendEmail", arn("ses", "identity/uni.example"), **asked_from) == REFUSED
        )


def test_only_lambda_takes_the_role(stack: Stack) -> None:
    (trust,) = stack.properties(ROLE)["AssumeRolePolicyDocument"]["Statement"]
    assert trust == {
        "Effect": "Allow",
        "Principal": {"Service": "lambda.amazonaws.com"},
        "Action": "sts:AssumeRole",
    }
