"""Verdicts in DynamoDB: key `subject`, range `at` (`latest`, or `at#<time>` for a superseded one).

A subject seen for the first time costs one call. A changed verdict costs two: the old one moves into history in the
transaction that writes the new one. An unchanged one costs one refused write. A verdict that arrives after a newer one goes
straight into history.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from proctor.adapters.aws_errors import lost_item, translated
from proctor.adapters.items import expiry, from_item, json_field, to_attribute, to_item
from proctor.adapters.texts import cut
from proctor.domain.decision import Outcome, RunContext
from proctor.domain.errors import LostRaceError

if TYPE_CHECKING:
    from proctor.adapters.aws_clients import AwsClients

_KEPT_DAYS = 90
_LATEST = "latest"
_TEXT_AT_MOST = 2048
_RACES = 3


class DynamoVerdicts:
    """Implements the VerdictStore port, and the reading side for `proctor why`."""

    def __init__(self, clients: "AwsClients", table: str) -> None:
        """Take the clients and the table's name."""
        self._clients = clients
        self._table = table

    def record(self, outcome: Outcome, context: RunContext) -> None:
        """Write if it differs from what is stored."""
        row = as_row(outcome, context)
        try:
            with translated("dynamodb:PutItem"):
                self._clients.dynamodb().put_item(
                    TableName=self._table,
                    Item=to_item(row),
                    ConditionExpression="attribute_not_exists(subject)",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except LostRaceError as lost:
            self._record_over(lost_item(lost), row)

    def latest(self, subject: str) -> dict[str, Any] | None:
        """The latest verdict on a subject as plain values."""
        item = self._latest(subject)
        return from_item(item) if item else None

    def history(self, subject: str) -> list[dict[str, Any]]:
        """All verdicts on a subject, newest first, the latest included."""
        rows: list[dict[str, Any]] = []
        with translated("dynamodb:Query"):
            pages = (
                self._clients.dynamodb()
                .get_paginator("query")
                .paginate(
                    TableName=self._table,
                    KeyConditionExpression="subject = :s",
                    ExpressionAttributeValues={":s": to_attribute(subject)},
                )
            )
            for page in pages:
                rows += [from_item(item) for item in page["Items"]]
        return sorted(rows, key=lambda r: str(r["decided_at"]), reverse=True)

    def _record_over(self, stored: Mapping[str, Any] | None, row: Mapping[str, Any]) -> None:
        """Each lost race means that another evaluator has just recorded something: look at that, and at last step aside."""
        for _ in range(_RACES):
            stored = stored or self._latest(row["subject"])
            old = from_item(stored) if stored else None
            if old is None or old["digest"] == row["digest"]:
                return
            if datetime.fromisoformat(old["decided_at"]) > datetime.fromisoformat(row["decided_at"]):
                break
            if self._supersede(old, row):
                return
            stored = None
        self._keep(row)

    def _latest(self, subject: str) -> dict[str, Any] | None:
        with translated("dynamodb:GetItem"):
            answer = self._clients.dynamodb().get_item(
                TableName=self._table, Key=to_item({"subject": subject, "at": _LATEST}), ConsistentRead=True
            )
        return dict(answer["Item"]) if answer.get("Item") else None

    def _supersede(self, old: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
        """False when another evaluator was first."""
        try:
            with translated("dynamodb:TransactWriteItems"):
                self._clients.dynamodb().transact_write_items(
                    TransactItems=[
                        {
                            "Put": {
                                "TableName": self._table,
                                "Item": to_item(row),
                                "ConditionExpression": "digest = :d",
                                "ExpressionAttributeValues": {":d": to_attribute(old["digest"])},
                            }
                        },
                        {"Put": {"TableName": self._table, "Item": to_item(_past(old))}},
                    ]
                )
        except LostRaceError:
            return False
        return True

    def _keep(self, row: Mapping[str, Any]) -> None:
        with translated("dynamodb:PutItem"):
            self._clients.dynamodb().put_item(TableName=self._table, Item=to_item(_past(row)))


def _past(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as it stands in history. The digest keeps two of one moment apart."""
    return {**row, "at": f"at#{row['decided_at']}#{row['digest']}"}


def as_row(outcome: Outcome, context: RunContext) -> dict[str, Any]:
    """One verdict with its outcome, as stored. The digest leaves out text, times and inputs, which change without news."""
    verdict = outcome.verdict
    action = verdict.action.verb if verdict.action else None
    news = [
        verdict.rule,
        verdict.reason,
        action,
        outcome.status.value,
        outcome.detail,
        verdict.policy_version,
        verdict.news,
    ]
    return {
        "subject": verdict.subject,
        "at": _LATEST,
        "function": context.function,
        "cluster": verdict.cluster,
        "rule": verdict.rule,
        "reason": verdict.reason,
        "text": cut(verdict.text, _TEXT_AT_MOST),
        "action": action,
        "outcome": outcome.status.value,
        "detail": cut(outcome.detail, _TEXT_AT_MOST),
        "policy_version": verdict.policy_version,
        "inputs": json_field(dict(verdict.inputs)),
        "trigger": context.trigger,
        "actor": context.actor,
        "decided_at": context.now.isoformat(),
        "digest": hashlib.sha256(json.dumps(news).encode()).hexdigest()[:16],
        "expires_at": expiry(context.now, _KEPT_DAYS),
    }
