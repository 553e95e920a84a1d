"""Slurm as the agents last saw it. Older than two minutes, it is unknown to every rule."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from proctor.domain.agent_protocol import (
    IntentResult,
    ObservedAssociation,
    ObservedJob,
    ObservedLimits,
    ObservedPartition,
    ObservedQos,
    ObservedUsage,
    Undone,
)

FRESH_FOR = timedelta(seconds=120)
_SKEW = timedelta(seconds=60)
ROOT = "root"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmView:
    """One cluster's observed state.

    `seen_at` is the last heartbeat of the controller's acting agent that had read Slurm, None when there never was one. `verbs`
    are what that agent can do; empty when unknown. `usage` holds rows of the asked hours only, `undone` the last hour's.
    """

    cluster: str
    seen_at: datetime | None = None
    verbs: frozenset[str] = frozenset()
    is_agent_dry_run: bool = False
    node_count: int = 0
    partitions: Mapping[str, ObservedPartition] = field(default_factory=dict)
    jobs: tuple[ObservedJob, ...] = ()
    associations: tuple[ObservedAssociation, ...] = ()
    qos: tuple[ObservedQos, ...] = ()
    limits: ObservedLimits | None = None
    usage: tuple[ObservedUsage, ...] = ()
    results: Mapping[str, IntentResult] = field(default_factory=dict)
    undone: tuple[Undone, ...] = ()

    def is_fresh(self, now: datetime) -> bool:
        """Whether rules may look at it; a heartbeat from the future is a broken clock, not news."""
        return self.seen_at is not None and -_SKEW <= now - self.seen_at <= FRESH_FOR


class AccountTree:
    """Accounts and who may use them, from associations. Built once per evaluation; lookups cost what they return."""

    def __init__(self, associations: Iterable[ObservedAssociation]) -> None:
        """Index the rows: an account's own row has no login name."""
        self._children: dict[str, list[str]] = {}
        self._people: dict[str, set[str]] = {}
        self._qos: dict[str, set[str]] = {}
        self._rows: dict[str, ObservedAssociation] = {}
        for row in associations:
            self._qos.setdefault(row.account, set()).update(row.qos)
            if row.login_name:
                self._people.setdefault(row.account, set()).add(row.login_name)
            else:
                self._rows[row.account] = row
                self._children.setdefault(row.parent, []).append(row.account)

    @property
    def names(self) -> Collection[str]:
        """Every account."""
        return self._rows.keys() - {ROOT}

    def row(self, account: str) -> ObservedAssociation | None:
        """The account's own row."""
        return self._rows.get(account)

    def children(self, account: str) -> list[str]:
        """Accounts right below, sorted."""
        return sorted(name for name in self._children.get(account, ()) if name != account)

    def below(self, account: str) -> set[str]:
        """The account and every account under it."""
        found, open_now = {account}, [account]
        while open_now:
            for child in self._children.get(open_now.pop(), ()):
                if child not in found:
                    found.add(child)
                    open_now.append(child)
        return found

    def above(self, account: str) -> set[str]:
        """The account and every account over it."""
        found: set[str] = set()
        name = account
        while name and name not in found:
            found.add(name)
            row = self._rows.get(name)
            name = row.parent if row is not None else ""
        return found

    def people(self, accounts: Iterable[str]) -> set[str]:
        """Login names with an association in these accounts."""
        return {login_name for account in accounts for login_name in self._people.get(account, ())}

    def accounts_of(self, login_name: str) -> set[str]:
        """Accounts in which a person has an association."""
        return {account for account, people in self._people.items() if login_name in people}

    def accounts_with_qos(self, qos: str) -> set[str]:
        """Accounts whose jobs may run under a QOS."""
        return {account for account, names in self._qos.items() if qos in names}
