"""An alarm's state by its own series, its periods, and what it makes of missing data."""

from collections.abc import Sequence
from typing import Any

import pytest

from proctor_local.control import LocalAwsClient, wait_until
from proctor_local.emulator.alarm_states import state_of


def alarm(**more: Any) -> dict[str, Any]:
    return {"ComparisonOperator": "GreaterThanThreshold", "Threshold": 0, **more}


@pytest.mark.parametrize(
    ("values", "missing", "expected"),
    [
        ([1.0], "missing", "ALARM"),
        ([0.0], "missing", "OK"),
        ([None], "missing", "INSUFFICIENT_DATA"),
        ([None], "ignore", ""),
        ([None], "notBreaching", "OK"),
        ([None], "breaching", "ALARM"),
        ([1.0, 1.0, None], "notBreaching", "OK"),
        ([1.0, 1.0, None], "breaching", "ALARM"),
        ([1.0, 1.0, 1.0], "notBreaching", "ALARM"),
        ([1.0, 0.0, 1.0], "breaching", "OK"),
    ],
)
def test_states(values: Sequence[float | None], missing: str, expected: str) -> None:
    assert state_of(alarm(TreatMissingData=missing), values) == expected


def test_fewer_breaching_periods_suffice_when_the_alarm_says_so() -> None:
    assert state_of(alarm(DatapointsToAlarm=2), [1.0, 0.0, 1.0]) == "ALARM"
    assert state_of(alarm(DatapointsToAlarm=2), [1.0, 0.0, 0.0]) == "OK"


@pytest.mark.emulator
def test_another_queues_depth_is_not_this_alarms_business(local: LocalAwsClient) -> None:
    root = local.aws()
    urls = {name: root.call("sqs", "CreateQueue", QueueName=name)["QueueUrl"] for name in ("full", "empty")}
    for name in urls:
        root.query(
            "monitoring",
            "PutMetricAlarm",
            AlarmName=name,
            Namespace="AWS/SQS",
            MetricName="ApproximateNumberOfMessagesVisible",
            Dimensions=[{"Name": "QueueName", "Value": name}],
            Statistic="Maximum",
            Period=60,
            EvaluationPeriods=1,
            Threshold=0,
            ComparisonOperator="GreaterThanThreshold",
        )
    root.call("sqs", "SendMessage", QueueUrl=urls["full"], MessageBody="x")

    def states() -> dict[str, str]:
        answer = root.query("monitoring", "DescribeAlarms")
        members = [e for e in answer.iter() if any(child.tag.endswith("AlarmName") for child in e)]
        texts = [{child.tag.rsplit("}", 1)[-1]: child.text or "" for child in member} for member in members]
        return {text["AlarmName"]: text["StateValue"] for text in texts}

    wait_until(lambda: states() == {"full": "ALARM", "empty": "OK"}, what="one alarm and one OK")
