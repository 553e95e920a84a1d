"""The deployed test stack: SQS event source mappings lose nothing, whatever a function does."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from proctor_local.aws_client import text_of
from proctor_local.control import LocalAwsClient, PersonClient, wait_until
from proctor_local.identities import Identities

pytestmark = pytest.mark.emulator


class Stack:
    """What the tests do with the deployed stack."""

    def __init__(self, local: LocalAwsClient, outputs: dict[str, str]) -> None:
        self.local, self.aws, self.outputs = local, local.aws(), outputs

    def send(self, *bodies: dict[str, Any]) -> list[str]:
        """Send messages in one request; their ids."""
        entries = [{"Id": str(n), "MessageBody": json.dumps(body)} for n, body in enumerate(bodies)]
        answer = self.aws.call("sqs", "SendMessageBatch", QueueUrl=self.outputs["WorkUrl"], Entries=entries)
        return [entry["MessageId"] for entry in answer["Successful"]]

    def seen(self) -> dict[str, dict[str, str]]:
        """What the function has done, by message id."""
        items = self.aws.call("dynamodb", "Scan", TableName=self.outputs["SeenTable"])["Items"]
        return {
            item["message"]["S"]: {name: next(iter(value.values())) for name, value in item.items()}
            for item in items
        }

    def dead(self) -> list[dict[str, Any]]:
        answer = self.aws.call(
            "sqs",
            "ReceiveMessage",
            QueueUrl=self.outputs["DeadLettersUrl"],
            VisibilityTimeout=0,
            MaxNumberOfMessages=10,
            MessageAttributeNames=["All"],
            AttributeNames=["All"],
        )
        return list(answer.get("Messages", []))

    def invoke(self, **event: Any) -> dict[str, Any]:
        path = f"/2015-03-31/functions/{self.outputs['Function']}/invocations"
        answer = json.loads(self.aws.rest("lambda", "POST", path, json.dumps(event).encode()))
        return dict(answer)


@pytest.fixture
def work(launched: LocalAwsClient, stack: dict[str, str]) -> Iterator[Stack]:
    under_test = Stack(launched, stack)
    yield under_test
    for name in ("WorkUrl", "DeadLettersUrl"):
        under_test.aws.call("sqs", "PurgeQueue", QueueUrl=stack[name])


def test_a_session_start_reaches_the_function_under_its_own_role(work: Stack) -> None:
    cluster = work.local.seed_cluster("demo", {"login": {"count": 1}})
    identities = Identities(work.local)
    person: PersonClient = identities.person("anna", identities.permission_set("HyperPodUser"), run_as="anna")
    session_id = person.start_session(cluster["nodes"][0]["target"])

    def bodies() -> list[dict[str, Any]]:
        return [
            body
            for body in (json.loads(item["body"]) for item in work.seen().values())
            if "session_id" in body
        ]

    (body,) = wait_until(bodies, what="the function saw it")
    assert body == {"owner": person.owner_arn, "session_id": session_id, "reason": ""}
    assert work.local.problems() == []


def test_the_function_runs_with_its_role_and_its_layer(work: Stack) -> None:
    answer = work.invoke(
        calls=[
            ["ssm", "describe_sessions", {"State": "Active"}],
            ["ssm", "terminate_session", {"SessionId": "nobody-0000"}],
            ["ssm", "start_session", {"Target": "i-0123456789abcdef0"}],
            ["sns", "publish", {"TopicArn": work.outputs["Alerts"], "Message": "x"}],
            [
                "dynamodb",
                "get_item",
                {"TableName": work.outputs["SeenTable"], "Key": {"message": {"S": "x"}}},
            ],
            ["sqs", "send_message", {"QueueUrl": work.outputs["WorkUrl"], "MessageBody": "x"}],
        ]
    )
    assert answer["who"].startswith("AROA")
    assert answer["layered"].endswith("/python/layered.py")
    denied = "AccessDeniedException"
    assert answer["calls"] == ["ok", "ok", denied, "ok", denied, "AccessDenied"]


def test_workers_stay_warm(work: Stack) -> None:
    assert work.invoke()["pid"] == work.invoke()["pid"]


def test_what_a_function_prints_as_metrics_becomes_metrics(work: Stack) -> None:
    work.invoke(metric=3)
    now = datetime.now(UTC)
    answer = work.aws.query(
        "monitoring",
        "GetMetricStatistics",
        Namespace="Proctor",
        MetricName="Ended",
        Period=60,
        Statistics=["Sum"],
        Dimensions=[{"Name": "service", "Value": "session_limits"}],
        StartTime=(now - timedelta(minutes=5)).isoformat(),
        EndTime=(now + timedelta(minutes=5)).isoformat(),
    )
    assert float(text_of(answer, "Sum")) == 3


def test_only_the_failed_messages_of_a_batch_come_again(work: Stack) -> None:
    good, bad, good_too = work.send({"n": 1}, {"n": 2, "fail_times": 1}, {"n": 3})
    wait_until(lambda: {good, bad, good_too} <= set(work.seen()), what="all three done")
    assert [work.seen()[message]["receives"] for message in (good, bad, good_too)] == ["1", "2", "1"]
    assert work.dead() == []


@pytest.mark.parametrize(
    "body", [{"do": "raise"}, {"do": "die"}, {"sleep": 5}], ids=["raises", "dies", "times out"]
)
def test_what_keeps_failing_goes_to_the_dead_letter_queue(work: Stack, body: dict[str, Any]) -> None:
    (message,) = work.send(body)
    (dead,) = wait_until(work.dead, seconds=20, what="in the dead-letter queue")
    assert dead["MessageId"] == message
    assert json.loads(dead["Body"]) == body
    assert message not in work.seen()


@pytest.mark.parametrize(
    "answer",
    [
        {"batchItemFailures": [{"itemIdentifier": ""}]},
        {"batchItemFailures": [{"itemIdentifier": None}]},
        {"batchItemFailures": [{"id": "x"}]},
        "not an object",
    ],
    ids=["empty", "null", "misnamed", "no object"],
)
def test_an_invalid_answer_fails_the_whole_batch(work: Stack, answer: Any) -> None:
    (message,) = work.send({"whole": answer})
    (dead,) = wait_until(work.dead, what="in the dead-letter queue")
    assert dead["MessageId"] == message


@pytest.fixture
def patient(work: Stack) -> Iterator[Stack]:
    """A queue that waits longer than a batch takes on a busy machine."""
    url = work.outputs["WorkUrl"]
    work.aws.call("sqs", "SetQueueAttributes", QueueUrl=url, Attributes={"VisibilityTimeout": "30"})
    yield work
    work.aws.call("sqs", "SetQueueAttributes", QueueUrl=url, Attributes={"VisibilityTimeout": "1"})


def test_no_more_batches_run_at_once_than_allowed_and_a_burst_is_worked_off(patient: Stack) -> None:
    began, work = time.monotonic(), patient
    sent: list[str] = []
    for batch in range(6):
        sent += work.send(*({"batch": batch, "sleep": 0.05} for _ in range(10)))
    most = 0
    while not set(sent) <= set(work.seen()):
        most = max(most, len(workers(work)))
        assert time.monotonic() - began < 30
        time.sleep(0.02)
    assert most <= 2
    assert {work.seen()[message]["receives"] for message in sent} == {"1"}


def workers(work: Stack) -> list[int]:
    return list(work.local.control("GET", "workers")["pids"])


def test_the_sweep_rule_reaches_the_function(work: Stack) -> None:
    work.local.fire("SweepRule")
    wait_until(
        lambda: any(json.loads(item["body"]).get("rule") == "sweep" for item in work.seen().values()),
        what="the sweep was seen",
    )
