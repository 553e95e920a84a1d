"""What may wake session_limits: a session start or resume, the sweep, a policy change, a manual request."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from proctor.domain.errors import InvalidInputError
from proctor.domain.identity import SessionOwner, parse_owner
from proctor.domain.sessions import DEFAULT_DOCUMENT
from proctor.domain.triggers import ManualTrigger, NoEvent, PolicyChanged, Sweep
from proctor.wire.cloudtrail import SESSION_RECORD
from proctor.wire.manual import MANUAL_REQUEST, ActionRequest, ManualRequest, asked
from proctor.wire.parameter_store import policy_change
from proctor.wire.parsing import parse as validate
from session_limits import FUNCTION


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSeen:
    """A successful StartSession or ResumeSession. `target` is None for a resume, which names only the session."""

    name: str
    session_id: str
    owner_arn: str
    owner: SessionOwner | None
    target: str | None
    document_name: str
    started_at: datetime
    is_sweep: ClassVar[bool] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Manual(ManualTrigger):
    """An operator's request: either a scope to decide again, or sessions to end."""

    scope_kind: Literal["person", "session", "node", "all"] | None = None
    scope_id: str = "*"
    ends: tuple[str, ...] = ()


type Trigger = SessionSeen | NoEvent | Sweep | PolicyChanged | Manual


class _EndRequest(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    session_id: Annotated[str, Field(min_length=1, max_length=96)]


_END_REQUEST: TypeAdapter[_EndRequest] = TypeAdapter(_EndRequest)


def parse(raw: Mapping[str, Any]) -> Trigger:
    """Read one event. Raises InvalidInputError that names the field, the value and the fix."""
    source, detail_type = raw.get("source"), raw.get("detail-type")
    if source == "proctor.manual":
        return _manual(validate(MANUAL_REQUEST, raw))
    if source == "proctor.schedule" and detail_type == "Sweep":
        return Sweep()
    if source == "aws.ssm" and detail_type == "Parameter Store Change":
        return policy_change(raw, FUNCTION)
    if source == "aws.ssm" and detail_type == "AWS API Call via CloudTrail":
        return _session(raw)
    raise InvalidInputError(
        "source and detail-type",
        f"{source} / {detail_type}",
        "send one of the events in events/session_limits",
    )


def _session(raw: Mapping[str, Any]) -> SessionSeen | NoEvent:
    record = validate(SESSION_RECORD, raw)
    detail = record.detail
    if detail.error_code is not None:
        return NoEvent(detail.event_name)
    if record.session_id is None:
        raise InvalidInputError(
            "detail.responseElements.sessionId", None, "pass on the session id in the rule"
        )
    if detail.user_identity.arn is None:
        raise InvalidInputError("detail.userIdentity.arn", None, "pass on the caller's ARN in the rule")
    return SessionSeen(
        name=detail.event_name,
        session_id=record.session_id,
        owner_arn=detail.user_identity.arn,
        owner=parse_owner(detail.user_identity.arn),
        target=detail.request.target,
        document_name=detail.request.document_name or DEFAULT_DOCUMENT,
        started_at=record.at,
    )


def _manual(request: ManualRequest) -> Manual:
    kind = request.scope.kind if request.scope else None
    if kind == "account":
        raise InvalidInputError("scope.kind", kind, "session_limits knows person, session, node and all")
    return Manual(
        **asked(request),
        scope_kind=kind,
        scope_id=request.scope.id if request.scope else "*",
        ends=tuple(_end(a) for a in request.actions),
    )


def _end(request: ActionRequest) -> str:
    if request.action != "TerminateSession":
        raise InvalidInputError(
            "actions[].action", request.action, "session_limits can do TerminateSession only"
        )
    return validate(_END_REQUEST, request.arguments).session_id
