"""Reads the agent's own partition of the intents table: one consistent Query, all pages or an error."""

from collections.abc import Mapping
from typing import Any

from proctor_agent.aws.client import JsonClient, Service
from proctor_agent.errors import AwsError

DYNAMODB = Service("dynamodb", "DynamoDB_20120810", "1.0")
_MOST_PAGES = 50


class IntentsTable:
    """`Query` with the partition key and nothing else: all that the node's role may do."""

    def __init__(self, client: JsonClient, table: str) -> None:
        """Use this client and table."""
        self._client = client
        self._table = table

    def query(self, pk: str) -> list[dict[str, Any]]:
        """Every item of the partition as plain values. A partial read is an error, never a short list."""
        body: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": {"S": pk}},
            "ConsistentRead": True,
        }
        items: list[dict[str, Any]] = []
        for _ in range(_MOST_PAGES):
            page = self._client.call("Query", body)
            found = page.get("Items")
            if not isinstance(found, list):
                raise AwsError("BadAnswer", "dynamodb Query: no Items")
            items.extend({key: plain(value) for key, value in item.items()} for item in found)
            if not page.get("LastEvaluatedKey"):
                return items
            body["ExclusiveStartKey"] = page["LastEvaluatedKey"]
        raise AwsError("TooManyPages", f"dynamodb Query: more than {_MOST_PAGES} pages of intents")


def plain(value: Any) -> Any:
    """One attribute value without its type letter: S, N (whole), BOOL, NULL, M, L, SS."""
    if not isinstance(value, Mapping) or len(value) != 1:
        raise AwsError("BadAnswer", f"not an attribute value: {value!r:.60}")
    ((kind, content),) = value.items()
    if kind in {"S", "BOOL"}:
        return content
    if kind == "N":
        return int(content) if content.lstrip("-").isdigit() else content
    if kind == "NULL":
        return None
    if kind == "M":
        return {key: plain(inner) for key, inner in content.items()}
    if kind in {"L", "SS"}:
        return [plain(inner) if kind == "L" else inner for inner in content]
    raise AwsError("BadAnswer", f"attribute type {kind!r:.10} is not used in intents")
