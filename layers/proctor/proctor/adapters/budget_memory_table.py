"""Memory of budget_holds in DynamoDB: key `scope`, range `subject` (`<cluster>#<budget>`), the rest as one JSON text."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from proctor.adapters.aws_errors import translated, translated_put
from proctor.adapters.items import expiry, from_item, to_attribute, to_item
from proctor.domain.budgets_memory import BudgetMemory, from_record, to_record
from proctor.domain.errors import TerminalError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import PutItemInputTypeDef

    from proctor.adapters.aws_clients import AwsClients

_SCOPE = "budget_holds#budget"
_KEPT_DAYS = 800
"""Longer than an annual budget and the year after it."""


class DynamoBudgetMemory:
    """Implements the BudgetMemoryStore port."""

    def __init__(self, clients: "AwsClients", table: str) -> None:
        """Take the clients and the table's name."""
        self._clients = clients
        self._table = table

    def get(self, subject: str) -> BudgetMemory:
        """One item, read consistently."""
        with translated("dynamodb:GetItem"):
            answer = self._clients.dynamodb().get_item(
                TableName=self._table, Key=to_item({"scope": _SCOPE, "subject": subject}), ConsistentRead=True
            )
        return _memory(from_item(answer["Item"])) if answer.get("Item") else BudgetMemory()

    def all(self, cluster: str) -> Mapping[str, BudgetMemory]:
        """All pages of one cluster."""
        found: dict[str, BudgetMemory] = {}
        with translated("dynamodb:Query"):
            pages = (
                self._clients.dynamodb()
                .get_paginator("query")
                .paginate(
                    TableName=self._table,
                    KeyConditionExpression="#p = :scope AND begins_with(subject, :cluster)",
                    ExpressionAttributeNames={"#p": "scope"},
                    ExpressionAttributeValues={
                        ":scope": to_attribute(_SCOPE),
                        ":cluster": to_attribute(f"{cluster}#"),
                    },
                    ConsistentRead=True,
                )
            )
            for page in pages:
                for row in map(from_item, page["Items"]):
                    found[row["subject"]] = _memory(row)
        return found

    def swap(self, subject: str, data: object, expected_rev: int) -> None:
        """Write while the revision is still the expected one. Raises LostRaceError."""
        if not isinstance(data, BudgetMemory):
            message = f"this memory keeps BudgetMemory, not {type(data).__name__}"
            raise TypeError(message)
        kept_from = data.period.end_at if data.period is not None else datetime.now(UTC)
        write: PutItemInputTypeDef = {
            "TableName": self._table,
            "Item": to_item(
                {
                    "scope": _SCOPE,
                    "subject": subject,
                    "rev": expected_rev + 1,
                    "memory": json.dumps(to_record(data), sort_keys=True),
                    "expires_at": expiry(kept_from, _KEPT_DAYS),
                }
            ),
            "ConditionExpression": "attribute_not_exists(rev)",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        if expected_rev:
            write["ConditionExpression"] = "rev = :rev"
            write["ExpressionAttributeValues"] = {":rev": to_attribute(expected_rev)}
        with translated_put(write["Item"]):
            self._clients.dynamodb().put_item(**write)


def _memory(row: Mapping[str, Any]) -> BudgetMemory:
    try:
        return from_record(json.loads(row["memory"]), row["rev"])
    except (KeyError, ValueError, TypeError) as error:
        raise TerminalError(f"the memory of budget {row.get('subject')} can't be read: {error!r}") from error
