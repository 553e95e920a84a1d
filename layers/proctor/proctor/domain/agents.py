"""Agents as the control plane knows them: who enrolled, with which key, and how far their messages have been applied.

Queues deliver messages at least once and in any order. So each agent has a window of recent message numbers: a message is
applied once, a late one only as far as nothing newer was said, and anything seen before or too old to tell is dropped.
"""

import hashlib
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from proctor.domain.agent_protocol import Chunk, Header, Role

WINDOW = 64
"""Message numbers behind the highest one that are still told apart."""

CHUNKS_AT_MOST = 1024
"""Parts of one snapshot: 1,024 of 140 KB hold a million rows."""


class AgentState(StrEnum):
    """ENROLLED: its reports count. DISPUTED: they still do, and another key claims to be this agent. WAITING: no key's do yet.

    GONE: silent, and its node is no longer listed.
    """

    ENROLLED = "enrolled"
    DISPUTED = "disputed"
    WAITING = "waiting"
    GONE = "gone"


class Arrival(StrEnum):
    """How a message stands to those before it."""

    NEW = "new"
    LATE = "late"
    REPLAYED = "replayed"
    TOO_OLD = "too_old"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotParts:
    """A snapshot of which some parts came. `seen` has bit n for part n; `count` is 0 until the last part says it."""

    snapshot: str
    first_sequence: int
    first_sent_at: datetime
    seen: int
    count: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether every part came."""
        return self.count > 0 and self.seen == (1 << self.count) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What was applied of one start of an agent.

    `window` has bit n for message `sequence - 1 - n`. `removed_at_sequence` is the last message that removed a row.
    `whole_at`: when the last whole snapshot of this start was sent; None until there is one.
    """

    boot_id: str = ""
    sequence: int = 0
    window: int = 0
    removed_at_sequence: int = 0
    parts: SnapshotParts | None = None
    whole_at: datetime | None = None

    def arrival(self, header: Header) -> Arrival:
        """How a message stands to what was applied."""
        if header.boot_id > self.boot_id:
            return Arrival.NEW
        if header.boot_id < self.boot_id:
            return Arrival.TOO_OLD
        behind = self.sequence - header.sequence
        if behind < 0:
            return Arrival.NEW
        if behind == 0 or (behind <= WINDOW and self.window >> (behind - 1) & 1):
            return Arrival.REPLAYED
        return Arrival.LATE if behind <= WINDOW else Arrival.TOO_OLD

    def after(self, header: Header, *, has_removed: bool) -> "Progress":
        """With this message applied."""
        if header.boot_id > self.boot_id:
            own = header.sequence if has_removed else 0
            return Progress(boot_id=header.boot_id, sequence=header.sequence, removed_at_sequence=own)
        removed = max(self.removed_at_sequence, header.sequence if has_removed else 0)
        ahead = header.sequence - self.sequence
        if ahead > 0:
            window = ((self.window << 1 | 1) << (ahead - 1)) & ((1 << WINDOW) - 1) if ahead <= WINDOW else 0
            return replace(self, sequence=header.sequence, window=window, removed_at_sequence=removed)
        return replace(self, window=self.window | 1 << (-ahead - 1), removed_at_sequence=removed)

    def with_part(self, header: Header, chunk: Chunk, sent_at: datetime, *, is_late: bool) -> "Progress":
        """With a part of a snapshot noted; a late part of another snapshot than the present one is not."""
        if chunk.index >= CHUNKS_AT_MOST or chunk.count > CHUNKS_AT_MOST or min(chunk.index, chunk.count) < 0:
            return self
        known = self.parts
        if known is None or known.snapshot != chunk.snapshot:
            if is_late and known is not None:
                return self
            known = SnapshotParts(
                snapshot=chunk.snapshot, first_sequence=header.sequence, first_sent_at=sent_at, seen=0
            )
        parts = replace(
            known,
            first_sequence=min(known.first_sequence, header.sequence),
            first_sent_at=min(known.first_sent_at, sent_at),
            seen=known.seen | 1 << chunk.index,
            count=chunk.count or known.count,
        )
        return replace(self, parts=parts, whole_at=parts.first_sent_at if parts.is_whole else self.whole_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRecord:
    """One agent. `key` is None while WAITING; `contender` is the other key that was offered. Keys are never shown."""

    cluster: str
    instance_id: str
    role: Role
    node: str
    key: bytes | None = field(default=None, repr=False)
    state: AgentState
    enrolled_at: datetime
    last_seen_at: datetime
    contender: bytes | None = field(default=None, repr=False)
    contender_role: Role | None = None
    silent_since: datetime | None = None
    progress: Progress = field(default_factory=Progress)
    rev: int = 0

    @property
    def subject(self) -> str:
        """Its verdict's subject."""
        return agent_subject(self.cluster, self.instance_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSeen:
    """What the sweep looks at; no key."""

    cluster: str
    instance_id: str
    role: Role
    node: str
    state: AgentState
    last_seen_at: datetime
    silent_since: datetime | None
    rev: int

    @property
    def subject(self) -> str:
        """Its verdict's subject."""
        return agent_subject(self.cluster, self.instance_id)

    def is_silent(self, now: datetime, after: timedelta) -> bool:
        """Whether nothing was heard of it for longer than `after`; one that is gone is not missed."""
        return self.state is not AgentState.GONE and now - self.last_seen_at > after


@dataclass(frozen=True, slots=True)
class ListedNode:
    """A node as ListClusterNodes shows it. `node` is its Slurm name, None when no host name is shown.

    `updated_at`: its last software update, which replaces the root volume and with it the agent's key.
    """

    instance_id: str
    instance_group: str
    launched_at: datetime
    node: str | None = None
    updated_at: datetime | None = None


def agent_subject(cluster: str, instance_id: str) -> str:
    """An agent as a verdict's subject."""
    return f"agent#{cluster}#{instance_id}"


def fingerprint(key: bytes) -> str:
    """What may be shown of a key: 16 hex digits of its SHA-256. A random key of 32 bytes can't be found from it."""
    return hashlib.sha256(b"proctor key " + key).hexdigest()[:16]
