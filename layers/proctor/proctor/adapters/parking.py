"""The failure queue: a redacted copy of what can't be used, with its reason.

The copy keeps the shape and the few fields that Proctor itself reads, of those only short plain texts, and no address of a
person. The EventBridge and CloudTrail ids in it find the original; `sha256` tells copies of one input apart from others.
"""

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from proctor.adapters.aws_errors import translated
from proctor.adapters.texts import without_addresses
from proctor.domain.decision import RunContext

if TYPE_CHECKING:
    from proctor.adapters.aws_clients import AwsClients


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BRANCHES = _names("detail requestParameters responseElements userIdentity scope actions")
_LEAVES = _names(
    """
    source detail-type time region account id messageId eventID eventName eventTime errorCode arn target documentName
    sessionId operation name type kind action dry_run
    """
)
_PLAIN = re.compile(r"[\w .:/@+=,#*<>-]{0,256}")
_KEY = re.compile(r"[A-Za-z][\w-]{0,39}")
_ERROR_AT_MOST = 512
_KEYS_AT_MOST = 50
_ITEMS_AT_MOST = 20
_DEPTH_AT_MOST = 6
_BODY_AT_MOST = 200_000


class SqsParkingLot:
    """Implements the ParkingLot port. A message stays under 200 KB, whatever the queue's own limit."""

    def __init__(self, clients: "AwsClients", queue_url: str) -> None:
        """Take the clients and the failure queue."""
        self._clients = clients
        self._queue_url = queue_url

    def park(self, raw: object, error: str, context: RunContext) -> None:
        """One message."""
        body: dict[str, Any] = {
            "function": context.function,
            "parked_at": context.now.isoformat(),
            "error": without_addresses(error)[:_ERROR_AT_MOST],
            "sha256": _digest(raw),
            "event": redacted(raw),
        }
        message = json.dumps(body)
        if len(message) > _BODY_AT_MOST:
            message = json.dumps({**body, "event": f"{len(message)} characters even when redacted"})
        with translated("sqs:SendMessage"):
            self._clients.sqs().send_message(QueueUrl=self._queue_url, MessageBody=message)


def redacted(raw: object) -> Any:
    """Keeps only fields that Proctor itself reads; of anything else, that it was there."""
    return _branch(raw, 0) if isinstance(raw, dict | list) else _mute(raw)


def _branch(raw: Any, depth: int) -> Any:
    if depth > _DEPTH_AT_MOST:
        return "…"
    if isinstance(raw, dict):
        kept = list(raw.items())[:_KEYS_AT_MOST]
        return {_shown_key(key): _value(key, value, depth) for key, value in kept}
    if isinstance(raw, list):
        return [_branch(item, depth + 1) for item in raw[:_ITEMS_AT_MOST]]
    return _mute(raw)


def _value(key: Any, value: Any, depth: int) -> Any:
    if key in _BRANCHES:
        return _branch(value, depth + 1)
    return _leaf(value) if key in _LEAVES else "redacted"


def _leaf(value: Any) -> Any:
    if isinstance(value, str):
        shown = without_addresses(value)
        return shown if _PLAIN.fullmatch(value) and "@" not in shown else _mute(value)
    return value if isinstance(value, int | float | bool) or value is None else _mute(value)


def _mute(value: object) -> str:
    return f"text of {len(value)} characters" if isinstance(value, str) else type(value).__name__


def _shown_key(key: Any) -> str:
    return key if isinstance(key, str) and (key in _LEAVES or _KEY.fullmatch(key)) else "…"


def _digest(raw: object) -> str:
    text = json.dumps(raw, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
