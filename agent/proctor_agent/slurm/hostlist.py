"""Slurm's host list expressions: `ip-10-1-0-[1-2,5],ip-10-2-[0-3]-7`. Source: scontrol show hostnames."""

import re
from collections.abc import Iterable, Iterator

from proctor_agent.errors import SlurmError

MOST_NAMES = 50_000
_PART = re.compile(r"(?:[^,\[\]]*\[[0-9,-]+\])*[^,\[\]]*")
_PIECE = re.compile(r"([^,\[\]]*)(?:\[([0-9,-]+)\])?")


def expand(expression: str) -> list[str]:
    """Every name, in order. SlurmError for what is no host list or has more than 50,000 names."""
    names: list[str] = []
    for part in _parts(expression):
        if not _PART.fullmatch(part):
            raise SlurmError(f"host list {expression[:60]!r}: {part[:60]!r} is no part of one")
        found = [""]
        for literal, ranges in _PIECE.findall(part):
            numbers = list(_numbers(ranges)) if ranges else [""]
            if len(found) * len(numbers) + len(names) > MOST_NAMES:
                raise SlurmError(f"host list {expression[:60]!r}: over {MOST_NAMES} names")
            found = [prefix + literal + number for prefix in found for number in numbers]
        names.extend(found)
    return names


def _parts(expression: str) -> Iterator[str]:
    depth, start = 0, 0
    for position, letter in enumerate(expression):
        if letter == "[":
            depth += 1
        elif letter == "]":
            depth -= 1
        elif letter == "," and depth == 0:
            yield expression[start:position]
            start = position + 1
        if depth not in {0, 1}:
            raise SlurmError(f"host list {expression[:60]!r}: brackets")
    if depth:
        raise SlurmError(f"host list {expression[:60]!r}: brackets")
    if expression[start:]:
        yield expression[start:]


def _numbers(ranges: str) -> Iterator[str]:
    for item in ranges.split(","):
        low, _, high = item.partition("-")
        if not low.isdigit() or not (high or low).isdigit() or int(high or low) - int(low) > MOST_NAMES:
            raise SlurmError(f"host list range {ranges[:60]!r}")
        width = len(low)
        for number in range(int(low), int(high or low) + 1):
            yield f"{number:0{width}d}"


def same_names(left: Iterable[str], right: Iterable[str]) -> bool:
    """Whether two lists name the same hosts, in any order."""
    return set(left) == set(right)
