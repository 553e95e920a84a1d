"""What should become of every session, and what did: the difference is what the run fails on."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class Fate(StrEnum):
    """What a scene says about a session it started."""

    STAYS = "stays"
    ENDS = "ends"
    OPEN = "open"


@dataclass(slots=True)
class Book:
    """Fates by session id, the sessions whose end counts for the latency, and everything that went wrong."""

    fates: dict[str, Fate] = field(default_factory=dict)
    timed: set[str] = field(default_factory=set)
    burst: set[str] = field(default_factory=set)
    unexpected: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    tallies: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, session_id: str, fate: Fate) -> None:
        """Say what should become of a session."""
        with self._lock:
            self.fates[session_id] = fate

    def count(self, what: str, number: int = 1) -> None:
        """Add to a tally."""
        with self._lock:
            self.tallies[what] = self.tallies.get(what, 0) + number

    def wrong(self, what: str) -> None:
        """Something that should not have happened."""
        with self._lock:
            self.unexpected.append(what)

    def compare(self, sessions: Sequence[Mapping[str, Any]], role_name: str) -> None:
        """Add to `unexpected` whatever Proctor ended without reason or left open."""
        for session in sessions:
            session_id = str(session["session_id"])
            is_ended = is_ended_by(session, role_name)
            fate = self.fates.get(session_id)
            if fate is None and is_ended:
                self.wrong(f"{session_id} was ended and is none of this week's sessions")
            elif fate is Fate.STAYS and is_ended:
                self.wrong(f"{session_id} was ended and should have stayed")
            elif fate is Fate.ENDS and not is_ended:
                self.wrong(f"{session_id} should have been ended and was not")


def is_ended_by(session: Mapping[str, Any], role_name: str) -> bool:
    """Whether the function under this role ended a session."""
    return f"/{role_name}/" in f"{session['ended_by']}/"


def seconds_to_end(session: Mapping[str, Any]) -> float:
    """From StartSession to TerminateSession."""
    began = datetime.fromisoformat(str(session["started_at"]))
    return (datetime.fromisoformat(str(session["ending_at"])) - began).total_seconds()


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of all values do not exceed; 0 when there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
