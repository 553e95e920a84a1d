"""moto with the tables as template.yaml makes them."""

from collections.abc import Iterator
from typing import Any, cast

import boto3
import pytest
from moto import mock_aws

from proctor.adapters.aws_clients import AwsClients, ClientMaker

TABLES = {
    "intents": ("pk", "sk"),
    "observed": ("scope", "key"),
    "memory": ("scope", "subject"),
    "exemptions": ("function", "id"),
}


class MotoClients(AwsClients):
    """The adapters' clients on a boto3 session, which moto catches."""

    def __init__(self) -> None:
        self._session = cast("ClientMaker", boto3.Session())


@pytest.fixture
def clients() -> Iterator[AwsClients]:
    with mock_aws():
        made = MotoClients()
        for name, (partition, sort) in TABLES.items():
            made.dynamodb().create_table(
                TableName=name,
                AttributeDefinitions=[
                    {"AttributeName": partition, "AttributeType": "S"},
                    {"AttributeName": sort, "AttributeType": "S"},
                ],
                KeySchema=[
                    {"AttributeName": partition, "KeyType": "HASH"},
                    {"AttributeName": sort, "KeyType": "RANGE"},
                ],
                BillingMode="PAY_PER_REQUEST",
            )
        yield made


def put(clients: AwsClients, table: str, item: dict[str, Any]) -> None:
    """One item as plain values."""
    from proctor.adapters.items import to_item  # noqa: PLC0415 - a helper of one line

    clients.dynamodb().put_item(TableName=table, Item=to_item(item))
