"""IAM as the added checks have it: leading keys, KMS keys of resources, targets and documents, senders."""

import json
from typing import Any

import pytest

from proctor_local.aws_client import AwsClient, AwsError
from proctor_local.control import LocalAwsClient, PersonClient
from proctor_local.identities import Identities

pytestmark = pytest.mark.emulator


def allow(*statements: dict[str, Any]) -> dict[str, Any]:
    return {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", **statement} for statement in statements],
    }


def refusal(client: AwsClient, service: str, action: str, **members: Any) -> str:
    with pytest.raises(AwsError) as refused:
        client.call(service, action, **members)
    assert refused.value.code in ("AccessDeniedException", "AccessDenied")
    return refused.value.message


@pytest.fixture
def table(local: LocalAwsClient) -> str:
    local.aws().call(
        "dynamodb",
        "CreateTable",
        TableName="intents",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )
    return "intents"


def test_leading_keys_fence_reads_queries_and_writes(local: LocalAwsClient, table: str) -> None:
    agent = (
        Identities(local)
        .iam_user(
            "agent",
            policy=allow(
                {
                    "Action": "dynamodb:*",
                    "Resource": "*",
                    "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["demo#nodes#*"]}},
                }
            ),
        )
        .client
    )
    mine, other = {"pk": {"S": "demo#nodes#n1"}}, {"pk": {"S": "demo#controller"}}

    agent.call("dynamodb", "PutItem", TableName=table, Item=mine)
    agent.call("dynamodb", "GetItem", TableName=table, Key=mine)
    agent.call("dynamodb", "BatchGetItem", RequestItems={table: {"Keys": [mine]}})
    condition: dict[str, Any] = {
        "TableName": table,
        "KeyConditionExpression": "#k = :k",
        "ExpressionAttributeNames": {"#k": "pk"},
    }
    agent.call("dynamodb", "Query", **condition, ExpressionAttributeValues={":k": mine["pk"]})

    refusal(agent, "dynamodb", "PutItem", TableName=table, Item=other)
    refusal(agent, "dynamodb", "GetItem", TableName=table, Key=other)
    refusal(agent, "dynamodb", "BatchGetItem", RequestItems={table: {"Keys": [mine, other]}})
    refusal(agent, "dynamodb", "Query", **condition, ExpressionAttributeValues={":k": other["pk"]})


def encrypted_queue(local: LocalAwsClient) -> tuple[str, str]:
    root = local.aws()
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": "kms:*",
                "Resource": "*",
                "Principal": {"AWS": f"arn:aws:iam::{local.account}:root"},
            }
        ],
    }
    key = root.call("kms", "CreateKey", Policy=json.dumps(policy))["KeyMetadata"]["Arn"]
    queue = root.call("sqs", "CreateQueue", QueueName="secret", Attributes={"KmsMasterKeyId": key})
    return str(queue["QueueUrl"]), str(key)


def test_an_encrypted_queue_asks_for_its_key(local: LocalAwsClient) -> None:
    url, key = encrypted_queue(local)
    identities = Identities(local)
    queue = {"Action": "sqs:*", "Resource": "*"}
    without = identities.iam_user("without", policy=allow(queue)).client
    sender = identities.iam_user(
        "sender", policy=allow(queue, {"Action": ["kms:GenerateDataKey", "kms:Decrypt"], "Resource": key})
    ).client

    sender.call("sqs", "SendMessage", QueueUrl=url, MessageBody="x")
    message = refusal(without, "sqs", "SendMessage", QueueUrl=url, MessageBody="x")
    assert f"kms:GenerateDataKey on resource: {key}" in message
    assert "kms:Decrypt" in refusal(without, "sqs", "ReceiveMessage", QueueUrl=url)


