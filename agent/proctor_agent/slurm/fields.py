"""Pieces of Slurm's text: key=value lines, limits, times, states. Pure functions."""

import re
from datetime import datetime, timezone

_NOTHING = frozenset({"", "N/A", "(null)", "None", "NONE", "none", "n/a", "Unknown", "N"})
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]+")
_LONGEST_TEXT = 200
_MOMENT_LENGTH = len("2026-11-30T18:06:52")
# sinfo(1), NODE STATE CODES: one character after the state.
STATE_FLAGS = "*~#!%$@^-+"


def pairs(line: str, *wanted: str) -> dict[str, str]:
    """Values of these keys in a `scontrol -o` line; a key that is not there is left out.

    `PartitionName=dev AllowGroups=ALL ... State=UP TotalCPUs=32` with ("State",) gives {"State": "UP"}.
    """
    found = {}
    padded = f" {line}"
    for key in wanted:
        start = padded.find(f" {key}=")
        if start >= 0:
            start += len(key) + 2
            end = padded.find(" ", start)
            found[key] = padded[start:] if end < 0 else padded[start:end]
    return found


def clean(value: str, longest: int = _LONGEST_TEXT) -> str:
    """Text that people may have written, on one line and cut."""
    return _UNPRINTABLE.sub(" ", value).strip()[:longest]


def optional(value: str) -> str | None:
    """None for Slurm's several ways of saying nothing."""
    stripped = value.strip()
    return None if stripped in _NOTHING else stripped


def limit(value: str) -> int | None:
    """A limit as sacctmgr prints it (empty: none) or as assoc_mgr does (`10(3)` limit and use, `N(0)` none)."""
    number = value.partition("(")[0].strip()
    return int(number) if number.isdigit() else None


def tres_entry(tres: str, name: str) -> int | None:
    """One entry of a TRES list: ("gres/gpu=16,node=3", "node") is 3; `node=3(0)` too; None when unlimited."""
    for item in tres.split(","):
        key, _, value = item.partition("=")
        if key.strip() == name:
            return limit(value)
    return None


def moment(value: str) -> datetime | None:
    """`2026-11-30T18:06:52` in UTC (the commands run with TZ=UTC), or None for Unknown and the like."""
    text = value.strip()
    if len(text) != _MOMENT_LENGTH or not text[:4].isdigit():
        return None
    try:
        # By position: strptime takes ten times as long, and there may be twenty thousand a minute.
        return datetime(
            int(text[:4]), int(text[5:7]), int(text[8:10]), int(text[11:13]), int(text[14:16]), int(text[17:]),
            tzinfo=timezone.utc,
        )  # fmt: skip
    except ValueError:
        return None


def minutes(value: str) -> int | None:
    """A time limit `[days-][hours:]minutes:seconds` in minutes, rounded up; None for UNLIMITED and the like."""
    days, _, clock = value.strip().rpartition("-")
    parts = clock.split(":")
    if not all(part.isdigit() for part in (*parts, days or "0")):
        return None
    numbers = [0, 0, 0, *(int(part) for part in parts)][-3:]
    seconds = int(days or "0") * 86_400 + numbers[0] * 3_600 + numbers[1] * 60 + numbers[2]
    return -(-seconds // 60)


def split_state(value: str) -> tuple[str, str]:
    """Sinfo's long state and its flags: `drained*` is ("drained", "*")."""
    state = value.strip().lower()
    bare = state.rstrip(STATE_FLAGS)
    return bare, state[len(bare) :]


def is_draining(state: str) -> bool:
    """Whether a long state says that no new job may start there: drained, draining, drng, fail, failing."""
    return state in {"drained", "draining", "drain", "drng", "fail", "failing", "failg"}
