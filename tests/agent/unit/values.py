"""A clock that stands still until it is told to move, and a disk that can be full."""

from datetime import UTC, datetime, timedelta


class FakeClock:
    """Starts on 30 November 2026; `advance` moves both clocks."""

    def __init__(self) -> None:
        self._now = datetime(2026, 11, 30, 18, 6, 52, tzinfo=UTC)
        self._monotonic = 1000.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def jitter(self, seconds: float) -> float:
        return seconds / 2

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds
