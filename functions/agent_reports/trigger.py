"""What may wake agent_reports: a message of a node's agent, the sweep, a policy change, a manual request."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from agent_reports import FUNCTION
from proctor.domain.agent_protocol import Enrolment, Envelope
from proctor.domain.agent_writes import Cause
from proctor.domain.errors import InvalidInputError
from proctor.domain.triggers import ManualTrigger, NoEvent, PolicyChanged, Sweep
from proctor.wire.agent_report import AGENT_MESSAGE, SOURCE, open_message
from proctor.wire.manual import MANUAL_REQUEST, ActionRequest, ManualRequest, asked
from proctor.wire.parameter_store import policy_change
from proctor.wire.parsing import parse as validate


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageReceived:
    """A report or an enrolment, from the queue of its role. `received_at` None: the queue did not say."""

    content: Enrolment | Envelope
    received_at: datetime | None
    name: str
    is_sweep: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class MessageRefused:
    """A message that can't be used whoever sent it."""

    cause: Cause
    name: str = "Report"
    is_sweep: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class KeyApproval:
    """An agent and the fingerprint of the key that is to be its own."""

    cluster: str
    instance_id: str
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manual(ManualTrigger):
    """An operator's request: look at all agents or one (`instance_id`), or approve keys."""

    instance_id: str | None = None
    approvals: tuple[KeyApproval, ...] = ()


type Trigger = MessageReceived | MessageRefused | Sweep | PolicyChanged | NoEvent | Manual


class _ApprovalRequest(BaseModel):
    """`{"action": "ApproveAgentKey", "agent": "alpha#i-0123456789abcdef0", "fingerprint": "0011223344556677"}`."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    agent: Annotated[str, Field(pattern=r"^[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}#i-[0-9a-z]{8,32}$")]
    fingerprint: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


_APPROVAL: TypeAdapter[_ApprovalRequest] = TypeAdapter(_ApprovalRequest)


def parse(raw: Mapping[str, Any]) -> Trigger:
    """Read one event. Raises InvalidInputError that names the field, the value and the fix."""
    source, detail_type = raw.get("source"), raw.get("detail-type")
    if source == SOURCE:
        return _message(raw)
    if source == "proctor.manual":
        return _manual(validate(MANUAL_REQUEST, raw))
    if source == "proctor.schedule" and detail_type == "Sweep":
        return Sweep()
    if source == "aws.ssm" and detail_type == "Parameter Store Change":
        return policy_change(raw, FUNCTION)
    raise InvalidInputError(
        "source and detail-type",
        f"{source} / {detail_type}",
        "send one of the events in events/agent_reports",
    )


def _message(raw: Mapping[str, Any]) -> Trigger:
    taken = validate(AGENT_MESSAGE, raw)
    content = open_message(taken.message)
    if isinstance(content, Cause):
        return MessageRefused(content)
    if content.header.role is not taken.role:
        return MessageRefused(Cause.CROSS_ROLE)
    name = "Enrolment" if isinstance(content, Enrolment) else "Report"
    return MessageReceived(content=content, received_at=taken.received_at, name=name)


def _manual(request: ManualRequest) -> Manual:
    scope = request.scope
    if scope is not None and scope.kind not in {"node", "all"}:
        raise InvalidInputError("scope.kind", scope.kind, "agent_reports knows node (an instance id) and all")
    return Manual(
        **asked(request),
        instance_id=scope.id if scope is not None and scope.kind == "node" else None,
        approvals=tuple(_approval(action) for action in request.actions),
    )


def _approval(request: ActionRequest) -> KeyApproval:
    if request.action != "ApproveAgentKey":
        raise InvalidInputError(
            "actions[].action", request.action, "agent_reports can do ApproveAgentKey only"
        )
    asked = validate(_APPROVAL, request.arguments)
    cluster, _, instance_id = asked.agent.rpartition("#")
    return KeyApproval(cluster, instance_id, asked.fingerprint)
