"""Proctor's own events on EventBridge: source `proctor.<function>`, detail-type `Proctor Outcome`.

Every text of a detail is cut, so that ten entries stay far below the 256 KB that one call may carry.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from proctor.adapters.aws_errors import translated
from proctor.adapters.texts import cut
from proctor.domain.decision import Outcome, RunContext
from proctor.domain.errors import TransientError

if TYPE_CHECKING:
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef

    from proctor.adapters.aws_clients import AwsClients

_AT_ONCE = 10
_TEXT_AT_MOST = 1024


class EventBridgePublisher:
    """Implements the EventPublisher port."""

    def __init__(self, clients: "AwsClients", bus: str) -> None:
        """Take the clients and the bus's name."""
        self._clients = clients
        self._bus = bus

    def publish(self, outcomes: Sequence[Outcome], context: RunContext) -> None:
        """One call per ten outcomes. Raises TransientError, after all were tried, when the bus refused some."""
        refused: list[str] = []
        for start in range(0, len(outcomes), _AT_ONCE):
            entries = [self._entry(o, context) for o in outcomes[start : start + _AT_ONCE]]
            with translated("events:PutEvents"):
                answer = self._clients.events().put_events(Entries=entries)
            refused += [entry["ErrorCode"] for entry in answer["Entries"] if entry.get("ErrorCode")]
        if refused:
            why = ", ".join(sorted(set(refused)))
            raise TransientError(f"events:PutEvents refused {len(refused)} of {len(outcomes)} events: {why}")

    def _entry(self, outcome: Outcome, context: RunContext) -> "PutEventsRequestEntryTypeDef":
        verdict = outcome.verdict
        detail = {
            "subject": verdict.subject,
            "cluster": verdict.cluster,
            "rule": verdict.rule,
            "reason": verdict.reason,
            "action": verdict.action.verb if verdict.action else None,
            "outcome": outcome.status.value,
            "trigger": context.trigger,
        }
        return {
            "EventBusName": self._bus,
            "Source": f"proctor.{context.function}",
            "DetailType": "Proctor Outcome",
            "Time": context.now,
            "Detail": json.dumps(
                {name: value and cut(value, _TEXT_AT_MOST) for name, value in detail.items()}
                | {"policy_version": verdict.policy_version},
                ensure_ascii=False,
            ),
        }
