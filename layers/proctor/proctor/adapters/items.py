"""DynamoDB's typed attributes to and from the few plain values that Proctor keeps."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

type Item = dict[str, Any]

FIELD_BYTES_AT_MOST = 64_000
"""For one JSON field: an item holds two or three, and 400 KB at most."""


def to_attribute(value: Any) -> dict[str, Any]:
    """Text, whole numbers, booleans, times, lists and maps; None is NULL."""
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case int():
            return {"N": str(value)}
        case str():
            return {"S": str(value)}
        case datetime():
            return {"S": value.isoformat()}
        case Mapping():
            return {"M": {k: to_attribute(v) for k, v in value.items() if v is not None}}
        case Sequence():
            return {"L": [to_attribute(v) for v in value]}
    message = f"{type(value).__name__} has no place in an item"
    raise TypeError(message)


def to_item(values: Mapping[str, Any]) -> Item:
    """A whole item; absent values are left out."""
    return {name: to_attribute(value) for name, value in values.items() if value is not None}


def from_attribute(attribute: Mapping[str, Any]) -> Any:
    """The plain value; numbers are whole."""
    ((kind, value),) = attribute.items()
    match kind:
        case "NULL":
            return None
        case "N":
            return int(value)
        case "M":
            return {k: from_attribute(v) for k, v in value.items()}
        case "L":
            return [from_attribute(v) for v in value]
        case _:
            return value


def from_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """A whole item as plain values."""
    return {name: from_attribute(value) for name, value in item.items()}


def time_of(text: str | None) -> datetime | None:
    """A stored time."""
    return None if text is None else datetime.fromisoformat(text)


def expiry(now: datetime, days: int) -> int:
    """Seconds since 1970 for a table's TTL: retention only, never a lease."""
    return int((now.astimezone(UTC) + timedelta(days=days)).timestamp())


def json_field(value: Any) -> str:
    """JSON text of a record's part; one that would burst its item is replaced by its size and digest, not cut in two."""
    text = json.dumps(value, sort_keys=True, default=_plain)
    if len(text) <= FIELD_BYTES_AT_MOST:
        return text
    return json.dumps(
        {
            "too_large_bytes": len(text),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "head": text[:1024],
        }
    )


def _plain(value: object) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)
