"""The agents' latest heartbeats in the observed table: controllers under `<cluster>#heartbeat`, nodes under `…#nodes`."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from proctor.adapters.aws_errors import translated
from proctor.adapters.items import from_item, to_attribute
from proctor.domain.agent_protocol import Heartbeat, ProtocolError, decode

if TYPE_CHECKING:
    from proctor.adapters.aws_clients import AwsClients


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """One heartbeat. `content` is None for one that this version can't read."""

    instance_id: str
    node: str
    role: str
    observed_at: datetime
    content: Heartbeat | None


class HeartbeatReader:
    """Reads heartbeats; one query a scope, and one for each further megabyte (about 1,500 agents)."""

    def __init__(self, clients: "AwsClients", table: str) -> None:
        """Take the clients and the table's name."""
        self._clients = clients
        self._table = table

    def beats(self, cluster: str) -> list[Beat]:
        """Every heartbeat of a cluster, controllers first."""
        nodes = [_beat(row) for row in self._rows(f"{cluster}#heartbeat#nodes")]
        return [*self.controllers(cluster), *nodes]

    def controllers(self, cluster: str) -> list[Beat]:
        """Those of the controllers' agents."""
        return [_beat(row) for row in self._rows(f"{cluster}#heartbeat")]

    def _rows(self, scope: str) -> Iterator[dict[str, Any]]:
        with translated("dynamodb:Query"):
            pages = (
                self._clients.dynamodb()
                .get_paginator("query")
                .paginate(
                    TableName=self._table,
                    KeyConditionExpression="#s = :scope",
                    ExpressionAttributeNames={"#s": "scope"},
                    ExpressionAttributeValues={":scope": to_attribute(scope)},
                )
            )
            for page in pages:
                yield from map(from_item, page["Items"])


def _beat(row: dict[str, Any]) -> Beat:
    names = {field.name for field in fields(Heartbeat)}
    nullable = {"intents_read_at": None, "slurm_read_at": None}
    try:
        content = decode(Heartbeat, {**nullable, **{k: v for k, v in row.items() if k in names}})
    except ProtocolError:
        content = None
    return Beat(
        instance_id=str(row["key"]),
        node=str(row.get("node", "")),
        role=str(row.get("role", "")),
        observed_at=datetime.fromtimestamp(int(row["observed_at"]), tz=UTC),
        content=content,
    )
