r"""Messages of the nodes' agents: from an SQS record to an envelope, believing nothing in it.

    {"messageId": "…", "body": "{\"cluster\":\"alpha\",\"role\":\"node\",…,\"body\":\"{…}\",\"hmac\":\"…\"}",
     "attributes": {"SenderId": "AROA…:SageMaker", "SentTimestamp": "1788256800123"},
     "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:proctor-NodeReportsQueue"}

Whoever may send to a queue has its role: the queue's policy says who that is, since SenderId tells roles apart and not
nodes. The body is handed on as text inside an object of our own, so that no message of a node can look like a schedule or an
operator.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from proctor.domain.agent_protocol import (
    Enrolment,
    Envelope,
    Header,
    Role,
    decode,
    open_enrolment,
    open_envelope,
)
from proctor.domain.agent_protocol.envelope import LARGEST_MESSAGE
from proctor.domain.agent_writes import Cause

SOURCE = "proctor.agent"
_MILLISECONDS = re.compile(r"[0-9]{1,14}")


class AgentMessage(BaseModel):
    """One message with what its queue says about it. `received_at` is when the queue took it, in milliseconds since 1970."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    source: Literal["proctor.agent"]
    role: Role
    received_ms: Annotated[int, Field(ge=0, le=253_402_300_799_000)] | None = None
    message: str

    @property
    def received_at(self) -> datetime | None:
        """When the queue took it."""
        return None if self.received_ms is None else datetime.fromtimestamp(self.received_ms / 1000, tz=UTC)


AGENT_MESSAGE: TypeAdapter[AgentMessage] = TypeAdapter(AgentMessage)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a message stands among others: keys first, then each agent's messages in their order."""

    is_report: bool
    boot_id: str
    sequence: int

    @property
    def rank(self) -> tuple[bool, str, int]:
        return (self.is_report, self.boot_id, self.sequence)


def intake(records: Sequence[Any], roles: Mapping[str, Role]) -> list[Any]:
    """The batch with every message of a report queue (`roles`: queue ARN → role) put into an object of ours, in its order.

    Records of other queues stay as they are. Enrolments come first, then reports by start and number: a batch in order spares
    retries.
    """
    placed = [_placed(record, roles) for record in records]
    return [record for _, record in sorted(placed, key=lambda one: one[0].rank)]


def open_message(text: str) -> Enrolment | Envelope | Cause:
    """A message as what it is, or why it can't be used. Whatever it holds, this raises nothing."""
    if len(text) > LARGEST_MESSAGE:
        return Cause.OVERSIZED
    try:
        raw = json.loads(text)
        if isinstance(raw, dict) and raw.get("type") == "enrolment":
            return _enrolment(text, raw)
        envelope = open_envelope(text)
        envelope.body.encode()
    except (ValueError, TypeError, RecursionError):
        return Cause.MALFORMED
    return envelope


def _enrolment(text: str, raw: Mapping[str, Any]) -> Enrolment | Cause:
    """The body may not speak of another sender than the header does."""
    outer = decode(
        Header, {name: value for name, value in raw.items() if name not in {"type", "body", "hmac"}}
    )
    enrolment = open_enrolment(text)
    return enrolment if enrolment.header == outer else Cause.MALFORMED


def _placed(record: Any, roles: Mapping[str, Role]) -> tuple[_Place, Any]:
    role = roles.get(record.get("eventSourceARN", "")) if isinstance(record, dict) else None
    if role is None or not isinstance(record.get("body"), str):
        return _Place(False, "", 0), record
    sent = str((record.get("attributes") or {}).get("SentTimestamp", ""))
    body = {
        "source": SOURCE,
        "role": role.value,
        "received_ms": int(sent) if _MILLISECONDS.fullmatch(sent) else None,
        "message": record["body"],
    }
    return _place(record["body"]), {**record, "body": json.dumps(body)}


def _place(text: str) -> _Place:
    """A hint only: nothing is decided by it."""
    message = open_message(text)
    if isinstance(message, Cause):
        return _Place(True, "", 0)
    header = message.header
    return _Place(isinstance(message, Envelope), header.boot_id, header.sequence)
