"""EventBridge: patterns, transformed input, scheduled rules, and queues that don't let it in."""

import json
from typing import Any

import pytest

from proctor_local.control import LocalAwsClient, wait_until
from tests.local_aws.watching import Watch

pytestmark = pytest.mark.emulator


@pytest.mark.parametrize(
    ("pattern", "details", "matched"),
    [
        ({"a": [{"prefix": "in-"}]}, [{"a": "in-1"}, {"a": "out"}, {}, {"a": None}], [{"a": "in-1"}]),
        ({"a": [{"exists": False}]}, [{"a": 1}, {"b": 1}, {"a": None}], [{"b": 1}]),
        (
            {"a": {"b": [{"exists": False}]}},
            [{"a": None}, {"a": {"b": 1}}, {"a": {"c": 1}}],
            [{"a": None}, {"a": {"c": 1}}],
        ),
        ({"a": [{"anything-but": ["x"]}]}, [{"a": "x"}, {"a": "y"}, {}], [{"a": "y"}]),
        ({"a": [None]}, [{"a": None}, {"a": "null"}, {}], [{"a": None}]),
    ],
)
def test_patterns(
    local: LocalAwsClient, pattern: dict[str, Any], details: list[Any], matched: list[Any]
) -> None:
    watch = Watch(local, {"source": ["proctor.test"], "detail": pattern})
    for detail in details:
        local.emit("proctor.test", "t", detail)
    assert [event["detail"] for event in watch.wait_for(len(matched))] == matched


def transformed(local: LocalAwsClient, template: str) -> str:
    watch = Watch(
        local,
        {"source": ["proctor.test"]},
        target={
            "InputTransformer": {
                "InputPathsMap": {"who": "$.detail.who", "gone": "$.detail.gone.deep"},
                "InputTemplate": template,
            }
        },
    )
    local.emit("proctor.test", "t", {"who": "anna"})
    (body,) = wait_until(watch.bodies, what="the message")
    return body


def test_a_missing_path_becomes_an_empty_text(local: LocalAwsClient) -> None:
    assert json.loads(transformed(local, '{"who":"<who>","gone":"<gone>"}')) == {"who": "anna", "gone": ""}


def test_a_missing_path_may_leave_nothing_so_quote_it(local: LocalAwsClient) -> None:
    local.settings(missing_variable="absent")
    text = transformed(local, '{"who":"<who>","quoted":"<gone>","bare":<gone>}')
    assert text == '{"who":"anna","quoted":"","bare":}'


def test_a_scheduled_rule_fires_by_its_rate_and_by_hand(local: LocalAwsClient) -> None:
    watch = Watch(local, {"source": ["nothing"]})
    aws = local.aws()
    aws.call("events", "PutRule", Name="sweep", ScheduleExpression="rate(1 minute)")
    aws.call(
        "events",
        "PutTargets",
        Rule="sweep",
        Targets=[{"Id": "q", "Arn": watch.arn, "Input": '{"sweep":true}'}],
    )
    local.fire("sweep")
    assert watch.wait_for(1) == [{"sweep": True}]


def test_a_queue_without_a_policy_gets_nothing_and_the_dead_letter_queue_gets_it(
    local: LocalAwsClient,
) -> None:
    dead = Watch(local, {"source": ["nothing"]}, "dead")
    watch = Watch(
        local, {"source": ["proctor.test"]}, policy=False, target={"DeadLetterConfig": {"Arn": dead.arn}}
    )
    local.emit("proctor.test", "t", {"n": 1})
    (event,) = dead.wait_for(1)
    assert event["detail"] == {"n": 1}
    assert watch.bodies() == []
    (problem,) = local.problems()
    assert problem["resource"] == watch.arn
    assert "sqs:SendMessage" in problem["reason"]


@pytest.mark.parametrize(
    ("service", "arrives"), [("events.amazonaws.com", True), ("s3.amazonaws.com", False)]
)
def test_an_encrypted_queue_needs_the_key_to_name_eventbridge(
    local: LocalAwsClient, service: str, arrives: bool
) -> None:
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"AWS": f"arn:aws:iam::{local.account}:root"},
                "Action": "kms:*",
                "Resource": "*",
            },
            {
                "Effect": "Allow",
                "Principal": {"Service": service},
                "Action": ["kms:GenerateDataKey", "kms:Decrypt"],
                "Resource": "*",
            },
        ],
    }
    key = local.aws().call("kms", "CreateKey", Policy=json.dumps(policy))["KeyMetadata"]["Arn"]
    watch = Watch(local, {"source": ["proctor.test"]}, key=key)
    local.emit("proctor.test", "t", {"n": 1})
    if arrives:
        watch.wait_for(1)
        assert local.problems() == []
    else:
        assert wait_until(local.problems, what="the refusal")[0]["reason"].endswith("do kms:GenerateDataKey")
        assert watch.bodies() == []


def test_events_of_aws_services_can_only_come_from_them(local: LocalAwsClient) -> None:
    watch = Watch(local, {"source": [{"prefix": "aws."}]})
    entry = {"Source": "aws.ssm", "DetailType": "t", "Detail": "{}"}
    answer = local.aws().call("events", "PutEvents", Entries=[entry])
    assert answer["Entries"][0]["ErrorCode"] == "NotAuthorizedForSourceException"
    local.emit("aws.ssm", "t", {})
    watch.wait_for(1)
