"""What happened, for people: one line per event, printed only when somebody wants to read it."""

from collections.abc import Callable, Iterable

type Line = tuple[float, str, str]


class Story:
    """Lines in the order of events; `who` is what acts or is acted on."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.now: Callable[[], float] = lambda: 0.0

    def tell(self, who: str, what: str) -> None:
        """Add a line."""
        self.lines.append((self.now(), who, what))

    def about(self, names: Iterable[str], last: int) -> list[str]:
        """The last lines in which one of the names occurs."""
        wanted = [n for n in names if n]
        found = [line for line in self.lines if any(n in line[1] or n in line[2] for n in wanted)]
        return [as_text(line) for line in found[-last:]]

    def ending(self, last: int) -> list[str]:
        """The last lines."""
        return [as_text(line) for line in self.lines[-last:]]


def as_text(line: Line) -> str:
    """`mm:ss.mmm  who  what`."""
    at, who, what = line
    return f"{int(at) // 60:3d}:{at % 60:06.3f}  {who:<22} {what}"
