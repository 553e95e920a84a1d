"""DynamoDB's condition and update expressions, as far as Proctor's adapters use them; anything else is refused loudly.

Conditions: `attribute_exists(p)`, `attribute_not_exists(p)`, `p = v`, `p < v`, joined by AND and OR. Updates: SET (with
`if_not_exists`), ADD, REMOVE. Paths are names, `#aliases` and dots.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

type Item = dict[str, Any]
type Names = Mapping[str, str]
type Values = Mapping[str, Any]
type Condition = Callable[[Item, Names, Values], bool]

_FUNCTION = re.compile(r"(attribute_exists|attribute_not_exists)\(\s*([\w#.]+)\s*\)")
_COMPARISON = re.compile(r"([\w#.]+)\s*(=|<)\s*(:\w+)")
_SECTION = re.compile(r"\b(SET|ADD|REMOVE)\b")
_IF_NOT_EXISTS = re.compile(r"if_not_exists\(\s*([\w#.]+)\s*,\s*(:\w+)\s*\)")
_MISSING = object()


class UnknownExpressionError(AssertionError):
    """The adapter uses an expression that this model doesn't know: extend the model."""


@cache
def condition(text: str) -> Condition:
    """Compile a condition."""
    alternatives = [[_term(t.strip()) for t in part.split(" AND ")] for part in text.split(" OR ")]
    return lambda item, names, values: any(all(t(item, names, values) for t in part) for part in alternatives)


def update(text: str, item: Item, names: Names, values: Values) -> None:
    """Apply an update to `item` in place."""
    parts = _SECTION.split(text)
    for keyword, clause in zip(parts[1::2], parts[2::2], strict=True):
        for step in _clauses(clause):
            _SECTIONS[keyword](step, item, names, values)


def _term(text: str) -> Condition:
    if found := _FUNCTION.fullmatch(text):
        wants, path = found[1] == "attribute_exists", found[2]
        return lambda item, names, _: (_read(item, path, names) is not _MISSING) is wants
    if found := _COMPARISON.fullmatch(text):
        path, operator, value = found[1], found[2], found[3]
        if operator == "=":
            return lambda item, names, values: _read(item, path, names) == values[value]
        return lambda item, names, values: _is_less(_read(item, path, names), values[value])
    raise UnknownExpressionError(text)


def _is_less(stored: Any, value: Mapping[str, str]) -> bool:
    return stored is not _MISSING and "N" in stored and int(stored["N"]) < int(value["N"])


def _clauses(text: str) -> list[str]:
    """Split at commas outside brackets."""
    return [c.strip() for c in re.split(r",(?![^()]*\))", text) if c.strip()]


def _path(path: str, names: Names) -> list[str]:
    return [names[p] if p.startswith("#") else p for p in path.split(".")]


def _read(item: Item, path: str, names: Names) -> Any:
    found: Any = {"M": item}
    for name in _path(path, names):
        if "M" not in found or name not in found["M"]:
            return _MISSING
        found = found["M"][name]
    return found


def _parent(item: Item, path: str, names: Names) -> tuple[Item, str]:
    *above, last = _path(path, names)
    for name in above:
        if name not in item or "M" not in item[name]:
            raise UnknownExpressionError(f"{path}: the document path is not in the item")
        item = item[name]["M"]
    return item, last


def _set(step: str, item: Item, names: Names, values: Values) -> None:
    path, _, source = (s.strip() for s in step.partition("="))
    parent, last = _parent(item, path, names)
    if found := _IF_NOT_EXISTS.fullmatch(source):
        stored = _read(item, found[1], names)
        parent[last] = values[found[2]] if stored is _MISSING else stored
    else:
        parent[last] = values[source]


def _add(step: str, item: Item, names: Names, values: Values) -> None:
    path, value = step.split()
    parent, last = _parent(item, path, names)
    parent[last] = {"N": str(int(parent.get(last, {"N": "0"})["N"]) + int(values[value]["N"]))}


def _remove(step: str, item: Item, names: Names, _: Values) -> None:
    parent, last = _parent(item, step, names)
    parent.pop(last, None)


_SECTIONS = {"SET": _set, "ADD": _add, "REMOVE": _remove}
