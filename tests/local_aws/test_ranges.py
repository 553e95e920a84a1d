"""Queries over a range of keys, as observed use is read: the emulator answers them as DynamoDB does."""

import pytest

from proctor_local.control import LocalAwsClient

pytestmark = pytest.mark.emulator


def test_use_is_read_from_an_hour_on_and_without_what_is_not_asked_for(local: LocalAwsClient) -> None:
    root = local.aws()
    names = ("scope", "key")
    root.call(
        "dynamodb",
        "CreateTable",
        TableName="observed",
        AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in names],
        KeySchema=[{"AttributeName": n, "KeyType": k} for n, k in zip(names, ("HASH", "RANGE"), strict=True)],
        BillingMode="PAY_PER_REQUEST",
    )
    for hour in range(3):
        item = {"scope": "a#usage", "key": f"2026090{hour + 1}T00|lab1|gpu", "partition": "gpu", "said": "x"}
        root.call("dynamodb", "PutItem", TableName="observed", Item={k: {"S": v} for k, v in item.items()})
    found = root.call(
        "dynamodb",
        "Query",
        TableName="observed",
        KeyConditionExpression="#s = :scope AND #k >= :since",
        ProjectionExpression="#f0, #s, #k",
        ExpressionAttributeNames={"#s": "scope", "#k": "key", "#f0": "partition"},
        ExpressionAttributeValues={":scope": {"S": "a#usage"}, ":since": {"S": "20260902T00"}},
    )
    keys = [row["key"]["S"] for row in found["Items"]]
    assert keys == ["20260902T00|lab1|gpu", "20260903T00|lab1|gpu"]
    assert {frozenset(row) for row in found["Items"]} == {frozenset({"scope", "key", "partition"})}
