"""One report: a heartbeat, changes since the last one, results of intents. At most 200 KB as JSON.

Every section is a list of rows that replace the row of the same key, and `removed` names keys that are
gone. A full resynchronisation is a sequence of chunks of one `snapshot`; only when all of them came may
the receiver drop what none of them names. Applied when (boot_id, sequence) is newer than the last applied
one of that sender.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from proctor.domain.agent_protocol import names
from proctor.domain.agent_protocol.observed import (
    ObservedAssociation,
    ObservedJob,
    ObservedLimits,
    ObservedNode,
    ObservedPartition,
    ObservedQos,
    ObservedReservation,
    ObservedUsage,
)


class Outcome(str, Enum):  # noqa: UP042 - StrEnum is 3.11
    """What became of one intent on the node.

    applied: held, and read back. released: let go, previous value restored, read back. unconfirmed: the
    command succeeded or timed out, the read-back does not show it yet. failed: Slurm said no. refused:
    the intent is odd or names what Slurm does not know. cannot_bind: a limit would have no effect here.
    left_alone: somebody else's state is in force and is not ours to change. undone_by_person: an
    administrator resumed the node. dry_run: would have acted.
    """

    APPLIED = "applied"
    RELEASED = "released"
    UNCONFIRMED = "unconfirmed"
    FAILED = "failed"
    REFUSED = "refused"
    CANNOT_BIND = "cannot_bind"
    LEFT_ALONE = "left_alone"
    UNDONE_BY_PERSON = "undone_by_person"
    DRY_RUN = "dry_run"


class UndoneBy(str, Enum):  # noqa: UP042 - StrEnum is 3.11
    """How a hold was lost, as far as slurmctld's log tells; it does not say who."""

    RESTART = "slurmctld_restart"
    RECONFIGURE = "reconfigure"
    UPDATE = "update"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class IntentResult:
    """The latest outcome of one intent: sent when it changes, and again with every snapshot."""

    sk: names.IntentSk
    rev: int
    outcome: Outcome
    detail: str
    field: str
    previous: Mapping[str, str] | None
    at: datetime


@dataclass(frozen=True)
class Undone:
    """A hold that was found undone and put back."""

    sk: names.IntentSk
    seen: str
    by: UndoneBy
    seen_at: datetime
    reheld_at: datetime | None


@dataclass(frozen=True)
class Removed:
    """A row that is gone: its section and its key (fields joined by `|`)."""

    section: str
    key: str


@dataclass(frozen=True)
class Chunk:
    """Which part of which snapshot this report is: index from 0, count 0 in all but the last part."""

    snapshot: str
    index: int
    count: int


@dataclass(frozen=True)
class Heartbeat:
    """That the agent lives, what it is, and whether it can do its work."""

    agent_version: str
    python_version: str
    slurm_version: str
    verbs: tuple[str, ...]
    is_acting: bool
    is_dry_run: bool
    started_at: datetime
    intents_read_at: datetime | None
    slurm_read_at: datetime | None
    spooled_reports: int
    dropped_reports: int
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """Everything one message can carry; empty sections are left out on the wire."""

    sent_at: datetime
    heartbeat: Heartbeat | None = None
    chunk: Chunk | None = None
    limits: ObservedLimits | None = None
    results: tuple[IntentResult, ...] = ()
    undone: tuple[Undone, ...] = ()
    partitions: tuple[ObservedPartition, ...] = ()
    nodes: tuple[ObservedNode, ...] = ()
    jobs: tuple[ObservedJob, ...] = ()
    associations: tuple[ObservedAssociation, ...] = ()
    qos: tuple[ObservedQos, ...] = ()
    reservations: tuple[ObservedReservation, ...] = ()
    usage: tuple[ObservedUsage, ...] = ()
    removed: tuple[Removed, ...] = ()
