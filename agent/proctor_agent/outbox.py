"""Reports waiting to be sent, bounded: a day without a network costs a fresh snapshot, not memory."""

import threading
from collections import deque
from dataclasses import dataclass
from enum import Enum

from proctor.domain.agent_protocol import Report, report_body

_MOST_STATE_BYTES = 6_000_000
_MOST_EVENTS = 2_000


class Kind(Enum):
    """heartbeat: only the latest counts. event: can't be asked again. state: a snapshot says it again."""

    HEARTBEAT = 1
    EVENT = 2
    STATE = 3


@dataclass(frozen=True)
class Parcel:
    """One report as text, not yet sealed."""

    kind: Kind
    body: str


class Outbox:
    """Heartbeat, events (results, undone holds) and state (observed rows), in this process's memory.

    When there is too much state all of it is dropped and a snapshot is wished: what it said will be said again.
    Events are dropped oldest first and counted. A restart of the agent begins with a snapshot anyway.
    """

    def __init__(self) -> None:
        """Empty; the first thing to send is a snapshot."""
        self._condition = threading.Condition()
        self._heartbeat: Parcel | None = None
        self._events: deque[Parcel] = deque()
        self._state: deque[Parcel] = deque()
        self._bytes = 0
        self._dropped = 0
        self._needs_snapshot = True
        self._is_closed = False

    def put_heartbeat(self, report: Report) -> None:
        """Replace an unsent heartbeat."""
        with self._condition:
            self._heartbeat = Parcel(Kind.HEARTBEAT, report_body(report))
            self._condition.notify_all()

    def put_event(self, report: Report) -> None:
        """Queue what can't be asked again later."""
        with self._condition:
            if len(self._events) >= _MOST_EVENTS:
                self._events.popleft()
                self._dropped += 1
            self._events.append(Parcel(Kind.EVENT, report_body(report)))
            self._condition.notify_all()

    def put_state(self, body: str) -> None:
        """Queue observed rows, as the body of a report."""
        with self._condition:
            if self._bytes + len(body) > _MOST_STATE_BYTES:
                self._dropped += len(self._state) + 1
                self._state.clear()
                self._bytes = 0
                self._needs_snapshot = True
                return
            self._state.append(Parcel(Kind.STATE, body))
            self._bytes += len(body)
            self._condition.notify_all()

    def take_snapshot_wish(self) -> bool:
        """Whether everything is to be sent again; asking clears it."""
        with self._condition:
            wish, self._needs_snapshot = self._needs_snapshot, False
            return wish

    def ask_snapshot(self) -> None:
        """Everything is to be sent again."""
        with self._condition:
            self._needs_snapshot = True

    def take(self, seconds: float) -> Parcel | None:
        """The next parcel, events first; None when there is none within `seconds`."""
        with self._condition:
            if not (self._events or self._state or self._heartbeat or self._is_closed):
                self._condition.wait(seconds)
            if self._events:
                return self._events.popleft()
            if self._state:
                parcel = self._state.popleft()
                self._bytes -= len(parcel.body)
                return parcel
            held, self._heartbeat = self._heartbeat, None
            return held

    def put_back(self, parcel: Parcel) -> None:
        """Return an unsent parcel to the front."""
        with self._condition:
            if parcel.kind is Kind.HEARTBEAT:
                self._heartbeat = self._heartbeat or parcel
            elif parcel.kind is Kind.EVENT:
                self._events.appendleft(parcel)
            else:
                self._state.appendleft(parcel)
                self._bytes += len(parcel.body)

    def counts(self) -> tuple[int, int]:
        """Reports waiting, and reports dropped so far."""
        with self._condition:
            waiting = len(self._events) + len(self._state) + (self._heartbeat is not None)
            return waiting, self._dropped

    def close(self) -> None:
        """Let a waiting sender return at once."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()