def test_the_receiver_sees_who_sent(local: LocalAwsClient, researcher: PersonClient) -> None:
    root = local.aws()
    identities = Identities(local)
    url = root.call("sqs", "CreateQueue", QueueName="reports")["QueueUrl"]
    role = identities.role("Reporter", allow({"Action": "sqs:SendMessage", "Resource": "*"}))
    node = identities.person("i-0123456789abcdef0", role)
    node.client.call("sqs", "SendMessage", QueueUrl=url, MessageBody="report")
    (message,) = root.call("sqs", "ReceiveMessage", QueueUrl=url, AttributeNames=["All"])["Messages"]
    role_id, name = message["Attributes"]["SenderId"].split(":")
    assert role_id.startswith("AROA")
    assert name == "i-0123456789abcdef0"


@pytest.mark.parametrize(
    "resource",
    ["arn:aws:sagemaker:*:*:cluster/abcdef012345", "arn:aws:ssm:*:*:managed-instance/sagemaker-cluster:*"],
)
def test_either_arn_of_a_hyperpod_target_allows_it(local: LocalAwsClient, target: str, resource: str) -> None:
    person = Identities(local).iam_user(
        "p", policy=allow({"Action": "ssm:StartSession", "Resource": resource})
    )
    assert person.start_session(target)


def test_a_named_document_must_be_allowed_and_a_pinned_one_even_unnamed(
    local: LocalAwsClient, target: str
) -> None:
    identities = Identities(local)
    nodes = {"Action": "ssm:StartSession", "Resource": "arn:aws:sagemaker:*:*:cluster/*"}
    person = identities.iam_user("p", policy=allow(nodes))
    assert person.start_session(target)
    assert "document/AWS-StartNonInteractiveCommand" in refusal(
        person.client, "ssm", "StartSession", Target=target, DocumentName="AWS-StartNonInteractiveCommand"
    )

    checked = {"Condition": {"BoolIfExists": {"ssm:SessionDocumentAccessCheck": "true"}}}
    pinned = identities.iam_user("q", policy=allow(nodes | checked))
    assert "document/SSM-SessionManagerRunShell" in refusal(
        pinned.client, "ssm", "StartSession", Target=target
    )
    document = {
        "Action": "ssm:StartSession",
        "Resource": "arn:aws:ssm:*:*:document/SSM-SessionManagerRunShell",
    }
    both = identities.iam_user("r", policy=allow(nodes | checked, document))
    assert both.start_session(target)


def test_the_target_tag_of_a_session_can_be_a_condition(local: LocalAwsClient, target: str) -> None:
    local.settings(check_targets=False)
    identities = Identities(local)
    opener = identities.iam_user("opener")
    ours, other = opener.start_session(target), opener.start_session("i-0fedcba9876543210")
    ender = identities.iam_user(
        "ender",
        policy=allow(
            {
                "Action": "ssm:TerminateSession",
                "Resource": "arn:aws:ssm:*:*:session/*",
                "Condition": {
                    "StringLike": {
                        "ssm:resourceTag/aws:ssmmessages:target-id": "sagemaker-cluster:abcdef012345_*"
                    }
                },
            }
        ),
    )
    ender.terminate_session(ours)
    refusal(ender.client, "ssm", "TerminateSession", SessionId=other)
    refusal(ender.client, "ssm", "TerminateSession", SessionId="nobody-0000")


def test_principal_tags_are_variables(local: LocalAwsClient) -> None:
    identities = Identities(local)
    for team in ("a", "b"):
        local.aws().call("ssm", "PutParameter", Name=f"/teams/{team}", Value="x", Type="String")
    role = identities.role(
        "Team",
        allow(
            {
                "Action": "ssm:GetParameter",
                "Resource": "arn:aws:ssm:*:*:parameter/teams/${aws:PrincipalTag/team}",
            }
        ),
    )
    member = identities.person("m", role, tags={"team": "a"})
    untagged = identities.person("n", role)
    assert member.client.call("ssm", "GetParameter", Name="/teams/a")
    refusal(member.client, "ssm", "GetParameter", Name="/teams/b")
    refusal(untagged.client, "ssm", "GetParameter", Name="/teams/a")
