"""The sessions of Session Manager and how they live.

Connecting, Connected, Terminating, then 30 days of history.
"""

import secrets
import string
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from proctor_local.clock import Clock
from proctor_local.settings import Settings
from proctor_local.timers import Timers

ACTIVE = ("Connected", "Connecting", "Disconnected", "Terminating")
ENDED = ("Terminated", "Failed")
HISTORY = timedelta(days=30)
DEFAULT_DOCUMENT = "SSM-SessionManagerRunShell"
MAX_SESSION_ID = 96
_SUFFIX_LENGTH = 26
_ALPHABET = string.ascii_lowercase + string.digits


@dataclass(slots=True)
class Session:
    """One session, with the members of DescribeSessions and the two that only its tags show."""

    session_id: str
    target: str
    owner_arn: str
    owner_user_id: str
    started_at: datetime
    account: str
    region: str
    status: str = "Connected"
    document_name: str = DEFAULT_DOCUMENT
    reason: str = ""
    access_type: str = "Standard"
    max_session_duration: str = ""
    ended_at: datetime | None = None
    ending_at: datetime | None = None
    """When TerminateSession took effect, and by whom; an ``exit`` sets neither."""
    ended_by: str = ""

    def is_active(self) -> bool:
        """Whether DescribeSessions(State=Active) lists it."""
        return self.status in ACTIVE


class UnknownSessionError(LookupError):
    """No session has this id; only a control call says so, TerminateSession never does."""


def new_session_id(name: str) -> str:
    """``<role session name or IAM user name>-<26 of a-z0-9>``.

    A long name is cut so that the id has 96 characters.
    """
    suffix = "".join(secrets.choice(_ALPHABET) for _ in range(_SUFFIX_LENGTH))
    return f"{name[: MAX_SESSION_ID - _SUFFIX_LENGTH - 1]}-{suffix}"


class SessionStore:
    """All sessions of all accounts and Regions. Safe for threads."""

    def __init__(self, settings: Settings, clock: Clock, timers: Timers) -> None:
        self._settings, self._clock, self._timers = settings, clock, timers
        self._sessions: dict[str, Session] = {}
        self._lock = threading.RLock()

    def reset(self) -> None:
        """Forget every session."""
        with self._lock:
            self._sessions.clear()

    def add(self, session: Session) -> Session:
        """Take in a session as it is (a seeded one)."""
        with self._lock:
            if session.session_id in self._sessions:
                raise ValueError(f"session_id = {session.session_id}: exists already; give another")
            self._sessions[session.session_id] = session
        return session

    def connect(self, session: Session) -> Session:
        """Take in a session that is opening now."""
        session.status = "Connecting"
        self.add(session)
        self._timers.after(
            self._settings.connecting_seconds,
            lambda: self._move(session.session_id, "Connecting", "Connected"),
        )
        return session

    def find(self, session_id: str) -> Session | None:
        """The session of this id, ended ones included."""
        with self._lock:
            return self._sessions.get(session_id)

    def get(self, session_id: str) -> Session:
        """The session of this id. Raises UnknownSessionError."""
        found = self.find(session_id)
        if found is None:
            raise UnknownSessionError(f"session_id = {session_id}: there is no such session")
        return found

    def set_status(self, session_id: str, status: str) -> Session:
        """Put a session into a state; an ended one gets its end time.

        Raises UnknownSessionError, ValueError.
        """
        if status not in ACTIVE + ENDED:
            raise ValueError(f"status = {status!r}: give one of {', '.join(ACTIVE + ENDED)}")
        with self._lock:
            session = self.get(session_id)
            session.status = status
            session.ended_at = self._clock.now() if status in ENDED else None
        return session

    def terminate(self, session_id: str, caller_arn: str = "") -> None:
        """Begin the end of an active session: Terminating, and Terminated a while later.

        Others are left alone.
        """
        with self._lock:
            session = self._sessions.get(session_id)
            if session is None or session.status not in ("Connected", "Connecting", "Disconnected"):
                return
            session.status = "Terminating"
            session.ending_at, session.ended_by = self._clock.now(), caller_arn
        self._timers.after(self._settings.terminating_seconds, lambda: self._end_terminating(session_id))

    def listed(self, account: str, region: str, state: str) -> list[Session]:
        """The sessions of a state, newest start first; history older than 30 days is gone."""
        oldest = self._clock.now() - HISTORY
        with self._lock:
            mine = [s for s in self._sessions.values() if (s.account, s.region) == (account, region)]
        if state == "Active":
            chosen = [s for s in mine if s.is_active()]
        else:
            chosen = [s for s in mine if not s.is_active() and (s.ended_at or s.started_at) >= oldest]
        return sorted(chosen, key=sort_key)

    def all(self) -> list[Session]:
        """Every session, newest start first."""
        with self._lock:
            return sorted(self._sessions.values(), key=sort_key)

    def end_where(self, ends: Callable[[Session], bool]) -> list[str]:
        """End the active sessions that ``ends`` picks, without any API call; returns their ids."""
        with self._lock:
            chosen = [s.session_id for s in self._sessions.values() if s.is_active() and ends(s)]
            for session_id in chosen:
                self.set_status(session_id, "Terminated")
        return chosen

    def _move(self, session_id: str, before: str, after: str) -> None:
        with self._lock:
            session = self._sessions.get(session_id)
            if session is not None and session.status == before:
                session.status = after

    def _end_terminating(self, session_id: str) -> None:
        with self._lock:
            session = self._sessions.get(session_id)
            if session is not None and session.status == "Terminating":
                session.status, session.ended_at = "Terminated", self._clock.now()


def sort_key(session: Session) -> tuple[float, str]:
    """Newest start first, then by id."""
    return (-session.started_at.timestamp(), session.session_id)


def after_key(sessions: Iterable[Session], key: tuple[float, str] | None) -> list[Session]:
    """The sessions that come after a page's last one; all when there is no page yet."""
    return [session for session in sessions if key is None or sort_key(session) > key]
