"""Session Manager: StartSession, ResumeSession, TerminateSession, DescribeSessions, GetConnectionStatus.

Kept habits: ``MaxResults`` is applied before ``Filters``, so a page may be empty and
still carry a NextToken; TerminateSession says yes to any id; a session outlives the credentials that opened
it; StartSession is limited to about three a second in the account.
"""

import base64
import binascii
import json
import re
import secrets
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from proctor_local.clock import Clock
from proctor_local.emulator.calls import Action, ApiCall, ApiError, Check
from proctor_local.services.session_store import (
    DEFAULT_DOCUMENT,
    Session,
    SessionStore,
    after_key,
    new_session_id,
    sort_key,
)
from proctor_local.settings import Settings

SESSION_DOCUMENTS = frozenset(
    {
        DEFAULT_DOCUMENT,
        "AWS-StartSSHSession",
        "AWS-StartPortForwardingSession",
        "AWS-StartPortForwardingSessionToRemoteHost",
        "AWS-StartInteractiveCommand",
        "AWS-StartNonInteractiveCommand",
    }
)
FILTER_KEYS = ("InvokedAfter", "InvokedBefore", "Target", "Owner", "Status", "SessionId", "AccessType")
DEFAULT_PAGE, MAX_PAGE, MAX_FILTERS = 50, 200, 6
_HYPERPOD_TARGET = re.compile(r"^sagemaker-cluster:([a-z0-9]{12})_(.+)-(i-[0-9a-f]{8,17})$")


class SessionManager:
    """The actions, over a store of sessions and a view of which nodes are connected."""

    def __init__(
        self, store: SessionStore, settings: Settings, clock: Clock, is_connected: Callable[[str], bool]
    ) -> None:
        self.store = store
        self.documents = set(SESSION_DOCUMENTS)
        self._settings, self._clock, self._is_connected = settings, clock, is_connected

    def actions(self) -> dict[str, Action]:
        """The actions by name, for ``Hooks.add_actions("ssm", ...)``."""
        return {
            "StartSession": Action(self.start, self._start_resources),
            "ResumeSession": Action(self.resume, self._session_resources),
            "TerminateSession": Action(self.terminate, self._session_resources),
            "DescribeSessions": Action(self.describe),
            "GetConnectionStatus": Action(self.connection_status, self._target_resources),
        }

    def start(self, call: ApiCall) -> dict[str, Any]:
        """StartSession: opens a session for the caller, in state Connecting."""
        target, document = (
            _text(call.input, "Target", 400),
            call.input.get("DocumentName") or DEFAULT_DOCUMENT,
        )
        if document not in self.documents:
            raise ApiError("InvalidDocument", f"Document with name {document} does not exist.")
        if not self._reachable(target):
            raise ApiError("TargetNotConnected", f"{target} is not connected.")
        session = self.store.connect(
            Session(
                session_id=new_session_id(call.caller.name),
                target=target,
                owner_arn=call.caller.arn,
                owner_user_id=call.caller.principal_id,
                started_at=self._clock.now(),
                account=call.account,
                region=call.region,
                document_name=document,
                reason=str(call.input.get("Reason") or ""),
            )
        )
        return self._stream(session)

    def resume(self, call: ApiCall) -> dict[str, Any]:
        """ResumeSession: a disconnected session is Connected again."""
        session = self.store.find(_text(call.input, "SessionId", 96))
        if session is None or not session.is_active() or session.status == "Terminating":
            raise ApiError("DoesNotExistException", "The specified session doesn't exist or is terminated.")
        self.store.set_status(session.session_id, "Connected")
        return self._stream(session)

    def terminate(self, call: ApiCall) -> dict[str, Any]:
        """TerminateSession: answers the id it was given, whether or not there is such a session."""
        session_id = _text(call.input, "SessionId", 96)
        if self._settings.ignore_terminations > 0:
            self._settings.ignore_terminations -= 1
        else:
            self.store.terminate(session_id, call.caller.arn)
        return {"SessionId": session_id}

    def describe(self, call: ApiCall) -> dict[str, Any]:
        """DescribeSessions: a page is cut first, then filtered."""
        state = call.input.get("State")
        if state not in ("Active", "History"):
            raise ApiError("ValidationException", f"State must be Active or History, not {state!r}.")
        size = call.input.get("MaxResults") or DEFAULT_PAGE
        if not isinstance(size, int) or not 1 <= size <= MAX_PAGE:
            raise ApiError("ValidationException", "MaxResults must be between 1 and 200.")
        keeps = _filters(call.input.get("Filters") or [])
        listed = self.store.listed(call.account, call.region, state)
        rest = after_key(listed, _page_key(call.input.get("NextToken"), state))
        page = rest[:size]
        answer: dict[str, Any] = {
            "Sessions": [as_described(s) for s in page if all(keep(s) for keep in keeps)]
        }
        if len(rest) > size:
            answer["NextToken"] = _next_token(page[-1], state)
        return answer

    def connection_status(self, call: ApiCall) -> dict[str, Any]:
        """GetConnectionStatus of a target."""
        target = _text(call.input, "Target", 400)
        return {"Target": target, "Status": "connected" if self._reachable(target) else "notconnected"}

    def _reachable(self, target: str) -> bool:
        return not self._settings.check_targets or self._is_connected(target)

    def _stream(self, session: Session) -> dict[str, Any]:
        host = f"wss://ssmmessages.{session.region}.amazonaws.com/v1/data-channel/{session.session_id}"
        return {
            "SessionId": session.session_id,
            "TokenValue": secrets.token_urlsafe(120),
            "StreamUrl": f"{host}?role=publish_subscribe&cell-number={secrets.token_urlsafe(48)}",
        }

    # What IAM is asked; source: Service Authorization Reference, Systems Manager.

    def _start_resources(self, call: ApiCall) -> list[Check]:
        document = call.input.get("DocumentName")
        context = {"ssm:SessionDocumentAccessCheck": "true"}
        checks = [Check(target_arns(call), context)]
        arn = f"arn:aws:ssm:{call.region}:{call.account}:document/{document or DEFAULT_DOCUMENT}"
        if str(document or "").startswith("AWS-"):
            arn = f"arn:aws:ssm:{call.region}::document/{document}"
        checks.append(
            Check((arn,), context, only_if_condition_key="" if document else "ssm:sessiondocumentaccesscheck")
        )
        return checks

    def _session_resources(self, call: ApiCall) -> list[Check]:
        session_id = str(call.input.get("SessionId") or "")
        session = self.store.find(session_id)
        tags = (
            {}
            if session is None
            else {
                "ssm:resourceTag/aws:ssmmessages:session-id": session.owner_user_id,
                "ssm:resourceTag/aws:ssmmessages:target-id": session.target,
            }
        )
        return [Check((f"arn:aws:ssm:{call.region}:{call.account}:session/{session_id}",), tags)]

    def _target_resources(self, call: ApiCall) -> list[Check]:
        return [Check(target_arns(call))]


