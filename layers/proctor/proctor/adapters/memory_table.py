"""Memory in DynamoDB: key `scope`, range `subject`.

The ledger of sessions keeps each session as an attribute of its own (`s#<session id>`), so that a start is one atomic
write on an item that may not exist yet, and its answer is the whole ledger. Counters are `counter` items, one a window.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from proctor.adapters.aws_errors import lost_item, translated, translated_put
from proctor.adapters.items import expiry, from_item, time_of, to_attribute, to_item
from proctor.domain.errors import LostRaceError
from proctor.domain.ledger import LedgerEntry, PersonLedger, SeenBy

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import PutItemInputTypeDef

    from proctor.adapters.aws_clients import AwsClients

_KEPT_DAYS = 60
_SESSION = "s#"


class DynamoSessionLedger:
    """Implements the SessionLedger port."""

    def __init__(
        self,
        clients: "AwsClients",
        table: str,
        scope: str,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Take the clients, the table's name and the scope (the function's ledger). `clock` serves retention only."""
        self._clients = clients
        self._table = table
        self._scope = scope
        self._clock = clock

    def note_started(self, holder: str, session_id: str, entry: LedgerEntry) -> PersonLedger:
        """One call; a second one when the session is known already, from the sweep only, and an event tells of it now."""
        try:
            return self._note(
                holder,
                session_id,
                "SET #s = :entry, expires_at = :expires ADD rev :one",
                "attribute_not_exists(#s)",
                {":entry": _entry_row(entry), ":one": 1, ":expires": expiry(entry.seen_at, _KEPT_DAYS)},
            )
        except LostRaceError as lost:
            stored = lost_item(lost)
            ledger = _ledger(holder, from_item(stored)) if stored else self.get(holder)
        known = ledger.entries.get(session_id)
        if known is None or (known.seen_by, entry.seen_by) != (SeenBy.SWEEP, SeenBy.EVENT):
            return ledger
        try:
            return self._note(
                holder,
                session_id,
                "SET #s.seen_by = :seen ADD rev :one",
                "attribute_exists(#s)",
                {":seen": entry.seen_by.value, ":one": 1},
            )
        except LostRaceError:
            return self.get(holder)

    def get(self, holder: str) -> PersonLedger:
        """One ledger, read consistently."""
        with translated("dynamodb:GetItem"):
            answer = self._clients.dynamodb().get_item(
                TableName=self._table, Key=self._key(holder), ConsistentRead=True
            )
        return (
            _ledger(holder, from_item(answer["Item"])) if answer.get("Item") else PersonLedger(holder=holder)
        )

    def all(self) -> Mapping[str, PersonLedger]:
        """Every ledger of the scope, page by page."""
        found: dict[str, PersonLedger] = {}
        with translated("dynamodb:Query"):
            pages = (
                self._clients.dynamodb()
                .get_paginator("query")
                .paginate(
                    TableName=self._table,
                    KeyConditionExpression="#p = :scope",
                    ExpressionAttributeNames={"#p": "scope"},
                    ExpressionAttributeValues={":scope": to_attribute(self._scope)},
                    ConsistentRead=True,
                )
            )
            for page in pages:
                for item in page["Items"]:
                    row = from_item(item)
                    found[row["subject"]] = _ledger(row["subject"], row)
        return found

    def swap(self, subject: str, data: object, expected_rev: int) -> None:
        """Write the whole ledger while its revision is still the expected one."""
        if not isinstance(data, PersonLedger):
            message = f"the ledger keeps PersonLedger, not {type(data).__name__}"
            raise TypeError(message)
        write: PutItemInputTypeDef = {
            "TableName": self._table,
            "Item": {**self._key(subject), **to_item(_ledger_row(data, expected_rev + 1, self._clock()))},
            "ConditionExpression": "attribute_not_exists(rev)",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        if expected_rev:
            write["ConditionExpression"] = "rev = :rev"
            write["ExpressionAttributeValues"] = {":rev": to_attribute(expected_rev)}
        with translated_put(write["Item"]):
            self._clients.dynamodb().put_item(**write)

    def release_intent(self, holder: str, session_id: str, token: str) -> None:
        """Take the intent off while it is still ours."""
        try:
            self._note(
                holder,
                session_id,
                "REMOVE #s.intent_until, #s.intent_token ADD rev :one",
                "#s.intent_token = :token",
                {":token": token, ":one": 1},
            )
        except LostRaceError:
            return

    def _note(
        self, holder: str, session_id: str, update: str, condition: str, values: Mapping[str, object]
    ) -> PersonLedger:
        with translated("dynamodb:UpdateItem"):
            answer = self._clients.dynamodb().update_item(
                TableName=self._table,
                Key=self._key(holder),
                UpdateExpression=update,
                ConditionExpression=condition,
                ExpressionAttributeNames={"#s": f"{_SESSION}{session_id}"},
                ExpressionAttributeValues=to_item(values),
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        return _ledger(holder, from_item(answer["Attributes"]))

    def _key(self, holder: str) -> dict[str, Any]:
        return to_item({"scope": self._scope, "subject": holder})


class DynamoCounters:
    """Implements the Counters port."""

    def __init__(self, clients: "AwsClients", table: str) -> None:
        """Take the clients and the table's name."""
        self._clients = clients
        self._table = table

    def spend(self, counter: str, limit: int, now: datetime, window_minutes: int) -> bool:
        """One conditional add on the item of the present window; windows start at whole multiples of their length."""
        if limit < 1:
            return False
        window = int(now.timestamp() // (60 * window_minutes))
        try:
            with translated("dynamodb:UpdateItem"):
                self._clients.dynamodb().update_item(
                    TableName=self._table,
                    Key=to_item({"scope": "counter", "subject": f"{counter}#{window_minutes}#{window}"}),
                    UpdateExpression="SET expires_at = :expires ADD spent :one",
                    ConditionExpression="attribute_not_exists(spent) OR spent < :limit",
                    ExpressionAttributeValues=to_item(
                        {":one": 1, ":limit": limit, ":expires": expiry(now, _KEPT_DAYS)}
                    ),
                )
        except LostRaceError:
            return False
        return True

    def first(self, mark: str, now: datetime) -> datetime:
        """One call: writes `now` as the latest time, and as the first unless one is there; returns the first."""
        with translated("dynamodb:UpdateItem"):
            answer = self._clients.dynamodb().update_item(
                TableName=self._table,
                Key=to_item({"scope": "mark", "subject": mark}),
                UpdateExpression="SET first_at = if_not_exists(first_at, :now), last_at = :now",
                ExpressionAttributeValues=to_item({":now": now}),
                ReturnValues="ALL_NEW",
            )
        return datetime.fromisoformat(from_item(answer["Attributes"])["first_at"])


def _entry_row(entry: LedgerEntry) -> dict[str, object]:
    return {
        "cluster": entry.cluster,
        "seen_by": entry.seen_by.value,
        "seen_at": entry.seen_at,
        "weight": entry.weight,
        "reason": entry.reason,
        "intent_until": entry.intent_until,
        "intent_token": entry.intent_token,
    }


def _entry(row: Mapping[str, Any]) -> LedgerEntry:
    return LedgerEntry(
        cluster=row["cluster"],
        seen_by=SeenBy(row["seen_by"]),
        seen_at=datetime.fromisoformat(row["seen_at"]),
        weight=row["weight"],
        reason=row.get("reason"),
        intent_until=time_of(row.get("intent_until")),
        intent_token=row.get("intent_token"),
    )


def _ledger_row(ledger: PersonLedger, rev: int, now: datetime) -> dict[str, object]:
    entries = {f"{_SESSION}{sid}": _entry_row(entry) for sid, entry in ledger.entries.items()}
    return {
        "rev": rev,
        "evicted_at": ledger.evicted_at,
        "burst_at": ledger.burst_at,
        "incident_at": ledger.incident_at,
        "unannounced": dict(ledger.unannounced),
        "expires_at": expiry(now, _KEPT_DAYS),
        **entries,
    }


def _ledger(holder: str, row: Mapping[str, Any]) -> PersonLedger:
    return PersonLedger(
        holder=holder,
        rev=row.get("rev", 0),
        entries={k.removeprefix(_SESSION): _entry(v) for k, v in row.items() if k.startswith(_SESSION)},
        evicted_at=tuple(datetime.fromisoformat(at) for at in row.get("evicted_at", ())),
        burst_at=tuple(datetime.fromisoformat(at) for at in row.get("burst_at", ())),
        incident_at=time_of(row.get("incident_at")),
        unannounced={sid: datetime.fromisoformat(at) for sid, at in row.get("unannounced", {}).items()},
    )
