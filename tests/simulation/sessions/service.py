"""Session Manager as it is: who truly has which session, what DescribeSessions shows of it, what TerminateSession does.

A listing shows the state of `lag` seconds ago, in pages of any width, some of them empty with a next token. TerminateSession
says yes to any id; now and then (`deaf`) it says yes and nothing comes of it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from tests.simulation.core.scheduler import Scheduler
from tests.simulation.core.story import Story
from tests.simulation.sessions.evaluation import Evaluation
from tests.simulation.sessions.people import Human, Principal
from tests.simulation.sessions.scenario import Scenario

EPOCH = datetime(2026, 9, 1, 8, 0, tzinfo=UTC)
"""True time zero."""

COUNTED = frozenset({"Connecting", "Connected", "Disconnected"})
_LISTED = COUNTED | {"Terminating"}


@dataclass
class TrueSession:
    """A session as it truly is. `cluster` None: not ours. `killed_at`: when an end that Proctor asked for took effect."""

    session_id: str
    human: Human
    principal: Principal
    cluster: str | None
    group: str | None
    target: str
    document: str
    number: int
    started_at: datetime
    history: list[tuple[float, str]]
    killed_at: float | None = None
    is_orphan: bool = False

    @property
    def status(self) -> str:
        """The present status."""
        return self.history[-1][1]

    @property
    def is_counted(self) -> bool:
        """Whether it uses up the cap right now."""
        return self.status in COUNTED

    @property
    def holder(self) -> str:
        """Under whose name it must be counted."""
        return self.human.holder_of(self.principal)

    @property
    def is_break_glass(self) -> bool:
        """Never to be ended."""
        is_theirs = self.human.is_break_glass and self.principal.is_believed
        return is_theirs or self.principal.is_break_glass

    def status_at(self, at: float) -> str | None:
        """The status at a time; None before the start."""
        found = None
        for since, status in self.history:
            if since > at:
                break
            found = status
        return found

    def is_listed_at(self, at: float) -> bool:
        """Whether a listing of that time shows it."""
        return self.status_at(at) in _LISTED

    def was_counted_within(self, start: float, end: float) -> bool:
        """Whether it counted at some moment of a span."""
        if self.status_at(start) in COUNTED:
            return True
        return any(start <= since <= end and status in COUNTED for since, status in self.history)


@dataclass
class SessionService:
    """All sessions of the account."""

    scenario: Scenario
    scheduler: Scheduler
    chance: Random
    starts: Random
    story: Story
    sessions: dict[str, TrueSession] = field(default_factory=dict)
    on_end_asked: Callable[[Evaluation, TrueSession | None], None] = lambda asker, session: None
    on_killed: Callable[[TrueSession], None] = lambda session: None
    is_quiet: bool = False
    _by_number: list[TrueSession] = field(default_factory=list)
    _tokens: int = 0

    def open(
        self, human: Human, principal: Principal, place: tuple[str | None, str | None, str], document: str
    ) -> TrueSession:
        """A client starts a session. `place`: cluster, instance group, target."""
        suffix = f"{self.starts.getrandbits(68):017x}"
        started_at = (EPOCH + timedelta(seconds=self.scheduler.now)).replace(microsecond=0)
        session = TrueSession(
            session_id=f"{principal.name}-{suffix}",
            human=human,
            principal=principal,
            cluster=place[0],
            group=place[1],
            target=place[2],
            document=document,
            number=len(self._by_number),
            started_at=started_at,
            history=[(self.scheduler.now, self.starts.choice(["Connecting", "Connected"]))],
        )
        self.sessions[session.session_id] = session
        self._by_number.append(session)
        where = f"{place[0] or 'elsewhere'}/{place[1] or '-'}"
        self.story.tell(human.nick, f"starts {session.session_id} on {where} ({document})")
        return session

    def move(self, session: TrueSession, status: str) -> None:
        """The service moves a session on."""
        session.history.append((self.scheduler.now, status))

    def leave(self, session: TrueSession, how: str) -> None:
        """A session ends by itself; no event tells of it."""
        if session.is_counted:
            slow = self.scenario.terminating_seconds * self.chance.choice([0.0, 1.0])
            self._end(session, slow)
            self.story.tell(session.human.nick, f"{how} {session.session_id}")

    def terminate(self, session_id: str, asker: Evaluation) -> dict[str, Any]:
        """TerminateSession takes effect."""
        session = self.sessions.get(session_id)
        self.on_end_asked(asker, session)
        is_deaf = not self.is_quiet and self.chance.random() < self.scenario.deaf
        if session is None or not session.is_counted:
            return {"SessionId": session_id}
        if is_deaf:
            self.story.tell("SessionManager", f"says yes to the end of {session_id} and does nothing")
            return {"SessionId": session_id}
        session.killed_at = self.scheduler.now
        self._end(session, self.scenario.terminating_seconds)
        self.story.tell(asker.name, f"ends {session_id} of {session.human.nick}")
        self.on_killed(session)
        return {"SessionId": session_id}

    def _end(self, session: TrueSession, slow: float) -> None:
        """Terminating for a while, then Terminated."""
        self.move(session, "Terminating")
        self.scheduler.after(slow + 0.001, lambda: self.move(session, "Terminated"))

    def page(self, width: int, token: str) -> dict[str, Any]:
        """One page of the active sessions, newest first; a token may come with an empty page."""
        seen_at = self.scheduler.now - self.scenario.listing_lag_seconds
        below = int(token.partition(".")[0]) if token else len(self._by_number)
        width = min(width, self.scenario.page_width)
        is_empty = self.chance.random() < self.scenario.empty_page
        rows: list[dict[str, Any]] = []
        number = below
        while number > 0 and not is_empty and len(rows) < width:
            number -= 1
            session = self._by_number[number]
            status = session.status_at(seen_at)
            if status in _LISTED:
                rows.append(_row(session, status or ""))
        page: dict[str, Any] = {"Sessions": rows}
        if number > 0:
            self._tokens += 1
            page["NextToken"] = f"{number}.{self._tokens}"
        return page

    def of(self, holder: str) -> Iterable[TrueSession]:
        """Every session ever held under a name, on governed clusters."""
        return [s for s in self._by_number if s.cluster is not None and s.holder == holder]

    def ours(self) -> Iterable[TrueSession]:
        """Every session ever on a governed cluster."""
        return [s for s in self._by_number if s.cluster is not None]


def _row(session: TrueSession, status: str) -> dict[str, Any]:
    return {
        "SessionId": session.session_id,
        "Owner": session.principal.arn,
        "Target": session.target,
        "Status": status,
        "StartDate": session.started_at,
        "DocumentName": session.document,
    }
