"""Intents in DynamoDB: key `pk`, range `sk`; the item is the agents' protocol's own (domain/agent_protocol/intents.py)."""

from typing import TYPE_CHECKING

from proctor.adapters.aws_errors import translated
from proctor.adapters.items import from_item, to_attribute, to_item
from proctor.domain.agent_protocol import PAUSE_SK, Intent, ProtocolError, controller_pk
from proctor.domain.errors import TerminalError
from proctor.domain.slurm_actions import StoredIntents

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import PutItemInputTypeDef

    from proctor.adapters.aws_clients import AwsClients


class DynamoIntents:
    """Implements the IntentStore port."""

    def __init__(self, clients: "AwsClients", table: str) -> None:
        """Take the clients and the table's name."""
        self._clients = clients
        self._table = table

    def intents(self, cluster: str) -> StoredIntents:
        """All pages of the controller's partition, consistently."""
        found: dict[str, Intent | None] = {}
        with translated("dynamodb:Query"):
            pages = (
                self._clients.dynamodb()
                .get_paginator("query")
                .paginate(
                    TableName=self._table,
                    KeyConditionExpression="pk = :pk",
                    ExpressionAttributeValues={":pk": to_attribute(controller_pk(cluster))},
                    ConsistentRead=True,
                )
            )
            for page in pages:
                for row in map(from_item, page["Items"]):
                    if row["sk"] != PAUSE_SK:
                        found[row["sk"]] = _intent(row)
        return found

    def get(self, pk: str, sk: str) -> Intent | None:
        """One item. Raises TerminalError for one that can't be read."""
        with translated("dynamodb:GetItem"):
            answer = self._clients.dynamodb().get_item(
                TableName=self._table, Key=to_item({"pk": pk, "sk": sk}), ConsistentRead=True
            )
        if not answer.get("Item"):
            return None
        intent = _intent(from_item(answer["Item"]))
        if intent is None:
            raise TerminalError(f"the intent {pk} {sk} can't be read by this release")
        return intent

    def put(self, intent: Intent, expected_rev: int) -> None:
        """One conditional write. Raises LostRaceError when owner or revision are others."""
        write: PutItemInputTypeDef = {
            "TableName": self._table,
            "Item": to_item(intent.to_item()),
            "ConditionExpression": "attribute_not_exists(pk)",
        }
        if expected_rev:
            write["ConditionExpression"] = "#o = :owner AND rev = :rev"
            write["ExpressionAttributeNames"] = {"#o": "owner"}
            write["ExpressionAttributeValues"] = to_item({":owner": intent.owner, ":rev": expected_rev})
        with translated("dynamodb:PutItem"):
            self._clients.dynamodb().put_item(**write)


def _intent(row: dict[str, object]) -> Intent | None:
    try:
        return Intent.from_item(row)
    except ProtocolError:
        return None
