"""Exemptions in DynamoDB: key `function`, range `id`. A few dozen rows at most, read together and kept for 60 s."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from proctor.adapters.aws_errors import translated
from proctor.adapters.items import expiry, from_item, to_attribute, to_item
from proctor.domain.exemptions import Exemption

if TYPE_CHECKING:
    from proctor.adapters.aws_clients import AwsClients

_KEPT_SECONDS = 60.0
_KEPT_DAYS_AFTER_END = 400


class DynamoExemptions:
    """Implements the ExemptionStore port, and the writing side for `proctor exempt`."""

    def __init__(
        self, clients: "AwsClients", table: str, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Take the clients and the table's name."""
        self._clients = clients
        self._table = table
        self._monotonic = monotonic
        self._read: dict[str, tuple[float, tuple[Exemption, ...]]] = {}

    def for_function(self, function: str) -> Sequence[Exemption]:
        """All rows of a function, cached for 60 s."""
        kept = self._read.get(function)
        if kept is None or self._monotonic() - kept[0] >= _KEPT_SECONDS:
            rows = exemption_rows(self._clients, self._table, function)
            kept = (self._monotonic(), tuple(map(_exemption, rows)))
            self._read[function] = kept
        return kept[1]

    def put(self, function: str, exemption: Exemption) -> None:
        """Grant: one row per person, cluster and end."""
        row = {
            "function": function,
            "id": f"{exemption.login_name}#{exemption.cluster or '*'}#{exemption.ends_at.isoformat()}",
            "login_name": exemption.login_name,
            "ends_at": exemption.ends_at,
            "granted_by": exemption.granted_by,
            "justification": exemption.justification,
            "max_sessions": exemption.max_sessions,
            "cluster": exemption.cluster,
            "expires_at": expiry(exemption.ends_at, _KEPT_DAYS_AFTER_END),
        }
        with translated("dynamodb:PutItem"):
            self._clients.dynamodb().put_item(TableName=self._table, Item=to_item(row))


def exemption_rows(clients: "AwsClients", table: str, function: str) -> list[dict[str, Any]]:
    """All rows of a function, all pages."""
    found: list[dict[str, Any]] = []
    with translated("dynamodb:Query"):
        pages = (
            clients.dynamodb()
            .get_paginator("query")
            .paginate(
                TableName=table,
                KeyConditionExpression="#f = :f",
                ExpressionAttributeNames={"#f": "function"},
                ExpressionAttributeValues={":f": to_attribute(function)},
            )
        )
        for page in pages:
            found += map(from_item, page["Items"])
    return found


def _exemption(row: Mapping[str, Any]) -> Exemption:
    return Exemption(
        login_name=row["login_name"],
        ends_at=datetime.fromisoformat(row["ends_at"]),
        granted_by=row["granted_by"],
        justification=row["justification"],
        max_sessions=row.get("max_sessions"),
        cluster=row.get("cluster"),
    )
