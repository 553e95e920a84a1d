"""SES v2: the account's suppression list, who may send under which identity, and the sent mails.

MiniStack sends (into memory); it has no Get-, Put- or DeleteSuppressedDestination. A mail to a suppressed
address is accepted by SES and never delivered; here it is listed with ``suppressed: true``.
"""

import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from proctor_local.clock import Clock
from proctor_local.emulator.authorisation import Authorisation
from proctor_local.emulator.calls import ApiCall, ApiError, Check, HttpResponse, json_response
from proctor_local.emulator.hooks import Hooks

_PATH = "/v2/email/suppression/addresses"


class Mail:
    """The suppression list, and a reader of what was sent."""

    def __init__(self, hooks: Hooks, authorisation: Authorisation, clock: Clock) -> None:
        self._stack, self._clock = hooks.ministack, clock
        self._suppressed: dict[tuple[str, str], dict[str, Any]] = {}
        self._lock = threading.Lock()
        hooks.add_rest("ses_v2", self._answer)
        hooks.on_reset(self.reset)
        authorisation.replace_checks("ses", "SendEmail", self._sender)

    def reset(self) -> None:
        """Empty the suppression list."""
        with self._lock:
            self._suppressed.clear()

    def sent(self) -> list[dict[str, Any]]:
        """Every mail sent so far, oldest first: to, subject, text, html, from, sent_at, suppressed."""
        with self._stack.scope():
            return [self._as_sent(record) for record in self._stack.sent_mails()]

    def suppress(self, address: str, reason: str = "BOUNCE") -> None:
        """Put an address on the list, as a bounce does."""
        with self._stack.scope():
            self._put({"EmailAddress": address, "Reason": reason})

    def _as_sent(self, record: Mapping[str, Any]) -> dict[str, Any]:
        receivers = [*record.get("To", ()), *record.get("CC", ()), *record.get("BCC", ())]
        return {
            "message_id": record.get("MessageId"),
            "from": record.get("Source"),
            "to": receivers,
            "subject": record.get("Subject"),
            "text": record.get("BodyText"),
            "html": record.get("BodyHtml"),
            "sent_at": record.get("Timestamp"),
            "suppressed": bool(receivers) and all(self._find(address) for address in receivers),
        }

    def _answer(self, method: str, path: str, body: dict[str, Any]) -> HttpResponse | None:
        if not path.startswith(_PATH):
            return None
        address = unquote(path[len(_PATH) :].strip("/"))
        if method == "PUT" and not address:
            return json_response(self._put(body), content_type="application/json")
        if method == "GET" and not address:
            summaries = [
                {key: value for key, value in item.items() if key != "Attributes"} for item in self._mine()
            ]
            return json_response(
                {"SuppressedDestinationSummaries": summaries}, content_type="application/json"
            )
        found = self._find(address)
        if found is None:
            raise ApiError(
                "NotFoundException", f"Email address {address} does not exist on your suppression list.", 404
            )
        if method == "DELETE":
            with self._lock:
                del self._suppressed[(self._stack.current_account(), address.lower())]
            return json_response({}, content_type="application/json")
        return json_response({"SuppressedDestination": found}, content_type="application/json")

    def _put(self, body: Mapping[str, Any]) -> dict[str, Any]:
        address, reason = str(body.get("EmailAddress") or ""), body.get("Reason")
        if "@" not in address or reason not in ("BOUNCE", "COMPLAINT"):
            raise ApiError(
                "BadRequestException", "EmailAddress and a Reason of BOUNCE or COMPLAINT are required."
            )
        with self._lock:
            self._suppressed[(self._stack.current_account(), address.lower())] = {
                "EmailAddress": address,
                "Reason": reason,
                "LastUpdateTime": self._clock.timestamp(),
                "Attributes": {},
            }
        return {}

    def _find(self, address: str) -> dict[str, Any] | None:
        with self._lock:
            return self._suppressed.get((self._stack.current_account(), address.lower()))

    def _mine(self) -> list[dict[str, Any]]:
        with self._lock:
            return [
                item
                for (account, _), item in self._suppressed.items()
                if account == self._stack.current_account()
            ]

    def _sender(self, call: ApiCall) -> list[Check]:
        """SendEmail is allowed on the sending identity: the address when it is one, else its domain."""
        sender = str(call.input.get("FromEmailAddress") or "").rpartition("<")[2].rstrip(">").strip()
        prefix = f"arn:aws:ses:{call.region}:{call.account}:identity"
        domain = sender.rpartition("@")[2]
        context = {"ses:FromAddress": sender, "ses:Recipients": _recipients(call.input)}
        identity = sender if self._stack.is_identity(sender) else domain
        return [Check((f"{prefix}/{identity}",), context)]


def _recipients(members: Mapping[str, Any]) -> list[str]:
    destination = members.get("Destination") or {}
    return [
        address
        for kind in ("ToAddresses", "CcAddresses", "BccAddresses")
        for address in destination.get(kind) or ()
    ]
