"""What is wrong with a file, finding by finding: where, field, value, fix."""

import difflib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from proctor_cli.console import clean

_VALUE_AT_MOST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding. `line` counts from 1, 0 stands for the whole file; `is_error` False is a warning."""

    line: int
    field: str
    value: str
    fix: str
    is_error: bool = True

    def __str__(self) -> str:
        """One line for people."""
        where = f"line {self.line}: " if self.line else ""
        kind = "" if self.is_error else "warning: "
        value = f"{self.value} is not usable; " if self.is_error else f"{self.value}: "
        return clean(f"{where}{kind}{self.field}: {value}{self.fix}")

    def as_record(self) -> dict[str, object]:
        """For programs."""
        return asdict(self)


def shown(value: object) -> str:
    """A value as JSON, cut at 60 characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _VALUE_AT_MOST else text[: _VALUE_AT_MOST - 1] + "…"


def from_validation(error: ValidationError, line: int = 0, known: Iterable[str] = ()) -> list[Finding]:
    """Pydantic's findings in our words; `known` are the names that an unknown one may have been meant for."""
    names = sorted(set(known))
    return [_finding(dict(item), line, names) for item in error.errors(include_url=False)]


def field_names(*models: type[BaseModel]) -> list[str]:
    """Every field of these models."""
    return [name for model in models for name in model.model_fields]


class DuplicateNameError(ValueError):
    """A JSON object names a field twice; parsers disagree about which one holds."""


def read_json(text: str) -> Any:
    """Strict JSON: no name twice in one object, no NaN or Infinity. Raises ValueError."""
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)


def _finding(item: dict[str, Any], line: int, names: Sequence[str]) -> Finding:
    where = ".".join(str(part) for part in item["loc"]) or "document"
    value = shown(item["input"])
    if item["type"] == "missing":
        value, fix = "nothing", "add this field"
    elif item["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        close = difflib.get_close_matches(str(item["loc"][-1]), names, n=1)
        fix = (
            f"there is no such field; did you mean {close[0]}?"
            if close
            else "there is no such field; remove it"
        )
    elif item["type"] == "json_invalid":
        value, fix = "this text", f"write valid JSON ({item['msg'].removeprefix('Invalid JSON: ')})"
    else:
        message = item["msg"].removeprefix("Value error, ")
        fix = message.replace("Input should be", "use", 1) if message.startswith("Input") else message
    return Finding(line=line, field=where, value=value, fix=fix)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for name in found if sum(1 for key, _ in pairs if key == name) > 1)
        raise DuplicateNameError(f"the field {twice!r} stands there twice; keep one")
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON; write a number")
