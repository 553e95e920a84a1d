"""Change events on EventBridge: source `proctor.observed`, detail-type `Observed Changed`, detail `{"cluster", "kind"}`.

One per cluster and kind in ten seconds, over all evaluators: an item (`<cluster>#announced`, kind) of the observed table holds
when the last one went out. What comes sooner is noted there, and told by the next change after that time or by the sweep.
"""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from proctor.adapters.aws_errors import translated
from proctor.adapters.items import expiry, from_item, to_attribute, to_item
from proctor.domain.errors import LostRaceError, TerminalError, TransientError

if TYPE_CHECKING:
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef

    from proctor.adapters.aws_clients import AwsClients
    from proctor.ports import Telemetry

SOURCE = "proctor.observed"
QUIET_SECONDS = 10
_AT_ONCE = 10
_SKEW_SECONDS = 5
_KEPT_DAYS = 30


class EventBridgeChanges:
    """Implements the ChangeAnnouncer port. Per kind one write, and one event call for all kinds that are due."""

    def __init__(self, clients: "AwsClients", bus: str, table: str, telemetry: "Telemetry") -> None:
        """Take the clients, the bus, the observed table and where failures are counted."""
        self._clients = clients
        self._bus = bus
        self._table = table
        self._telemetry = telemetry
        self._noted: dict[tuple[str, str], datetime] = {}

    def announce(self, cluster: str, kinds: Iterable[str] | None, now: datetime) -> None:
        """Those that are due at once; the others are noted. None: one query, then what was noted and is due."""
        wanted = self._held_back(cluster) if kinds is None else kinds
        due = [kind for kind in wanted if self._is_due(cluster, kind, now)]
        self._tell(cluster, due, now)

    def _held_back(self, cluster: str) -> list[str]:
        with translated("dynamodb:Query"):
            answer = self._clients.dynamodb().query(
                TableName=self._table,
                KeyConditionExpression="#s = :scope",
                ExpressionAttributeNames={"#s": "scope"},
                ExpressionAttributeValues={":scope": to_attribute(f"{cluster}#announced")},
            )
        return [row["key"] for row in map(from_item, answer["Items"]) if row.get("is_pending")]

    def _is_due(self, cluster: str, kind: str, now: datetime) -> bool:
        """Takes the turn, or notes that there is something to tell; an evaluator that noted it just now asks no more."""
        noted_until = self._noted.get((cluster, kind))
        if noted_until is not None and now < noted_until <= now + timedelta(seconds=QUIET_SECONDS):
            return False
        at = int(now.timestamp())
        try:
            with translated("dynamodb:UpdateItem"):
                self._clients.dynamodb().update_item(
                    TableName=self._table,
                    Key=to_item({"scope": f"{cluster}#announced", "key": kind}),
                    UpdateExpression="SET announced_at = :now, is_pending = :no, expires_at = :expires",
                    ConditionExpression=(
                        "attribute_not_exists(announced_at) OR announced_at <= :before OR announced_at > :ahead"
                    ),
                    ExpressionAttributeValues=to_item(
                        {
                            ":now": at,
                            ":no": False,
                            ":before": at - QUIET_SECONDS,
                            ":ahead": at + _SKEW_SECONDS,
                            ":expires": expiry(now, _KEPT_DAYS),
                        }
                    ),
                )
        except LostRaceError:
            self._note(cluster, kind)
            self._noted[cluster, kind] = now + timedelta(seconds=QUIET_SECONDS / 2)
            return False
        return True

    def _note(self, cluster: str, kind: str) -> None:
        with translated("dynamodb:UpdateItem"):
            self._clients.dynamodb().update_item(
                TableName=self._table,
                Key=to_item({"scope": f"{cluster}#announced", "key": kind}),
                UpdateExpression="SET is_pending = :yes",
                ExpressionAttributeValues=to_item({":yes": True}),
            )

    def _tell(self, cluster: str, kinds: list[str], now: datetime) -> None:
        """A bus that refuses is no reason to take the report again: the sweep tells what is noted."""
        for start in range(0, len(kinds), _AT_ONCE):
            part = kinds[start : start + _AT_ONCE]
            try:
                self._put(cluster, part, now)
            except (TransientError, TerminalError) as error:
                self._telemetry.count("ChangeNotAnnounced", len(part))
                self._telemetry.warn("change not announced", cluster=cluster, why=str(error))
                for kind in part:
                    self._note(cluster, kind)

    def _put(self, cluster: str, kinds: list[str], now: datetime) -> None:
        entries: list[PutEventsRequestEntryTypeDef] = [
            {
                "EventBusName": self._bus,
                "Source": SOURCE,
                "DetailType": "Observed Changed",
                "Time": now,
                "Detail": json.dumps({"cluster": cluster, "kind": kind}),
            }
            for kind in kinds
        ]
        with translated("events:PutEvents"):
            answer = self._clients.events().put_events(Entries=entries)
        refused = [entry["ErrorCode"] for entry in answer["Entries"] if entry.get("ErrorCode")]
        if refused:
            why = ", ".join(sorted(set(refused)))
            raise TransientError(f"events:PutEvents refused {len(refused)} of {len(kinds)} events: {why}")
