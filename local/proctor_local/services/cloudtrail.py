"""CloudTrail records of Session Manager calls, put on the default bus some time later.

Shapes: the Systems Manager user guide's logged events, and EventBridge's events delivered via CloudTrail.
Delivery is best effort: a record may be late, lost or repeated, all three settable. A session that ends by
``exit`` makes no call and so no record.
"""

import random
import secrets
import threading
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from proctor_local.clock import Clock, iso
from proctor_local.emulator.calls import FIRST_ERROR_STATUS, ApiCall, Caller
from proctor_local.emulator.hooks import Hooks
from proctor_local.settings import Settings
from proctor_local.timers import Timers

RECORDED_ACTIONS = ("StartSession", "ResumeSession", "TerminateSession")
HIDDEN = "Value hidden due to security reasons."


class Trail:
    """Makes the records and delivers them; keeps what happened to each for a scenario to read."""

    def __init__(self, hooks: Hooks, settings: Settings, clock: Clock, timers: Timers) -> None:
        self._hooks, self._settings, self._clock, self._timers = hooks, settings, clock, timers
        self._random = random.Random(settings.random_seed)  # noqa: S311  (losses, not secrets)
        self._lock = threading.Lock()
        self.deliveries: list[dict[str, Any]] = []
        for action in RECORDED_ACTIONS:
            hooks.observe("ssm", action, self.record)
        hooks.on_reset(self.reset)

    def reset(self) -> None:
        """Forget all deliveries and start the random sequence anew."""
        with self._lock:
            self.deliveries.clear()
            self._random = random.Random(self._settings.random_seed)  # noqa: S311  (losses, not secrets)

    def record(self, call: ApiCall, status: int, answer: Mapping[str, Any]) -> None:
        """Take in one finished call and send its record on its way."""
        detail = detail_of(call, status, answer, self._clock)
        copies = self._copies()
        with self._lock:
            entry = {
                "eventName": call.action,
                "eventID": detail["eventID"],
                "eventTime": detail["eventTime"],
                "sessionId": _session_of(call, answer),
                "copies": copies,
                "delivered": 0,
            }
            self.deliveries.append(entry)
        for _ in range(copies):
            self._timers.after(
                self._settings.trail_delay_seconds, lambda: self._deliver(call.region, detail, entry)
            )

    def _copies(self) -> int:
        settings = self._settings
        with self._lock:
            if not settings.trail_enabled:
                return 0
            if settings.lose_next_records > 0:
                settings.lose_next_records -= 1
                return 0
            if self._random.random() < settings.trail_loss:
                return 0
            return 2 if self._random.random() < settings.trail_duplication else 1

    def _deliver(self, region: str, detail: dict[str, Any], entry: dict[str, Any]) -> None:
        self._hooks.emit("aws.ssm", "AWS API Call via CloudTrail", detail, region=region)
        entry["delivered"] += 1


def detail_of(call: ApiCall, status: int, answer: Mapping[str, Any], clock: Clock) -> dict[str, Any]:
    """The ``detail`` of the event.

    A success, a failure with its code, or an access denial with null parameters.
    """
    failed = status >= FIRST_ERROR_STATUS
    code = str(answer.get("__type", "")).rsplit("#", 1)[-1]
    denied = failed and code in ("AccessDeniedException", "AccessDenied")
    detail: dict[str, Any] = {
        "eventVersion": "1.11",
        "userIdentity": user_identity(call.caller),
        "eventTime": iso(clock.now()),
        "eventSource": "ssm.amazonaws.com",
        "eventName": call.action,
        "awsRegion": call.region,
        "sourceIPAddress": "127.0.0.1",
        "userAgent": call.headers.get("user-agent", ""),
    }
    if failed:
        detail["errorCode"] = "AccessDenied" if denied else code
        detail["errorMessage"] = str(answer.get("message") or answer.get("Message") or "")
    detail["requestParameters"] = None if denied else _lower_keys(call.input)
    detail["responseElements"] = None if failed else _response_elements(answer, call.region)
    detail |= {
        "requestID": call.request_id or str(uuid.uuid4()),
        "eventID": str(uuid.uuid4()),
        "readOnly": False,
        "eventType": "AwsApiCall",
        "managementEvent": True,
        "recipientAccountId": call.account,
        "eventCategory": "Management",
    }
    return detail


def user_identity(caller: Caller) -> dict[str, Any]:
    """``userIdentity`` of a role session, an IAM user or the root user."""
    if caller.kind == "Root":
        return {
            "type": "Root",
            "principalId": caller.account,
            "arn": caller.arn,
            "accountId": caller.account,
            "accessKeyId": caller.access_key_id,
        }
    if caller.kind == "User":
        return {
            "type": "IAMUser",
            "principalId": caller.principal_id,
            "arn": caller.arn,
            "accountId": caller.account,
            "accessKeyId": caller.access_key_id,
            "userName": caller.name,
        }
    issued = datetime.fromtimestamp(caller.issued_at or 0, UTC)
    return {
        "type": "AssumedRole",
        "principalId": caller.principal_id,
        "arn": caller.arn,
        "accountId": caller.account,
        "accessKeyId": caller.access_key_id,
        "sessionContext": {
            "sessionIssuer": {
                "type": "Role",
                "principalId": caller.principal_id.partition(":")[0],
                "arn": caller.role_arn,
                "accountId": caller.account,
                "userName": caller.role_arn.rsplit("/", 1)[-1],
            },
            "webIdFederationData": {},
            "attributes": {"creationDate": iso(issued), "mfaAuthenticated": "false"},
        },
    }


def _lower_keys(members: Mapping[str, Any]) -> dict[str, Any]:
    """``Target`` becomes ``target``.

    CloudTrail writes request members in lower camel case, absent ones not at all.
    """
    return {name[:1].lower() + name[1:]: value for name, value in members.items()}


def _response_elements(answer: Mapping[str, Any], region: str) -> dict[str, Any]:
    elements = {"sessionId": answer.get("SessionId", "")}
    if "TokenValue" in answer:
        elements["tokenValue"] = HIDDEN
        stream = f"wss://ssmmessages.{region}.amazonaws.com/v1/data-channel/{elements['sessionId']}"
        cell = secrets.token_urlsafe(48)
        elements["streamUrl"] = f"{stream}?role=publish_subscribe&cell-number={cell}"
    return elements


def _session_of(call: ApiCall, answer: Mapping[str, Any]) -> str:
    return str(answer.get("SessionId") or call.input.get("SessionId") or "")
