"""Parameter Store: versions, labels that move, change events, and who may read what."""

import pytest

from proctor_local.aws_client import AwsClient, AwsError
from proctor_local.control import LocalAwsClient
from proctor_local.identities import Identities
from tests.local_aws.watching import Watch

pytestmark = pytest.mark.emulator

NAME = "/proctor/demo/session_limits"


@pytest.fixture
def root(local: LocalAwsClient) -> AwsClient:
    return local.aws()


def put(root: AwsClient, value: str) -> int:
    return int(
        root.call("ssm", "PutParameter", Name=NAME, Value=value, Type="String", Overwrite=True)["Version"]
    )


def value_of(root: AwsClient, name: str) -> str:
    return str(root.call("ssm", "GetParameter", Name=name)["Parameter"]["Value"])


def test_a_label_stays_on_its_version_until_it_is_moved(root: AwsClient) -> None:
    first = put(root, "one")
    root.call("ssm", "LabelParameterVersion", Name=NAME, ParameterVersion=first, Labels=["in-force"])
    second = put(root, "two")
    assert (value_of(root, NAME), value_of(root, f"{NAME}:in-force"), value_of(root, f"{NAME}:2")) == (
        "two",
        "one",
        "two",
    )

    root.call("ssm", "LabelParameterVersion", Name=NAME, ParameterVersion=second, Labels=["in-force"])
    assert value_of(root, f"{NAME}:in-force") == "two"
    history = root.call("ssm", "GetParameterHistory", Name=NAME)["Parameters"]
    assert [entry["Labels"] for entry in history] == [[], ["in-force"]]


def test_many_are_read_at_once_by_label_and_the_missing_are_named(root: AwsClient) -> None:
    put(root, "one")
    root.call("ssm", "LabelParameterVersion", Name=NAME, Labels=["in-force"])
    answer = root.call("ssm", "GetParameters", Names=[f"{NAME}:in-force", f"{NAME}:next", "/other"])
    assert [(p["Name"], p["Selector"]) for p in answer["Parameters"]] == [(NAME, ":in-force")]
    assert answer["InvalidParameters"] == [f"{NAME}:next", "/other"]
    with pytest.raises(AwsError) as missing:
        value_of(root, f"{NAME}:next")
    assert missing.value.code == "ParameterVersionNotFound"


def test_every_change_is_an_event_without_the_value(local: LocalAwsClient, root: AwsClient) -> None:
    watch = Watch(
        local,
        {
            "source": ["aws.ssm"],
            "detail-type": ["Parameter Store Change"],
            "detail": {"name": [{"prefix": "/proctor/"}]},
        },
    )
    put(root, "one")
    put(root, "two")
    root.call("ssm", "LabelParameterVersion", Name=NAME, ParameterVersion=2, Labels=["in-force"])
    root.call("ssm", "PutParameter", Name="/other", Value="x", Type="String")
    root.call("ssm", "DeleteParameter", Name=NAME)
    events = watch.wait_for(4)
    assert [event["detail"]["operation"] for event in events] == [
        "Create",
        "Update",
        "LabelParameterVersion",
        "Delete",
    ]
    for event in events:
        assert event["detail"]["name"] == NAME
        assert event["detail"]["type"] == "String"
        assert event["resources"] == [f"arn:aws:ssm:{local.region}:{local.account}:parameter{NAME}"]
        assert "one" not in str(event)


def test_reading_is_allowed_by_the_plain_name_and_for_every_name(
    local: LocalAwsClient, root: AwsClient
) -> None:
    put(root, "one")
    root.call("ssm", "LabelParameterVersion", Name=NAME, Labels=["in-force"])
    reader = (
        Identities(local)
        .iam_user(
            "reader",
            policy={
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Action": ["ssm:GetParameter", "ssm:GetParameters"],
                        "Resource": f"arn:aws:ssm:*:*:parameter{NAME}",
                    }
                ],
            },
        )
        .client
    )
    assert value_of(reader, f"{NAME}:in-force") == "one"
    assert len(reader.call("ssm", "GetParameters", Names=[NAME])["Parameters"]) == 1
    with pytest.raises(AwsError) as refused:
        reader.call("ssm", "GetParameters", Names=[NAME, "/proctor/other"])
    assert refused.value.code == "AccessDeniedException"
    assert refused.value.message.count("parameter/proctor/other") == 1
