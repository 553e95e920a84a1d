"""Observed state in DynamoDB, written: key `scope`, range `key`; laid out in domain/observed_rows, read by observed_table.

By TransactWriteItems, 100 items a call: BatchWriteItem takes 25 and no condition, and a queue may hand two messages of one
agent to two evaluators at once. Each call is bound to the agent's revision as it was read (docs/decisions/0008).
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from proctor.adapters.agents_table import agent_item, agent_key
from proctor.adapters.aws_errors import failed_conditions, translated
from proctor.adapters.items import from_item, to_attribute, to_item
from proctor.domain.agent_writes import Forget, ReportWrite
from proctor.domain.errors import LostRaceError
from proctor.domain.observed_rows import RowGone, RowPut

if TYPE_CHECKING:
    from proctor.adapters.aws_clients import AwsClients

type _Operation = Any

ROWS_AT_ONCE = 99
"""Of a transaction's 100 items, one is the agent's."""

_OLDER = "attribute_not_exists(said) OR sender <> :sender OR said < :said"
_OLDER_AND_THERE = "attribute_exists(said) AND (sender <> :sender OR said < :said)"


class DynamoObserved:
    """Implements the ObservedStore port."""

    def __init__(self, clients: "AwsClients", table: str, agents_table: str) -> None:
        """Take the clients and the names of both tables."""
        self._clients = clients
        self._table = table
        self._agents_table = agents_table

    def apply(self, write: ReportWrite) -> None:
        """Rows first, the agent's progress with the last of them: cut off in between, the message is applied again."""
        operations = [self._put(row, write) for row in write.rows.puts]
        operations += [self._delete(row, write) for row in write.rows.gone]
        chunks = [operations[i : i + ROWS_AT_ONCE] for i in range(0, len(operations), ROWS_AT_ONCE)]
        last = chunks.pop() if chunks and write.forget is None else []
        for chunk in chunks:
            self._transact(chunk, self._unchanged(write))
        if write.forget is not None:
            for chunk in self._forgotten(write.forget):
                self._transact(chunk, self._unchanged(write))
        self._transact(last, self._agent(write))

    def _transact(self, operations: Sequence[_Operation], agent: _Operation) -> None:
        """Rows whose condition fails are newer than the message: they stay, and the others are written without them."""
        left = list(operations)
        while True:
            try:
                with translated("dynamodb:TransactWriteItems"):
                    self._clients.dynamodb().transact_write_items(TransactItems=[agent, *left])
            except LostRaceError as lost:
                failed = failed_conditions(lost)
                if not failed or 0 in failed:
                    raise
                left = [operation for n, operation in enumerate(left, 1) if n not in failed]
            else:
                return

    def _put(self, row: RowPut, write: ReportWrite) -> _Operation:
        item = to_item({**row.fields, "scope": row.scope, "key": row.key, "expires_at": row.expires_at})
        operation: _Operation = {"TableName": self._table, "Item": item}
        if write.is_late:
            # What a later message took away must not come back.
            is_after_removals = write.said > write.removed_at
            operation |= _guarded(_OLDER if is_after_removals else _OLDER_AND_THERE, write)
        return {"Put": operation}

    def _delete(self, row: RowGone, write: ReportWrite) -> _Operation:
        operation: _Operation = {
            "TableName": self._table,
            "Key": to_item({"scope": row.scope, "key": row.key}),
        }
        if write.is_late:
            operation |= _guarded(_OLDER, write)
        return {"Delete": operation}

    def _unchanged(self, write: ReportWrite) -> _Operation:
        record = write.record
        return {
            "ConditionCheck": {
                "TableName": self._agents_table,
                "Key": agent_key(record.cluster, record.instance_id),
                "ConditionExpression": "rev = :rev",
                "ExpressionAttributeValues": {":rev": to_attribute(record.rev)},
            }
        }

    def _agent(self, write: ReportWrite) -> _Operation:
        return {
            "Put": {
                "TableName": self._agents_table,
                "Item": agent_item(write.record),
                "ConditionExpression": "rev = :rev",
                "ExpressionAttributeValues": {":rev": to_attribute(write.record.rev)},
            }
        }

    def _forgotten(self, forget: Forget) -> Iterator[list[_Operation]]:
        """Deletes of what a whole snapshot did not name, each only while the row is the one that was read."""
        pending: list[_Operation] = []
        for section in forget.sections:
            for row in self._stale(f"{forget.cluster}#{section}", forget):
                pending.append(row)
                if len(pending) == ROWS_AT_ONCE:
                    yield pending
                    pending = []
        if pending:
            yield pending

    def _stale(self, scope: str, forget: Forget) -> Iterator[_Operation]:
        before_at = int(forget.before_at.timestamp())
        with translated("dynamodb:Query"):
            pages = (
                self._clients.dynamodb()
                .get_paginator("query")
                .paginate(
                    TableName=self._table,
                    KeyConditionExpression="#s = :scope",
                    ProjectionExpression="#k, said, sender, observed_at",
                    ExpressionAttributeNames={"#s": "scope", "#k": "key"},
                    ExpressionAttributeValues={":scope": to_attribute(scope)},
                )
            )
            for page in pages:
                for row in map(from_item, page["Items"]):
                    is_own = row["sender"] == forget.sender
                    if row["said"] < forget.before_said if is_own else row["observed_at"] < before_at:
                        yield self._forgotten_row(scope, row["key"], row["said"])

    def _forgotten_row(self, scope: str, key: str, was_said: str) -> _Operation:
        return {
            "Delete": {
                "TableName": self._table,
                "Key": to_item({"scope": scope, "key": key}),
                "ConditionExpression": "said = :said",
                "ExpressionAttributeValues": {":said": to_attribute(was_said)},
            }
        }


def _guarded(condition: str, write: ReportWrite) -> _Operation:
    return {
        "ConditionExpression": condition,
        "ExpressionAttributeValues": to_item({":sender": write.record.instance_id, ":said": write.said}),
    }
