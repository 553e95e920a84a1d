"""Time and chance, injected so that tests decide them."""

import random
import time
from datetime import datetime, timezone
from typing import Protocol


class Clock(Protocol):
    """Wall clock, monotonic clock and a random share."""

    def now(self) -> datetime:
        """Aware UTC time."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow."""
        ...

    def jitter(self, seconds: float) -> float:
        """A random span from 0 to `seconds`."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def __init__(self) -> None:
        """Seed from the system."""
        self._random = random.SystemRandom()

    def now(self) -> datetime:
        """Aware UTC time."""
        return datetime.now(tz=timezone.utc)

    def monotonic(self) -> float:
        """CLOCK_MONOTONIC."""
        return time.monotonic()

    def jitter(self, seconds: float) -> float:
        """A random span from 0 to `seconds`."""
        return self._random.uniform(0, seconds)

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)


class Backoff:
    """Growing pauses with jitter: 1, 2, 4 ... up to a ceiling, half of each random."""

    def __init__(self, clock: Clock, ceiling_seconds: float) -> None:
        """Start without a pause."""
        self._clock = clock
        self._ceiling = ceiling_seconds
        self._failures = 0

    def succeeded(self) -> None:
        """Forget earlier failures."""
        self._failures = 0

    def failed(self) -> float:
        """Seconds to wait after one more failure."""
        pause = min(self._ceiling, 2.0 ** min(self._failures, 16))
        self._failures += 1
        return pause / 2 + self._clock.jitter(pause / 2)
