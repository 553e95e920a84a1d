"""What was measured, and what went wrong: the difference is what the run fails on."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from proctor_local.exam_week.log import Log

APPLIED_WITHIN, REHELD_WITHIN = 5.0, 10.0
_EVERY_SECONDS = 0.05
_PATIENCE = 3.0
"""How many times its bound a thing is waited for, so that the figure of a miss is known too."""


@dataclass(slots=True)
class Book:
    """Seconds by name with their bounds, tallies, and everything that went wrong."""

    log: Log
    seconds: dict[str, tuple[float, float]] = field(default_factory=dict)
    unexpected: list[str] = field(default_factory=list)
    tallies: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, what: str) -> None:
        """Add to a tally."""
        with self._lock:
            self.tallies[what] = self.tallies.get(what, 0) + 1

    def wrong(self, what: str) -> None:
        """Something that should not have happened."""
        with self._lock:
            self.unexpected.append(what)
        self.log.say("UNEXPECTED", what, "bad")

    def expect(self, what: str, is_so: object) -> None:
        """Note as unexpected what is not so."""
        if not is_so:
            self.wrong(f"not so: {what}")

    def measure(self, what: str, bound: float, is_so: Callable[[], object], since: float) -> float:
        """Wait until it is so; seconds since a moment of time.monotonic(). Over the bound is unexpected."""
        deadline = since + bound * _PATIENCE
        while not is_so():
            if time.monotonic() > deadline:
                self.seconds[what] = (time.monotonic() - since, bound)
                self.wrong(f"{what}: not within {bound * _PATIENCE:.0f} s")
                return self.seconds[what][0]
            time.sleep(_EVERY_SECONDS)
        took = time.monotonic() - since
        self.seconds[what] = (took, bound)
        self.log.say("measured", f"{what}: {took:.1f} s (at most {bound:.0f} s)", "good")
        if took > bound:
            self.wrong(f"{what}: {took:.1f} s, at most {bound:.0f} s is promised")
        return took
