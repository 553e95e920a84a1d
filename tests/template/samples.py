"""The events in `events/`, by function and name."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.template.stack import ROOT

EVENTS = ROOT / "events"


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def names(function: str) -> list[str]:
    """Every sample of a function."""
    return sorted(path.stem for path in (EVENTS / function).glob("*.json"))


def sample(name: str, function: str = "session_limits") -> dict[str, Any]:
    """One event, a fresh copy."""
    return dict(json.loads(_text(EVENTS / function / f"{name}.json")))