def target_arns(call: ApiCall) -> tuple[str, ...]:
    """The ARNs under which a target may be allowed.

    The sources disagree about HyperPod's, so either will do.
    """
    target, prefix = str(call.input.get("Target") or ""), f"{call.region}:{call.account}"
    hyperpod = _HYPERPOD_TARGET.match(target)
    if hyperpod:
        return (
            f"arn:aws:sagemaker:{prefix}:cluster/{hyperpod[1]}",
            f"arn:aws:ssm:{prefix}:managed-instance/{target}",
        )
    if target.startswith("i-"):
        return (f"arn:aws:ec2:{prefix}:instance/{target}",)
    return (f"arn:aws:ssm:{prefix}:managed-instance/{target}",)


def as_described(session: Session) -> dict[str, Any]:
    """A session as DescribeSessions shows it; absent members are absent, not null."""
    shown: dict[str, Any] = {
        "SessionId": session.session_id,
        "Target": session.target,
        "Status": session.status,
        "StartDate": session.started_at.timestamp(),
        "DocumentName": session.document_name,
        "Owner": session.owner_arn,
        "OutputUrl": {},
        "AccessType": session.access_type,
    }
    if session.ended_at is not None:
        shown["EndDate"] = session.ended_at.timestamp()
    if session.reason:
        shown["Reason"] = session.reason
    if session.max_session_duration:
        shown["MaxSessionDuration"] = session.max_session_duration
    return shown


def _filters(filters: list[Mapping[str, str]]) -> list[Callable[[Session], bool]]:
    if len(filters) > MAX_FILTERS:
        raise ApiError("ValidationException", "Filters: at most 6.")
    return [_filter(str(item.get("key")), str(item.get("value"))) for item in filters]


def _filter(key: str, value: str) -> Callable[[Session], bool]:
    if key in ("InvokedAfter", "InvokedBefore"):
        try:
            bound = datetime.fromisoformat(value)
        except ValueError as error:
            raise ApiError("ValidationException", f"{key}: {value} is not an ISO 8601 time.") from error
        return (
            (lambda s: s.started_at >= bound) if key == "InvokedAfter" else (lambda s: s.started_at <= bound)
        )
    readers: dict[str, Callable[[Session], str]] = {
        "Target": lambda s: s.target,
        "Owner": lambda s: s.owner_arn,
        "Status": lambda s: s.status,
        "SessionId": lambda s: s.session_id,
        "AccessType": lambda s: s.access_type,
    }
    if key not in readers:
        raise ApiError("InvalidFilterKey", f"{key} is not a filter key; they are {', '.join(FILTER_KEYS)}.")
    return lambda s: readers[key](s) == value


def _next_token(last: Session, state: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([state, *sort_key(last)]).encode()).decode()


def _page_key(token: str | None, state: str) -> tuple[float, str] | None:
    if not token:
        return None
    try:
        of_state, started, session_id = json.loads(base64.urlsafe_b64decode(token))
    except (ValueError, binascii.Error) as error:
        raise ApiError("InvalidNextToken", "The specified token is not valid.") from error
    if of_state != state:
        raise ApiError("InvalidNextToken", "The specified token is not valid.")
    return float(started), str(session_id)


def _text(members: Mapping[str, Any], name: str, limit: int) -> str:
    value = members.get(name)
    if not isinstance(value, str) or not value or len(value) > limit:
        raise ApiError("ValidationException", f"{name}: a text of 1 to {limit} characters is required.")
    return value
