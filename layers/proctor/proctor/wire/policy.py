"""Policies: standard-library dataclasses validated by one pydantic TypeAdapter; unknown keys are refused."""

from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter

from proctor.wire.parsing import parse_json


def policy_parser[P](policy: type[P]) -> Callable[[str], P]:
    """A parser of JSON texts for a policy class; the schema is built at the first use. Raises InvalidInputError."""
    built: list[TypeAdapter[P]] = []

    def parse(text: str) -> P:
        if not built:
            built.append(TypeAdapter(policy))
        return parse_json(built[0], text)

    return parse


def json_schema(policy: type[Any]) -> dict[str, Any]:
    """The JSON Schema of a policy class, for editors and docs."""
    return TypeAdapter(policy).json_schema()
