"""From pydantic's errors to one clear message."""

from typing import Any

from pydantic import TypeAdapter, ValidationError

from proctor.domain.errors import InvalidInputError


def parse[M](adapter: TypeAdapter[M], raw: Any) -> M:
    """Validate plain values. Raises InvalidInputError that names the first bad field, its value and the fix."""
    try:
        return adapter.validate_python(raw)
    except ValidationError as error:
        raise as_input_error(error, has_secrets=True) from None


def parse_json[M](adapter: TypeAdapter[M], text: str) -> M:
    """Validate a JSON text. Raises InvalidInputError likewise."""
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        raise as_input_error(error) from None


def as_input_error(error: ValidationError, *, has_secrets: bool = False) -> InvalidInputError:
    """The first finding as an InvalidInputError; how many more there are is said at its end.

    Of an event, which may hold tokens in other fields, an object or list is named by its type only.
    """
    findings = error.errors(include_url=False, include_context=False)
    first = findings[0]
    field = ".".join(str(part) for part in first["loc"]) or "document"
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    value = first["input"]
    shown = f"a {type(value).__name__}" if has_secrets and isinstance(value, dict | list) else value
    return InvalidInputError(field, shown, first["msg"].removeprefix("Value error, ") + more)
