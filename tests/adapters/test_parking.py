import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.adapters.parking import SqsParkingLot, redacted
from tests.adapters.aws import CountedClients
from tests.adapters.values import run
from tests.fakes.records import FakeParkingLot, Parked
from tests.fakes.values import NOW, cluster_target, role_arn

if TYPE_CHECKING:
    from proctor.ports import ParkingLot

TOKEN = "AAEAAYvm3Zk9" + "q7Xw" * 60
STREAM = "wss://ssmmessages.us-east-1.amazonaws.com/v1/data-channel/ada-0a?role=publish_subscribe"
RECORD = {
    "id": "7d4e1c1e-0000-4000-8000-000000000001",
    "detail-type": "AWS API Call via CloudTrail",
    "source": "aws.ssm",
    "time": "2026-09-01T10:00:05Z",
    "detail": {
        "eventName": "StartSession",
        "eventTime": "2026-09-01T10:00:00Z",
        "sourceIPAddress": "192.0.2.7",
        "userIdentity": {
            "arn": role_arn("ada@uni.example"),
            "principalId": "AROAEXAMPLE:ada@uni.example",
            "accessKeyId": "ASIAEXAMPLE",
        },
        "requestParameters": {
            "target": cluster_target(),
            "documentName": "",
            "reason": "call me: ada@uni.example",
        },
        "responseElements": {"sessionId": "ada@uni.example-0a", "tokenValue": TOKEN, "streamUrl": STREAM},
    },
}


@pytest.fixture
def queue(aws: CountedClients) -> str:
    return aws.sqs().create_queue(QueueName="parked")["QueueUrl"]


def _parked(aws: CountedClients, queue: str) -> dict[str, Any]:
    (message,) = aws.sqs().receive_message(QueueUrl=queue)["Messages"]
    body: dict[str, Any] = json.loads(message["Body"])
    return body


@pytest.mark.parametrize("kind", ["fake", "sqs"])
def test_an_input_is_kept_with_its_reason(kind: str, aws: CountedClients, queue: str) -> None:
    fake = FakeParkingLot()
    lot: ParkingLot = fake if kind == "fake" else SqsParkingLot(aws, queue)

    lot.park(RECORD, "InvalidInputError: detail.eventTime", run())

    if kind == "fake":
        assert fake.parked == [Parked(RECORD, "InvalidInputError: detail.eventTime", run())]
        return
    body = _parked(aws, queue)
    assert (body["function"], body["error"]) == ("session_limits", "InvalidInputError: detail.eventTime")
    assert body["parked_at"] == NOW.isoformat()
    assert body["event"]["detail"]["requestParameters"]["target"] == cluster_target()


def test_it_costs_one_call(aws: CountedClients, queue: str) -> None:
    aws.calls.clear()
    SqsParkingLot(aws, queue).park(RECORD, "e", run())

    assert aws.calls == ["SendMessage"]


def test_no_token_no_stream_no_address_no_key_is_kept(aws: CountedClients, queue: str) -> None:
    SqsParkingLot(aws, queue).park(RECORD, "requested_by: 'ada@uni.example' is not usable", run())

    text = json.dumps(_parked(aws, queue))
    for secret in (TOKEN[:12], "wss://", "uni.example", "ASIA", "192.0.2.7", "call me"):
        assert secret not in text


def test_what_finds_the_original_is_kept() -> None:
    kept = redacted(RECORD)

    assert (kept["id"], kept["time"], kept["detail"]["eventName"]) == (
        RECORD["id"],
        "2026-09-01T10:00:05Z",
        "StartSession",
    )
    assert kept["detail"]["userIdentity"]["accessKeyId"] == "redacted"
    assert kept["detail"]["userIdentity"]["arn"].startswith(
        "arn:aws:sts::123456789012:assumed-role/AWSReservedSSO"
    )


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ({"detail": TOKEN}, {"detail": f"text of {len(TOKEN)} characters"}),
        ({"responseElements": [TOKEN]}, {"responseElements": [f"text of {len(TOKEN)} characters"]}),
        ({"name": {"deep": TOKEN}}, {"name": "dict"}),
        ({"target": "x" * 257}, {"target": "text of 257 characters"}),
        ({"sessionId": "a\nb"}, {"sessionId": "text of 3 characters"}),
        ({"dry_run": False, "type": None}, {"dry_run": False, "type": None}),
        ({TOKEN: 1, "ada@uni.example": 2, "kind of": 3}, {"…": "redacted"}),
        ("AAEA", "text of 4 characters"),
        (7, "int"),
        (None, "NoneType"),
        ([[["deep"]]], [[["text of 4 characters"]]]),
    ],
)
def test_texts_are_kept_only_where_proctor_reads_them(raw: object, kept: object) -> None:
    assert redacted(raw) == kept


def test_copies_of_one_input_are_told_from_others(aws: CountedClients, queue: str) -> None:
    digests = []
    for raw in (RECORD, json.loads(json.dumps(RECORD)), {**RECORD, "id": "2"}, "\ud800"):
        SqsParkingLot(aws, queue).park(raw, "e", run())
        digests.append(_parked(aws, queue)["sha256"])

    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


@pytest.mark.parametrize(
    "raw",
    [
        {"detail": {"actions": [["x"] * 20] * 20}},
        {f"key-{n}": "x" * 1000 for n in range(1000)},
        [[[["x"] * 20] * 20] * 20] * 20,
        "x" * 1_000_000,
    ],
    ids=["wide", "keys", "deep", "text"],
)
def test_a_message_fits_a_queue_whatever_comes(aws: CountedClients, queue: str, raw: object) -> None:
    SqsParkingLot(aws, queue).park(raw, "e" * 100_000, run())

    assert len(json.dumps(_parked(aws, queue))) < 256 * 1024


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["detail", "arn", "actions", "x"]) | st.text(), inner)
    ),
)


@given(_JSON)
def test_any_json_can_be_parked(raw: object) -> None:
    kept = json.dumps(redacted(raw))

    assert "@" not in kept
