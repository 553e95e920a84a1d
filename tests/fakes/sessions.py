"""Session Manager and HyperPod in memory, with their habits.

DescribeSessions cuts pages before it filters, so a page may hold no active session and still have a next one.
TerminateSession says yes to any id. A session asked to end is Terminating first, and still listed as active.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from proctor.domain.sessions import COUNTED_STATUSES, GovernedClusters, Node, Session, SessionStatus, Target

_ACTIVE = COUNTED_STATUSES | {SessionStatus.TERMINATING, SessionStatus.UNRECOGNISED}


@dataclass
class FakeSessionManager:
    """Every session of one account and Region, the ended ones of the last 30 days included.

    `deaf`: ids whose end is accepted and never happens. `slow`: id → listings for which an accepted end is not seen yet.
    `between_pages` is called with the number of pages read before each further page.
    """

    page_size: int = 200
    rows: dict[str, Session] = field(default_factory=dict)
    deaf: set[str] = field(default_factory=set)
    slow: dict[str, int] = field(default_factory=dict)
    terminate_calls: list[str] = field(default_factory=list)
    pages_read: int = 0
    between_pages: Callable[[int], None] | None = None
    _pending: dict[str, int] = field(default_factory=dict)

    def open(self, session: Session) -> None:
        """A person starts a session."""
        self.rows[session.session_id] = session

    def set_status(self, session_id: str, status: SessionStatus) -> None:
        """The service moves a session on, e.g. to Disconnected."""
        self.rows[session_id] = replace(self.rows[session_id], status=status)

    def close(self, session_id: str) -> None:
        """A person leaves, or the service finishes a Terminating session: no event tells of it."""
        self.set_status(session_id, SessionStatus.TERMINATED)

    def finish_terminating(self) -> None:
        """The service finishes all Terminating sessions."""
        for session_id, session in list(self.rows.items()):
            if session.status is SessionStatus.TERMINATING:
                self.close(session_id)

    def counted(self) -> list[Session]:
        """Sessions that use up a cap right now."""
        return [s for s in self.rows.values() if s.is_counted]

    def active_sessions(self) -> Sequence[Session]:
        return [session for page in self._pages() for session in page]

    def find_active(self, session_ids: Iterable[str]) -> Mapping[str, Session]:
        wanted, found = set(session_ids), dict[str, Session]()
        if not wanted:
            return found
        for page in self._pages():
            found.update((s.session_id, s) for s in page if s.session_id in wanted)
            if len(found) == len(wanted):
                break
        return found

    def terminate(self, session_id: str) -> None:
        self.terminate_calls.append(session_id)
        row = self.rows.get(session_id)
        if row is None or row.status not in COUNTED_STATUSES or session_id in self.deaf:
            return
        if self.slow.get(session_id, 0) > 0:
            self._pending[session_id] = self.slow[session_id]
        else:
            self.set_status(session_id, SessionStatus.TERMINATING)

    def _pages(self) -> Iterator[list[Session]]:
        """Pages of all rows, ended ones included, of which the active ones remain."""
        self._pass_time()
        ids = sorted(self.rows)
        for start in range(0, max(len(ids), 1), self.page_size):
            if start and self.between_pages is not None:
                self.between_pages(start // self.page_size)
            self.pages_read += 1
            page = [self.rows[sid] for sid in ids[start : start + self.page_size]]
            yield [s for s in page if s.status in _ACTIVE]

    def _pass_time(self) -> None:
        for session_id, listings in list(self._pending.items()):
            if listings > 0:
                self._pending[session_id] = listings - 1
                continue
            del self._pending[session_id]
            if self.rows[session_id].is_counted:
                self.set_status(session_id, SessionStatus.TERMINATING)


@dataclass
class FakeClusterApi:
    """Governed clusters by name, with ids and nodes. Removing a name is a deleted cluster."""

    ids: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, list[Node]] = field(default_factory=dict)
    node_listings: int = 0

    def governed(self, targets: Iterable[Target]) -> GovernedClusters:
        names_by_id = {cluster_id: name for name, cluster_id in self.ids.items()}
        if all(t.cluster_id is not None for t in targets):
            return GovernedClusters(names_by_id, {})
        self.node_listings += 1
        listed = {n.instance_id: n for name in self.ids for n in self.nodes.get(name, [])}
        return GovernedClusters(names_by_id, listed)
