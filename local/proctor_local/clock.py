"""The local AWS's clock: the machine's, plus what a scenario advanced."""

import time
from datetime import UTC, datetime


class Clock:
    """Time as the added services see it.

    Advancing it ages sessions and their history; timers keep real time.
    """

    def __init__(self) -> None:
        self.advanced_seconds = 0.0

    def now(self) -> datetime:
        """The present, aware, UTC."""
        return datetime.fromtimestamp(self.timestamp(), UTC)

    def timestamp(self) -> float:
        """The present in seconds since 1970."""
        return time.time() + self.advanced_seconds

    def advance(self, seconds: float) -> None:
        """Move on by ``seconds``.

        Raises ValueError for a negative number, since AWS's clock never goes back.
        """
        if seconds < 0:
            raise ValueError(f"advance_seconds = {seconds}: give 0 or more")
        self.advanced_seconds += seconds

    def reset(self) -> None:
        """Go back to the machine's time."""
        self.advanced_seconds = 0.0


def iso(moment: datetime) -> str:
    """``2026-09-01T10:00:00Z``, as CloudTrail writes a time."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
