"""What is printed: tables for people, JSON for programs. 100 columns, no colour unless it is a terminal.

Text from AWS may hold anything; what a terminal would obey is shown as `?`.
"""

import json
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TextIO

WIDTH = 100
_NARROWEST = 8
_BOLD, _RED, _PLAIN = "\033[1m", "\033[31m", "\033[0m"
_OWN_ESCAPES = re.compile(f"({re.escape(_BOLD)}|{re.escape(_PLAIN)})")


@dataclass(slots=True)
class Console:
    """Where output goes, and in which form."""

    is_json: bool = False
    out: TextIO = field(default_factory=lambda: sys.stdout)
    err: TextIO = field(default_factory=lambda: sys.stderr)

    def answer(self, data: Mapping[str, Any], text: str) -> None:
        """The result, once: `data` for programs, `text` for people."""
        document = json.dumps(data, indent=2, default=_plain, ensure_ascii=False) if self.is_json else ""
        shown = _escaped(document) if self.is_json else self._cleaned(text)
        self.out.write(shown.rstrip("\n") + "\n")

    def note(self, text: str) -> None:
        """A line beside the result, e.g. a warning."""
        self.err.write(clean(text) + "\n")

    def progress(self, text: str) -> None:
        """How far long work is; a terminal only."""
        if self.err.isatty():
            self.err.write(f"\r\033[K{clean(text)}")

    def progress_over(self) -> None:
        """Take the progress line away."""
        if self.err.isatty():
            self.err.write("\r\033[K")

    def error(self, text: str, exit_code: int) -> None:
        """Why it failed, in one line."""
        if self.is_json:
            said = json.dumps({"error": text, "exit_code": exit_code}, ensure_ascii=False)
            self.err.write(_escaped(said) + "\n")
            return
        lead = f"{_RED}proctor:{_PLAIN}" if has_colour(self.err) else "proctor:"
        self.err.write(f"{lead} {clean(text)}\n")

    def _cleaned(self, text: str) -> str:
        """Lines as they are, with nothing in them that a terminal would obey but our own two escapes."""
        if not has_colour(self.out):
            return "\n".join(map(printable, text.split("\n")))
        parts = _OWN_ESCAPES.split(text)
        return "".join(p if n % 2 else "\n".join(map(printable, p.split("\n"))) for n, p in enumerate(parts))

    def heading(self, text: str) -> str:
        """A heading line; bold on a terminal."""
        shown = clean(text)
        return f"{_BOLD}{shown}{_PLAIN}" if has_colour(self.out) else shown


def has_colour(stream: TextIO) -> bool:
    """Whether escapes may be written: a terminal, and nobody has set NO_COLOR."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def clean(value: object) -> str:
    """One line of printable text; None is a dash, times are to the second in UTC."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return shown_time(value)
    return printable(str(value).replace("\n", " "))


def printable(text: str) -> str:
    """Text with `?` for controls, changes of direction, separators and halves of characters."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def shown_time(at: datetime | str | None) -> str:
    """`2026-11-30 18:20:01Z`; text that is no time as it is."""
    if at is None:
        return "-"
    try:
        when = datetime.fromisoformat(at) if isinstance(at, str) else at
    except ValueError:
        return clean(at)
    offset = when.utcoffset()
    return f"{(when - offset if offset else when).replace(tzinfo=None):%Y-%m-%d %H:%M:%S}Z"


def shown_age(age: timedelta) -> str:
    """`42s`, `7m`, `5h`, `3d`: in the largest unit of which there are two or more.

    >>> shown_age(timedelta(minutes=90))
    '90m'
    """
    seconds = max(0, int(age.total_seconds()))
    for unit, length in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def table(headers: Sequence[str], rows: Iterable[Sequence[object]], width: int = WIDTH) -> str:
    """Columns as wide as their longest cell; above `width` the widest are cut, with an ellipsis."""
    cells = [list(headers), *([cut(clean(c), width + 1) for c in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headers))]
    while sum(widths) + 2 * (len(widths) - 1) > width and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return "\n".join(
        "  ".join(cut(c, w).ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def fields(pairs: Iterable[tuple[str, object]], width: int = WIDTH) -> str:
    """One name and value a line; a long value goes on under itself."""
    shown = [(name, clean(value)) for name, value in pairs]
    column = max((len(name) for name, _ in shown), default=0) + 2
    lines = []
    for name, value in shown:
        wrapped = textwrap.wrap(value, max(20, width - column), break_on_hyphens=False) or ["-"]
        lines.append(name.ljust(column) + ("\n" + " " * column).join(wrapped))
    return "\n".join(lines)


def cut(text: str, width: int) -> str:
    """At most so many letters; what is left out is an ellipsis."""
    return text if len(text) <= width else text[: width - 1] + "…"


def _escaped(document: str) -> str:
    """JSON that means the same, with escapes for what a terminal would obey."""
    if document.replace("\n", "").isprintable():
        return document
    return "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in document)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, frozenset | set | tuple):
        return sorted(value) if not isinstance(value, tuple) else list(value)
    return str(value)
