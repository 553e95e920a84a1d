"""Agents in DynamoDB: key `agent` (`<cluster>#<instance id>`). The table is encrypted with our key; nothing logs a row of it.

Kept 400 days after the last report, so that a node's first key stays its first for as long as the node can live.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from proctor.adapters.aws_errors import translated, translated_put
from proctor.adapters.items import expiry, from_item, time_of, to_attribute, to_item
from proctor.domain.agent_protocol import Role
from proctor.domain.agents import AgentRecord, AgentSeen, AgentState, Progress, SnapshotParts
from proctor.domain.errors import TerminalError

if TYPE_CHECKING:
    from proctor.adapters.aws_clients import AwsClients

_KEPT_DAYS = 400
_SEEN = ("agent", "cluster", "instance_id", "role", "node", "state", "last_seen_at", "silent_since", "rev")


class DynamoAgents:
    """Implements the AgentRegistry port."""

    def __init__(self, clients: "AwsClients", table: str) -> None:
        """Take the clients and the table's name."""
        self._clients = clients
        self._table = table

    def get(self, cluster: str, instance_id: str) -> AgentRecord | None:
        """One agent, read consistently."""
        with translated("dynamodb:GetItem"):
            answer = self._clients.dynamodb().get_item(
                TableName=self._table, Key=agent_key(cluster, instance_id), ConsistentRead=True
            )
        return _record(from_item(answer["Item"])) if answer.get("Item") else None

    def all(self) -> Sequence[AgentSeen]:
        """All pages, without keys."""
        found: list[AgentSeen] = []
        names = {f"#{n}": name for n, name in enumerate(_SEEN)}
        with translated("dynamodb:Scan"):
            pages = (
                self._clients.dynamodb()
                .get_paginator("scan")
                .paginate(
                    TableName=self._table,
                    ProjectionExpression=", ".join(names),
                    ExpressionAttributeNames=names,
                )
            )
            for page in pages:
                found += [_seen(from_item(item)) for item in page["Items"]]
        return found

    def enrol(self, record: AgentRecord) -> None:
        """One conditional write: of two keys at once exactly one is first."""
        item = agent_item(record)
        with translated_put(item):
            self._clients.dynamodb().put_item(
                TableName=self._table,
                Item=item,
                ConditionExpression="attribute_not_exists(#a)",
                ExpressionAttributeNames={"#a": "agent"},
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )

    def swap(self, record: AgentRecord) -> None:
        """One conditional write over the revision that was read."""
        item = agent_item(record)
        with translated_put(item):
            self._clients.dynamodb().put_item(
                TableName=self._table,
                Item=item,
                ConditionExpression="rev = :rev",
                ExpressionAttributeValues={":rev": to_attribute(record.rev)},
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )

    def approve(self, record: AgentRecord, key: bytes) -> None:
        """One conditional write. Another key is another start: its messages are counted anew."""
        is_same = key == record.key
        changes = {
            "key": key.hex(),
            "state": AgentState.ENROLLED.value,
            "rev": record.rev + 1,
            **_progress_row(record.progress if is_same else Progress()),
        }
        names = {f"#{n}": name for n, name in enumerate(changes)}
        values = {f":{n}": to_attribute(value) for n, value in enumerate(changes.values())}
        settings = ", ".join(f"#{n} = :{n}" for n in range(len(changes)))
        with translated("dynamodb:UpdateItem"):
            self._clients.dynamodb().update_item(
                TableName=self._table,
                Key=agent_key(record.cluster, record.instance_id),
                UpdateExpression=f"SET {settings} REMOVE contender, contender_role",
                ConditionExpression="rev = :known",
                ExpressionAttributeNames=names,
                ExpressionAttributeValues={**values, ":known": to_attribute(record.rev)},
            )


def agent_key(cluster: str, instance_id: str) -> dict[str, Any]:
    """The key of an agent's item."""
    return to_item({"agent": f"{cluster}#{instance_id}"})


def agent_item(record: AgentRecord) -> dict[str, Any]:
    """An agent as it is stored over revision `record.rev`."""
    return to_item(
        {
            "agent": f"{record.cluster}#{record.instance_id}",
            "cluster": record.cluster,
            "instance_id": record.instance_id,
            "role": record.role.value,
            "node": record.node,
            "key": record.key.hex() if record.key is not None else None,
            "state": record.state.value,
            "enrolled_at": record.enrolled_at,
            "last_seen_at": record.last_seen_at,
            "contender": record.contender.hex() if record.contender is not None else None,
            "contender_role": record.contender_role.value if record.contender_role is not None else None,
            "silent_since": record.silent_since,
            **_progress_row(record.progress),
            "rev": record.rev + 1,
            "expires_at": expiry(record.last_seen_at, _KEPT_DAYS),
        }
    )


def _progress_row(progress: Progress) -> dict[str, object]:
    return {
        "boot_id": progress.boot_id,
        "sequence": progress.sequence,
        "window": progress.window,
        "removed_at_sequence": progress.removed_at_sequence,
        "parts": json.dumps(_parts_row(progress.parts)),
        "whole_at": progress.whole_at.isoformat() if progress.whole_at is not None else "",
    }


def _parts_row(parts: SnapshotParts | None) -> dict[str, object] | None:
    """As JSON: `seen` has a bit a part, more than a number of DynamoDB's holds."""
    if parts is None:
        return None
    return {
        "snapshot": parts.snapshot,
        "first_sequence": parts.first_sequence,
        "first_sent_at": parts.first_sent_at.isoformat(),
        "seen": parts.seen,
        "count": parts.count,
    }


def _parts(raw: Mapping[str, Any] | None) -> SnapshotParts | None:
    if raw is None:
        return None
    return SnapshotParts(
        snapshot=raw["snapshot"],
        first_sequence=raw["first_sequence"],
        first_sent_at=datetime.fromisoformat(raw["first_sent_at"]),
        seen=raw["seen"],
        count=raw["count"],
    )


def _record(row: Mapping[str, Any]) -> AgentRecord:
    """Raises TerminalError for a row that is none, naming the agent and nothing of the row."""
    try:
        return AgentRecord(
            cluster=row["cluster"],
            instance_id=row["instance_id"],
            role=Role(row["role"]),
            node=row["node"],
            key=bytes.fromhex(row["key"]) if row.get("key") else None,
            state=AgentState(row["state"]),
            enrolled_at=datetime.fromisoformat(row["enrolled_at"]),
            last_seen_at=datetime.fromisoformat(row["last_seen_at"]),
            contender=bytes.fromhex(row["contender"]) if row.get("contender") else None,
            contender_role=Role(row["contender_role"]) if row.get("contender_role") else None,
            silent_since=time_of(row.get("silent_since")),
            progress=Progress(
                boot_id=row["boot_id"],
                sequence=row["sequence"],
                window=row["window"],
                removed_at_sequence=row["removed_at_sequence"],
                parts=_parts(json.loads(row["parts"])),
                whole_at=time_of(row["whole_at"] or None),
            ),
            rev=row["rev"],
        )
    except (KeyError, TypeError, ValueError):
        message = f"agents table: the row of {row.get('agent', '?')} can't be read; remove it, and the agent enrols again"
        raise TerminalError(message) from None


def _seen(row: Mapping[str, Any]) -> AgentSeen:
    return AgentSeen(
        cluster=row["cluster"],
        instance_id=row["instance_id"],
        role=Role(row["role"]),
        node=row["node"],
        state=AgentState(row["state"]),
        last_seen_at=datetime.fromisoformat(row["last_seen_at"]),
        silent_since=time_of(row.get("silent_since")),
        rev=row["rev"],
    )
