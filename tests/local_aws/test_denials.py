"""Refusals are kept for whoever takes a permission away; plain HTTP counts as TLS; events name their source to IAM."""

import json
from typing import Any

import pytest

from proctor_local.aws_client import AwsError
from proctor_local.control import LocalAwsClient
from proctor_local.identities import Identities

pytestmark = pytest.mark.emulator


def role_with(identities: Identities, **statement: Any) -> str:
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Resource": "*", **statement}]}
    return identities.role("helper", policy)


def test_a_refusal_names_who_asked_for_what(local: LocalAwsClient, identities: Identities) -> None:
    helper = identities.person("helper", role_with(identities, Action="ssm:DescribeSessions"))
    for _ in range(2):
        with pytest.raises(AwsError):
            helper.client.call("ssm", "TerminateSession", SessionId="ada-1234567890abcdef0")
    (denial,) = local.denials()
    assert denial["principal"] == helper.owner_arn
    assert (denial["action"], denial["count"]) == ("ssm:TerminateSession", 2)
    assert denial["resource"].endswith(":session/ada-1234567890abcdef0")
    local.clear_denials()
    assert local.denials() == []


def test_a_queue_that_denies_plain_http_can_be_used(local: LocalAwsClient) -> None:
    deny = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "sqs:*",
        "Resource": "*",
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    attributes = {"Policy": json.dumps({"Version": "2012-10-17", "Statement": [deny]})}
    root = local.aws()
    url = root.call("sqs", "CreateQueue", QueueName="closed", Attributes=attributes)["QueueUrl"]
    root.call("sqs", "SendMessage", QueueUrl=url, MessageBody="x")


@pytest.mark.parametrize(("source", "is_allowed"), [("proctor.one", True), ("proctor.two", False)])
def test_the_source_of_an_event_is_a_condition_key(
    local: LocalAwsClient, identities: Identities, source: str, is_allowed: bool
) -> None:
    condition = {"StringEquals": {"events:source": "proctor.one"}}
    helper = identities.person(
        "helper", role_with(identities, Action="events:PutEvents", Condition=condition)
    )
    entry = {"Source": source, "DetailType": "x", "Detail": "{}"}
    if is_allowed:
        assert helper.client.call("events", "PutEvents", Entries=[entry])["FailedEntryCount"] == 0
    else:
        with pytest.raises(AwsError, match="events:PutEvents"):
            helper.client.call("events", "PutEvents", Entries=[entry])
