"""DynamoDB as Proctor's adapters use it: atomic item writes under conditions, consistent reads, paged queries."""

# ruff: noqa: N803 - arguments as AWS spells them

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from botocore.exceptions import ClientError

from tests.simulation.core.expressions import Item, condition, update

type Key = tuple[str, ...]
type Watch = Callable[[str, Key, Item | None, Item], None]

KEYS = {
    "claims": ("claim",),
    "verdicts": ("subject", "at"),
    "memory": ("scope", "subject"),
    "people": ("key",),
    "exemptions": ("function", "id"),
}
"""Table → key attributes, as in template.yaml."""

_PAGE = 7
"""Rows a page of a query: small, so that paging is exercised."""


class Call(Protocol):
    """Makes a call: its name and its effect."""

    def __call__[R](self, operation: str, effect: Callable[[], R], /) -> R: ...


def at_once[R](operation: str, effect: Callable[[], R], /) -> R:
    """A call without faults and without time."""
    del operation
    return effect()


class SimulatedTables:
    """Items of all tables. `watch` is called with table, key, old and new item at each write."""

    def __init__(self) -> None:
        self.items: dict[str, dict[Key, Item]] = {name: {} for name in KEYS}
        self.watch: Watch | None = None

    def client(self, call: Call) -> "SimulatedDynamo":
        """A client whose calls go through `call`."""
        return SimulatedDynamo(self, call)

    def write(self, table: str, item: Item) -> None:
        """Store an item whole."""
        key = key_of(table, item)
        old = self.items[table].get(key)
        self.items[table][key] = item
        if self.watch is not None:
            self.watch(table, key, old, item)


def key_of(table: str, item: Mapping[str, Any]) -> Key:
    """The key of an item."""
    return tuple(item[name]["S"] for name in KEYS[table])


def _copied(item: Item) -> Item:
    """Deep enough: documents are one level deep, and nobody changes an attribute value in place."""
    return {name: {"M": dict(value["M"])} if "M" in value else value for name, value in item.items()}


class SimulatedDynamo:
    """The client: only what the adapters call."""

    def __init__(self, tables: SimulatedTables, call: Call) -> None:
        self._tables = tables
        self._call = call

    def get_item(self, *, TableName: str, Key: Item, ConsistentRead: bool) -> dict[str, Any]:
        def effect() -> dict[str, Any]:
            item = self._tables.items[TableName].get(key_of(TableName, Key))
            return {"Item": item} if item is not None else {}

        if not ConsistentRead:
            message = f"{TableName}: decisions need consistent reads"
            raise AssertionError(message)
        return self._call(f"dynamodb:GetItem {TableName}", effect)

    def put_item(self, *, TableName: str, Item: Item, **extra: Any) -> dict[str, Any]:
        def effect() -> dict[str, Any]:
            self._require(TableName, Item, extra)
            self._tables.write(TableName, Item)
            return {}

        return self._call(f"dynamodb:PutItem {TableName}", effect)

    def update_item(
        self,
        *,
        TableName: str,
        Key: Item,
        UpdateExpression: str,
        **extra: Any,
    ) -> dict[str, Any]:
        def effect() -> dict[str, Any]:
            self._require(TableName, Key, extra)
            stored = self._tables.items[TableName].get(key_of(TableName, Key))
            item = _copied(stored) if stored is not None else dict(Key)
            names = extra.get("ExpressionAttributeNames", {})
            update(UpdateExpression, item, names, extra.get("ExpressionAttributeValues", {}))
            self._tables.write(TableName, item)
            return {"Attributes": item} if extra.get("ReturnValues") == "ALL_NEW" else {}

        return self._call(f"dynamodb:UpdateItem {TableName}", effect)

    def batch_get_item(self, *, RequestItems: Mapping[str, Any]) -> dict[str, Any]:
        ((table, request),) = RequestItems.items()

        def effect() -> dict[str, Any]:
            rows = self._tables.items[table]
            found = [rows[k] for k in (key_of(table, key) for key in request["Keys"]) if k in rows]
            return {"Responses": {table: found}}

        return self._call(f"dynamodb:BatchGetItem {table}", effect)

    def batch_write_item(self, *, RequestItems: Mapping[str, Any]) -> dict[str, Any]:
        ((table, requests),) = RequestItems.items()

        def effect() -> dict[str, Any]:
            for request in requests:
                self._tables.write(table, request["PutRequest"]["Item"])
            return {}

        return self._call(f"dynamodb:BatchWriteItem {table}", effect)

    def transact_write_items(self, *, TransactItems: list[dict[str, Any]]) -> dict[str, Any]:
        puts = [entry["Put"] for entry in TransactItems]

        def effect() -> dict[str, Any]:
            for put in puts:
                self._require(put["TableName"], put["Item"], put)
            for put in puts:
                self._tables.write(put["TableName"], put["Item"])
            return {}

        return self._call(f"dynamodb:TransactWriteItems {puts[0]['TableName']}", effect)

    def get_paginator(self, operation: str) -> "_Paginator":
        return _Paginator(self, operation)

    def page(self, operation: str, request: Mapping[str, Any], start: int) -> dict[str, Any]:
        """Rows from number `start` on of a query by partition key."""
        table = request["TableName"]
        (partition,) = request["ExpressionAttributeValues"].values()

        def effect() -> dict[str, Any]:
            rows = self._tables.items[table]
            keys = sorted(k for k in rows if k[0] == partition["S"])
            return {
                "Items": [rows[k] for k in keys[start : start + _PAGE]],
                "more": len(keys) > start + _PAGE,
            }

        return self._call(f"dynamodb:{operation} {table}", effect)

    def _require(self, table: str, target: Item, extra: Mapping[str, Any]) -> None:
        text = extra.get("ConditionExpression")
        if text is None:
            return
        stored = self._tables.items[table].get(key_of(table, target))
        names = extra.get("ExpressionAttributeNames", {})
        if condition(text)(stored or {}, names, extra.get("ExpressionAttributeValues", {})):
            return
        answer: dict[str, Any] = {
            "Error": {"Code": "ConditionalCheckFailedException", "Message": "The conditional request failed"}
        }
        if stored is not None and extra.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD":
            answer["Item"] = stored
        raise ClientError(answer, "conditional write")  # type: ignore[arg-type]


class _Paginator:
    def __init__(self, client: SimulatedDynamo, operation: str) -> None:
        self._client = client
        self._operation = operation.title()

    def paginate(self, **request: Any) -> Iterator[dict[str, Any]]:
        start = 0
        while True:
            page = self._client.page(self._operation, request, start)
            yield page
            if not page["more"]:
                return
            start += _PAGE
