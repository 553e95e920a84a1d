"""EventBridge's rules: whether a pattern matches an event, and what an input transformer makes of it.

Anything that these rules don't use raises NotImplementedError. Source: EventBridge user guide, "Event pattern syntax",
"Comparison operators" and "Input transformation".
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.template.policies import like

_ABSENT = object()


def matches(pattern: Mapping[str, Any], event: Any) -> bool:
    """Every field of the pattern must match; the values in one list are alternatives."""
    for name, wanted in pattern.items():
        if name == "$or":
            if not any(matches(alternative, event) for alternative in wanted):
                return False
            continue
        value = event.get(name, _ABSENT) if isinstance(event, dict) else _ABSENT
        if isinstance(wanted, Mapping):
            if not matches(wanted, value):
                return False
        elif not any(_one(alternative, value) for alternative in wanted):
            return False
    return True


def _one(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, Mapping) and list(wanted) == ["exists"]:
        # Only leaves exist to EventBridge; null is a value.
        return (value is not _ABSENT and not isinstance(value, dict)) is wanted["exists"]
    if value is _ABSENT:
        return False
    return any(_leaf(wanted, item) for item in (value if isinstance(value, list) else [value]))


def _leaf(wanted: Any, value: Any) -> bool:
    if not isinstance(wanted, Mapping):
        return bool(wanted == value) and isinstance(wanted, bool) is isinstance(value, bool)
    ((operator, operand),) = wanted.items()
    if operator == "anything-but":
        refused = operand if isinstance(operand, list) else [operand]
        return not any(_leaf(item, value) for item in refused)
    if not isinstance(value, str):
        return False
    if operator == "prefix":
        return value.startswith(operand)
    if operator == "suffix":
        return value.endswith(operand)
    if operator == "wildcard":
        assert "?" not in operand
        return like(operand, value)
    raise NotImplementedError(f"comparison operator {operator}")


def render(transformer: Mapping[str, Any], event: Mapping[str, Any]) -> str:
    """What the target gets. A variable whose path the event lacks leaves nothing behind."""
    values = {name: _at(path, event) for name, path in transformer["InputPathsMap"].items()}

    def fill(match: re.Match[str]) -> str:
        value = values[match[1]]
        if value is _ABSENT:
            return ""
        text = json.dumps(value)
        return text[1:-1] if isinstance(value, str) else text.replace('"', "")

    return re.sub(r"<([A-Za-z0-9_]+)>", fill, transformer["InputTemplate"])


def variables(transformer: Mapping[str, Any]) -> Sequence[str]:
    """The variables of the template, each with the character before and after it."""
    return re.findall(r".?<[A-Za-z0-9_]+>.?", transformer["InputTemplate"])


def _at(path: str, event: Any) -> Any:
    if not re.fullmatch(r"\$(\.[A-Za-z0-9_-]+)+", path):
        raise NotImplementedError(f"JSON path {path}")
    for name in path.split(".")[1:]:
        if not isinstance(event, dict) or name not in event:
            return _ABSENT
        event = event[name]
    return event
