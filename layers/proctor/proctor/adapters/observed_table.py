"""Observed Slurm state in DynamoDB, read: key `scope` (`<cluster>#<section>`), range `key`.

A row's fields are those of its dataclass in domain/agent_protocol, beside `observed_at` (epoch seconds) and what else
agent_reports keeps; null fields may be missing. Rows come as deltas, so a row's age says nothing: the controller's heartbeat
is what is fresh.
"""

from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from proctor.adapters.aws_errors import translated
from proctor.adapters.items import from_item, to_attribute
from proctor.domain.agent_protocol import (
    Heartbeat,
    IntentResult,
    ObservedAssociation,
    ObservedJob,
    ObservedLimits,
    ObservedPartition,
    ObservedQos,
    ObservedUsage,
    ProtocolError,
    Role,
    Undone,
    decode,
)
from proctor.domain.errors import TerminalError
from proctor.domain.observed_rows import hour_key
from proctor.domain.slurm_state import SlurmView

if TYPE_CHECKING:
    from proctor.adapters.aws_clients import AwsClients

_READS_SLURM_WITHIN = timedelta(seconds=180)
"""An agent looks at everything once a minute; one that says so no more has a silent slurmctld."""


class DynamoSlurmState:
    """Implements the SlurmState port. One query a section, and one for each further megabyte; of usage only the asked hours."""

    def __init__(self, clients: "AwsClients", table: str) -> None:
        """Take the clients and the table's name."""
        self._clients = clients
        self._table = table

    def view(self, cluster: str, *, usage_since: datetime | None) -> SlurmView:
        """Every section that rules look at. Raises TerminalError for a row that is none."""
        acting = self._acting(cluster)
        limits = self._rows(ObservedLimits, cluster, "limits")
        return SlurmView(
            cluster=cluster,
            seen_at=acting[0] if acting else None,
            verbs=frozenset(acting[1].verbs) if acting else frozenset(),
            is_agent_dry_run=acting[1].is_dry_run if acting else False,
            node_count=self._count(cluster, "nodes"),
            partitions={row.name: row for row in self._rows(ObservedPartition, cluster, "partitions")},
            jobs=self._rows(ObservedJob, cluster, "jobs"),
            associations=self._rows(ObservedAssociation, cluster, "associations"),
            qos=self._rows(ObservedQos, cluster, "qos"),
            limits=limits[0] if limits else None,
            usage=self._usage(cluster, usage_since) if usage_since else (),
            results={row.sk: row for row in self._rows(IntentResult, cluster, "results")},
            undone=self._rows(Undone, cluster, "undone"),
        )

    def _acting(self, cluster: str) -> tuple[datetime, Heartbeat] | None:
        """The latest heartbeat of an acting controller, and as of when it speaks for Slurm."""
        found: list[tuple[datetime, Heartbeat]] = []
        for row in self._query(self._key(cluster, "heartbeat")):
            beat = _decoded(Heartbeat, row)
            if not beat.is_acting or row.get("role", Role.CONTROLLER.value) != Role.CONTROLLER.value:
                continue
            at = _observed_at(row)
            read_at = beat.slurm_read_at
            is_reading = read_at is not None and at - read_at <= _READS_SLURM_WITHIN
            if is_reading or read_at is not None:
                found.append((at if is_reading else read_at or at, beat))
        return max(found, key=lambda one: one[0], default=None)

    def _rows[T](self, kind: type[T], cluster: str, section: str) -> tuple[T, ...]:
        return tuple(_decoded(kind, row) for row in self._query(self._key(cluster, section)))

    def _usage(self, cluster: str, since: datetime) -> tuple[ObservedUsage, ...]:
        """Months of a busy cluster are many rows, and parsing them is most of a judgement: only what is needed of them."""
        arguments = self._key(cluster, "usage")
        names = {f"#f{n}": field.name for n, field in enumerate(fields(ObservedUsage))}
        arguments["ProjectionExpression"] = ", ".join((*names, "#s", "#k"))
        arguments["KeyConditionExpression"] += " AND #k >= :since"
        arguments["ExpressionAttributeNames"] |= {**names, "#k": "key"}
        arguments["ExpressionAttributeValues"][":since"] = to_attribute(hour_key(since))
        return tuple(_decoded(ObservedUsage, row) for row in self._query(arguments))

    def _query(self, arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
        with translated("dynamodb:Query"):
            for page in self._clients.dynamodb().get_paginator("query").paginate(**arguments):
                yield from map(from_item, page["Items"])

    def _count(self, cluster: str, section: str) -> int:
        with translated("dynamodb:Query"):
            pages = (
                self._clients.dynamodb()
                .get_paginator("query")
                .paginate(**self._key(cluster, section), Select="COUNT")
            )
            return sum(page["Count"] for page in pages)

    def _key(self, cluster: str, section: str) -> dict[str, Any]:
        return {
            "TableName": self._table,
            "KeyConditionExpression": "#s = :scope",
            "ExpressionAttributeNames": {"#s": "scope"},
            "ExpressionAttributeValues": {":scope": to_attribute(f"{cluster}#{section}")},
        }


def _decoded[T](kind: type[T], row: dict[str, Any]) -> T:
    """The row's own fields; everything else in the item is agent_reports' business."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    try:
        return decode(
            kind, {name: row.get(name) for name in names if name in row or _is_nullable(kind, name)}
        )
    except ProtocolError as error:
        raise TerminalError(f"observed {row.get('scope')} {row.get('key')}: {error}") from error


def _is_nullable(kind: type[Any], name: str) -> bool:
    return "None" in str(next(f.type for f in fields(kind) if f.name == name))


def _observed_at(row: dict[str, Any]) -> datetime:
    at = row["observed_at"]
    return datetime.fromtimestamp(at, tz=UTC) if isinstance(at, int) else datetime.fromisoformat(at)
