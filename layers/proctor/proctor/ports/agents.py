"""The agents on the nodes: who they are, what they saw, and who is told of a change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from proctor.domain.agent_writes import ReportWrite
    from proctor.domain.agents import AgentRecord, AgentSeen, ListedNode


class AgentRegistry(Protocol):
    """The agents that enrolled, with their keys."""

    def get(self, cluster: str, instance_id: str) -> AgentRecord | None:
        """One agent, read consistently."""

    def all(self) -> Sequence[AgentSeen]:
        """Every agent, all pages, without keys; about one call per 2,000 agents."""

    def enrol(self, record: AgentRecord) -> None:
        """Write a new agent. Raises LostRaceError when there is one already, whatever its key."""

    def swap(self, record: AgentRecord) -> None:
        """Write an agent while its stored revision is still `record.rev`; the new one is one higher. Raises LostRaceError."""

    def approve(self, record: AgentRecord, key: bytes) -> None:
        """Make `key` the agent's own and end the dispute, while its revision is still `record.rev`. Raises LostRaceError."""


class ObservedStore(Protocol):
    """Observed state, written; agent_reports alone does."""

    def apply(self, write: ReportWrite) -> None:
        """Rows and progress, while the agent is as it was read; one call per 99 rows. Raises LostRaceError: apply it again."""


class ChangeAnnouncer(Protocol):
    """Change events `proctor.observed`: at most one per cluster and kind in ten seconds. A bus that fails raises nothing."""

    def announce(self, cluster: str, kinds: Iterable[str] | None, now: datetime) -> None:
        """Tell of changes; one that comes too soon after another is held back. None tells of all that was held back."""


class NodeList(Protocol):
    """The nodes of a cluster."""

    def nodes(self, cluster: str, looked_for: str | None = None) -> Mapping[str, ListedNode]:
        """Instance id → node; one call per 100 nodes. Kept 60 s, but 10 s where `looked_for` is not in it: it may be new."""
