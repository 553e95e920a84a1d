"""Reads of whole tables that only a person at a command line asks for; functions read by key."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from proctor.adapters.aws_errors import translated
from proctor.adapters.claims_table import DynamoClaims
from proctor.adapters.exemptions_table import DynamoExemptions, exemption_rows
from proctor.adapters.items import from_item, to_attribute, to_item
from proctor.adapters.people_table import DynamoPeople
from proctor.adapters.verdicts_table import DynamoVerdicts
from proctor.domain.claims import ClaimKey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import ScanInputPaginateTypeDef

MEGABYTES_AT_MOST = 25
"""How much of the verdicts table one command reads; what is left out is said."""


class PeopleRows(DynamoPeople):
    """The people directory with a read of everything."""

    def rows(self) -> dict[str, Mapping[str, Any]]:
        """Key → the person's record as stored. One call per megabyte, about 3,000 rows.

        A row that is no JSON object comes back empty: it equals no person, so the next load writes it anew.
        """
        found: dict[str, Mapping[str, Any]] = {}
        with translated("dynamodb:Scan"):
            pages = (
                self._clients.dynamodb()
                .get_paginator("scan")
                .paginate(TableName=self._table, ConsistentRead=True)
            )
            for page in pages:
                for row in map(from_item, page["Items"]):
                    found[row["key"]] = _record(row)
        return found


@dataclass(frozen=True, slots=True)
class VerdictRows:
    """Latest verdicts, newest first; `is_partial` when the table is larger than one command reads."""

    rows: tuple[Mapping[str, Any], ...]
    is_partial: bool


class VerdictReader(DynamoVerdicts):
    """The verdicts table with a read across subjects."""

    def latest_rows(self, holder: str | None = None) -> VerdictRows:
        """Latest verdicts of all subjects, or of one holder's sessions. One call per megabyte, at most 25."""
        scan: ScanInputPaginateTypeDef = {
            "TableName": self._table,
            "FilterExpression": "#at = :latest",
            "ExpressionAttributeNames": {"#at": "at"},
            "ExpressionAttributeValues": {":latest": to_attribute("latest")},
        }
        if holder is not None:
            scan["FilterExpression"] = "#at = :latest AND contains(inputs, :holder)"
            scan["ExpressionAttributeValues"] = to_item(
                {":latest": "latest", ":holder": f'"holder": {json.dumps(holder)}'}
            )
        found: list[dict[str, Any]] = []
        is_partial = False
        with translated("dynamodb:Scan"):
            pages = self._clients.dynamodb().get_paginator("scan").paginate(**scan)
            for number, page in enumerate(pages, start=1):
                found += map(from_item, page["Items"])
                is_partial = bool(page.get("LastEvaluatedKey"))
                if number == MEGABYTES_AT_MOST:
                    break
        found.sort(key=lambda row: str(row["decided_at"]), reverse=True)
        return VerdictRows(tuple(found), is_partial)


class ClaimReader(DynamoClaims):
    """The claims table with its audit fields."""

    def row(self, key: ClaimKey) -> dict[str, Any] | None:
        """Everything stored about one claim: who asked, why, how often it was tried."""
        with translated("dynamodb:GetItem"):
            answer = self._clients.dynamodb().get_item(
                TableName=self._table, Key=to_item({"claim": str(key)}), ConsistentRead=True
            )
        return from_item(answer["Item"]) if answer.get("Item") else None


class ExemptionRows(DynamoExemptions):
    """The exemptions table with a way to end a row early; the row stays for the audit."""

    def end(self, function: str, row_id: str, now: datetime, revoked_by: str) -> None:
        """Make a row end at `now`. Raises LostRaceError when it is gone."""
        with translated("dynamodb:UpdateItem"):
            self._clients.dynamodb().update_item(
                TableName=self._table,
                Key=to_item({"function": function, "id": row_id}),
                UpdateExpression="SET ends_at = :now, revoked_by = :by",
                ConditionExpression="attribute_exists(id)",
                ExpressionAttributeValues=to_item({":now": now, ":by": revoked_by}),
            )

    def ids(self, function: str) -> list[dict[str, Any]]:
        """All rows of a function with their ids."""
        return exemption_rows(self._clients, self._table, function)


def _record(row: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        record = json.loads(row["person"])
    except (KeyError, TypeError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}
