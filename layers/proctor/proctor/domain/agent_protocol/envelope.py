"""How a report proves who sent it: HMAC-SHA256 with a key the sender enrolled, over header and body.

Wire: one JSON object, header fields plus `body` (the report's JSON as text) and `hmac` (hex). The MAC is
over the header fields and the body's SHA-256, one a line, in the order below. RFC 2104, FIPS 180-4.
"""

import hashlib
import hmac
import json
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from proctor.domain.agent_protocol import names
from proctor.domain.agent_protocol.codec import ProtocolError, decode, encode
from proctor.domain.agent_protocol.names import PROTOCOL_VERSION, Role
from proctor.domain.agent_protocol.reports import Report

LARGEST_MESSAGE = 200_000
_REPORT_CONTEXT = "proctor report"
_ENROLMENT_CONTEXT = "proctor enrolment"


@dataclass(frozen=True)
class Header:
    """Who speaks, in which boot, and how many messages before.

    `boot_id` is `<start in ms>-<8 hex>`: it sorts.
    """

    cluster: names.ClusterName
    role: Role
    node: names.NodeName
    instance_id: names.InstanceId
    boot_id: names.BootId
    sequence: int
    protocol: int = PROTOCOL_VERSION

    def is_newer_than(self, boot_id: str, sequence: int) -> bool:
        """Whether this message follows that one: a replay or an overtaken one does not."""
        return (self.boot_id, self.sequence) > (boot_id, sequence)

    def signed_text(self, context: str, body: str) -> bytes:
        """What the MAC is computed over."""
        values = [str(encode(getattr(self, field.name))) for field in fields(self)]
        digest = hashlib.sha256(body.encode("utf-8")).hexdigest()
        return "\n".join((context, *values, digest)).encode("utf-8")


@dataclass(frozen=True)
class Envelope:
    """A received message: nothing in it is to be believed before `is_from` says so."""

    header: Header
    body: str
    mac: str

    def is_from(self, key: bytes) -> bool:
        """Whether the holder of this key made exactly this message."""
        made = hmac.new(key, self.header.signed_text(_REPORT_CONTEXT, self.body), hashlib.sha256).hexdigest()
        return hmac.compare_digest(made, self.mac)

    def report(self) -> Report:
        """The body, strictly parsed; ProtocolError otherwise."""
        return decode(Report, _json(self.body), "report")


@dataclass(frozen=True)
class Enrolment:
    """An agent's first message: its key.

    Accepted once for an instance that ListClusterNodes shows as fresh.
    """

    header: Header
    key_hex: names.KeyHex
    created_at: datetime

    @property
    def key(self) -> bytes:
        """The secret itself."""
        return bytes.fromhex(self.key_hex)


def report_body(report: Report) -> str:
    """A report as the text that is signed: JSON without empty sections."""
    return json.dumps(_without_empty(encode(report)), separators=(",", ":"))


def seal(header: Header, body: str, key: bytes) -> str:
    """A report's body as message text; ProtocolError when it is over 200 KB."""
    mac = hmac.new(key, header.signed_text(_REPORT_CONTEXT, body), hashlib.sha256).hexdigest()
    message = json.dumps(
        encode(header) | {"type": "report", "body": body, "hmac": mac}, separators=(",", ":")
    )
    if len(message) > LARGEST_MESSAGE:
        raise ProtocolError(f"report: {len(message)} bytes are over {LARGEST_MESSAGE}; send chunks")
    return message


def open_envelope(message: str) -> Envelope:
    """Parse a report's envelope without believing it; ProtocolError when it is none."""
    raw = _typed(message, "report")
    body, mac = raw.pop("body", None), raw.pop("hmac", None)
    if not isinstance(body, str) or not isinstance(mac, str) or not names.KEY_HEX.fullmatch(mac):
        raise ProtocolError("report: body and hmac are needed as text")
    return Envelope(_header(raw), body, mac)


def make_enrolment(header: Header, key: bytes, created_at: datetime) -> str:
    """The enrolment message of a new key; its MAC proves that the sender has the key it names."""
    body = json.dumps({"key_hex": key.hex(), "created_at": int(created_at.timestamp())})
    mac = hmac.new(key, header.signed_text(_ENROLMENT_CONTEXT, body), hashlib.sha256).hexdigest()
    return json.dumps(encode(header) | {"type": "enrolment", "body": body, "hmac": mac})


def open_enrolment(message: str) -> Enrolment:
    """Parse an enrolment and check its own MAC; ProtocolError otherwise."""
    raw = _typed(message, "enrolment")
    body, mac = raw.pop("body", None), raw.pop("hmac", None)
    if not isinstance(body, str) or not isinstance(mac, str):
        raise ProtocolError("enrolment: body and hmac are needed as text")
    header = _header(raw)
    enrolment = decode(Enrolment, {"header": encode(header), **_json(body)}, "enrolment")
    signed = header.signed_text(_ENROLMENT_CONTEXT, body)
    made = hmac.new(enrolment.key, signed, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(made, mac):
        raise ProtocolError("enrolment: the MAC does not fit the key")
    return enrolment


def _typed(message: str, kind: str) -> dict[str, Any]:
    raw = _json(message)
    if raw.pop("type", None) != kind:
        raise ProtocolError(f"type: {kind} is expected")
    return raw


def _header(raw: dict[str, Any]) -> Header:
    header = decode(Header, raw, "header")
    if header.protocol > PROTOCOL_VERSION:
        raise ProtocolError(f"header.protocol: {header.protocol} is later than {PROTOCOL_VERSION}")
    return header


def _json(text_value: str) -> dict[str, Any]:
    try:
        raw = json.loads(text_value)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("not JSON") from error
    if not isinstance(raw, dict):
        raise ProtocolError("an object is expected")
    return raw


def _without_empty(raw: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in raw.items() if value not in (None, [])}
