"""What IAM is asked for calls whose name is not their action: batches, and parameters by path."""

from typing import Any

import pytest

from proctor_local.aws_client import AwsClient, AwsError
from proctor_local.control import LocalAwsClient
from proctor_local.identities import Identities

pytestmark = pytest.mark.emulator


def signed_in(local: LocalAwsClient, name: str, action: str, resource: str) -> AwsClient:
    statement = {"Effect": "Allow", "Action": action, "Resource": resource}
    identities = Identities(local)
    role = identities.role(name, {"Version": "2012-10-17", "Statement": [statement]})
    return identities.person(name, role).client


def refused(client: AwsClient, service: str, action: str, **members: Any) -> bool:
    try:
        client.call(service, action, **members)
    except AwsError as error:
        if error.code not in ("AccessDenied", "AccessDeniedException"):
            raise
        return True
    return False


def test_a_batch_is_asked_for_as_the_single_call(local: LocalAwsClient) -> None:
    url = str(local.aws().call("sqs", "CreateQueue", QueueName="work")["QueueUrl"])
    arn = f"arn:aws:sqs:{local.region}:{local.account}:work"
    sender = signed_in(local, "sender", "sqs:SendMessage", arn)
    deleter = signed_in(local, "deleter", "sqs:DeleteMessage", arn)
    entries = [{"Id": "1", "MessageBody": "hello"}]
    assert not refused(sender, "sqs", "SendMessageBatch", QueueUrl=url, Entries=entries)
    assert refused(deleter, "sqs", "SendMessageBatch", QueueUrl=url, Entries=entries)
    (message,) = local.aws().call("sqs", "ReceiveMessage", QueueUrl=url)["Messages"]
    receipts = [{"Id": "1", "ReceiptHandle": message["ReceiptHandle"]}]
    assert refused(sender, "sqs", "DeleteMessageBatch", QueueUrl=url, Entries=receipts)
    assert not refused(deleter, "sqs", "DeleteMessageBatch", QueueUrl=url, Entries=receipts)
    assert {d["action"] for d in local.denials()} == {"sqs:SendMessage", "sqs:DeleteMessage"}


def test_parameters_by_path_are_asked_for_by_their_path(local: LocalAwsClient) -> None:
    name = "/proctor/alpha/budget_holds/lab1"
    local.aws().call("ssm", "PutParameter", Name=name, Value="{}", Type="String")
    arn = f"arn:aws:ssm:{local.region}:{local.account}:parameter/proctor/*/budget_holds"
    reader = signed_in(local, "reader", "ssm:GetParametersByPath", arn)
    assert not refused(reader, "ssm", "GetParametersByPath", Path="/proctor/alpha/budget_holds")
    assert not refused(reader, "ssm", "GetParametersByPath", Path="/proctor/alpha/budget_holds/")
    assert refused(reader, "ssm", "GetParametersByPath", Path="/proctor/alpha")
