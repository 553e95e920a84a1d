"""Alarms fire by themselves, on queue depths and on what functions print, if the topic lets CloudWatch in."""

import json
from typing import Any

import pytest

from proctor_local.control import LocalAwsClient, wait_until

pytestmark = pytest.mark.emulator

ALARM = {
    "Statistic": "Maximum",
    "Period": 60,
    "EvaluationPeriods": 1,
    "Threshold": 0,
    "ComparisonOperator": "GreaterThanThreshold",
}


def topic_with_queue(local: LocalAwsClient, publisher: str) -> tuple[str, str]:
    """A topic that a service may publish to, and the URL of a queue that gets what is published."""
    root = local.aws()
    topic = f"arn:aws:sns:{local.region}:{local.account}:alerts"
    queue = f"arn:aws:sqs:{local.region}:{local.account}:alerts"
    root.query("sns", "CreateTopic", Name="alerts")
    policies: dict[str, Any] = {}
    for resource, service, action in (
        (topic, publisher, "sns:Publish"),
        (queue, "sns.amazonaws.com", "sqs:SendMessage"),
    ):
        policies[resource] = json.dumps(
            {
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Principal": {"Service": service},
                        "Action": action,
                        "Resource": resource,
                    }
                ],
            }
        )
    root.query(
        "sns", "SetTopicAttributes", TopicArn=topic, AttributeName="Policy", AttributeValue=policies[topic]
    )
    url = str(
        root.call("sqs", "CreateQueue", QueueName="alerts", Attributes={"Policy": policies[queue]})[
            "QueueUrl"
        ]
    )
    root.query("sns", "Subscribe", TopicArn=topic, Protocol="sqs", Endpoint=queue)
    return topic, url


def alarm_on_depth(local: LocalAwsClient, topic: str) -> None:
    root = local.aws()
    url = root.call("sqs", "CreateQueue", QueueName="dead")["QueueUrl"]
    root.query(
        "monitoring",
        "PutMetricAlarm",
        AlarmName="dead",
        Namespace="AWS/SQS",
        MetricName="ApproximateNumberOfMessagesVisible",
        Dimensions=[{"Name": "QueueName", "Value": "dead"}],
        AlarmActions=[topic],
        **ALARM,
    )
    root.call("sqs", "SendMessage", QueueUrl=url, MessageBody="x")


def test_a_filled_queue_alarms(local: LocalAwsClient) -> None:
    topic, url = topic_with_queue(local, "cloudwatch.amazonaws.com")
    alarm_on_depth(local, topic)

    def messages() -> list[dict[str, Any]]:
        return list(local.aws().call("sqs", "ReceiveMessage", QueueUrl=url).get("Messages", []))

    (message,) = wait_until(messages, what="the alarm")
    told = json.loads(json.loads(message["Body"])["Message"])
    assert (told["AlarmName"], told["NewStateValue"]) == ("dead", "ALARM")
    assert local.problems() == []


def test_a_topic_that_keeps_cloudwatch_out_stays_silent(local: LocalAwsClient) -> None:
    topic, url = topic_with_queue(local, "budgets.amazonaws.com")
    alarm_on_depth(local, topic)
    (problem,) = wait_until(local.problems, what="the refusal")
    assert problem["resource"] == topic
    assert "cloudwatch.amazonaws.com" in problem["reason"]
    assert "Messages" not in local.aws().call("sqs", "ReceiveMessage", QueueUrl=url)
