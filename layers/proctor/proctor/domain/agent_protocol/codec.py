"""Frozen dataclasses to and from JSON objects, strictly.

Wire types: str, int, bool, null, list, object; a datetime is whole epoch seconds, an enum its value. A string
field is printable text, or `Annotated[str, pattern]`: then the whole pattern must match.
"""

import dataclasses
import re
import types
import typing
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")
_Reader = Callable[[str, Any], Any]
_HIGHEST_INTEGER = 2**53
_LONGEST_TEXT = 4096
_PRINTABLE = re.compile(r"[^\x00-\x1f\x7f]*")


class ProtocolError(ValueError):
    """A message or item this protocol version does not allow: the field, the value, the rule."""


def encode(value: Any) -> Any:
    """A dataclass as a JSON object; None stays null, empty collections stay empty."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: encode(getattr(value, name)) for name in _field_names(type(value))}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return int(value.timestamp())
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    return value


def decode(  # noqa: UP047 - type parameters are 3.12
    kind: type[T], raw: Any, where: str = ""
) -> T:
    """A JSON object as a dataclass, or ProtocolError naming the field."""
    where = where or kind.__name__
    if not isinstance(raw, Mapping):
        raise ProtocolError(f"{where}: an object is expected, not {type(raw).__name__}")
    key: Any = kind
    readers = _readers(key)
    unknown = raw.keys() - readers.keys()
    if unknown:
        raise ProtocolError(f"{where}: unknown key {min(map(str, unknown))!r:.60}")
    values = {}
    for name, (reader, is_required) in readers.items():
        if name in raw:
            values[name] = reader(f"{where}.{name}", raw[name])
        elif is_required:
            raise ProtocolError(f"{where}.{name}: missing")
    try:
        return kind(**values)
    except ProtocolError:
        raise
    except ValueError as error:
        raise ProtocolError(f"{where}: {error}") from error


@lru_cache(maxsize=64)
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


@lru_cache(maxsize=64)
def _readers(kind: Any) -> dict[str, tuple[_Reader, bool]]:
    hints = typing.get_type_hints(kind, include_extras=True)
    found = {}
    for field in dataclasses.fields(kind):
        no_default = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        found[field.name] = (_reader(hints[field.name]), no_default)
    return found


def _reader(hint: Any) -> _Reader:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        pattern = arguments[1]
        return lambda where, raw: _text(where, raw, pattern)
    if origin in {types.UnionType, typing.Union}:
        inner = _reader(next(part for part in arguments if part is not type(None)))
        return lambda where, raw: None if raw is None else inner(where, raw)
    if origin is tuple:
        item = _reader(arguments[0])
        return lambda where, raw: _items(where, raw, item)
    if origin is Mapping:
        value = _reader(arguments[1])
        return lambda where, raw: _mapping(where, raw, value)
    return _plain_reader(hint)


def _plain_reader(hint: Any) -> _Reader:
    if dataclasses.is_dataclass(hint):
        return lambda where, raw: decode(hint, raw, where)  # type: ignore[arg-type]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return lambda where, raw: _member(where, raw, hint)
    plain: dict[Any, _Reader] = {
        str: lambda where, raw: _text(where, raw, _PRINTABLE),
        bool: _boolean,
        int: _integer,
        datetime: _moment,
        Any: lambda _where, raw: raw,
    }
    return plain[hint]


def _text(where: str, raw: Any, pattern: re.Pattern[str]) -> str:
    if not isinstance(raw, str):
        raise ProtocolError(f"{where}: text is expected, not {type(raw).__name__}")
    if len(raw) > _LONGEST_TEXT or not pattern.fullmatch(raw):
        raise ProtocolError(f"{where}: {raw!r:.80} is not allowed here")
    return raw


def _boolean(where: str, raw: Any) -> bool:
    if not isinstance(raw, bool):
        raise ProtocolError(f"{where}: true or false is expected, not {raw!r:.40}")
    return raw


def _integer(where: str, raw: Any) -> int:
    # DynamoDB's numbers arrive as Decimal (not imported: the agent has no use for it); a whole one is fine.
    if hasattr(raw, "to_integral_value") and raw.is_finite() and raw == raw.to_integral_value():
        raw = int(raw)
    if not isinstance(raw, int) or isinstance(raw, bool) or not -1 <= raw <= _HIGHEST_INTEGER:
        raise ProtocolError(f"{where}: a whole number from -1 is expected, not {raw!r:.40}")
    return raw


def _moment(where: str, raw: Any) -> datetime:
    seconds = _integer(where, raw)
    try:
        return datetime.fromtimestamp(seconds, tz=timezone.utc)  # noqa: UP017 - datetime.UTC is 3.11
    except (OverflowError, OSError, ValueError) as error:
        raise ProtocolError(f"{where}: {seconds} is no time in epoch seconds") from error


def _member(where: str, raw: Any, kind: type[Enum]) -> Enum:
    try:
        return kind(raw)
    except ValueError as error:
        allowed = ", ".join(str(member.value) for member in kind)
        raise ProtocolError(f"{where}: {raw!r:.40} is none of {allowed}") from error


def _items(where: str, raw: Any, item: _Reader) -> tuple[Any, ...]:
    if not isinstance(raw, (list, tuple)):
        raise ProtocolError(f"{where}: a list is expected, not {type(raw).__name__}")
    return tuple(item(f"{where}[{index}]", value) for index, value in enumerate(raw))


def _mapping(where: str, raw: Any, item: _Reader) -> dict[str, Any]:
    if not isinstance(raw, Mapping):
        raise ProtocolError(f"{where}: an object is expected, not {type(raw).__name__}")
    return {_text(where, key, _PRINTABLE): item(f"{where}.{key}", value) for key, value in raw.items()}
