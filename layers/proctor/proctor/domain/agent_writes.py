"""What agent_reports writes to Proctor's own tables, as data: the memory of a case, swapped by the agent's revision."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from proctor.domain.actions import Action, NotifyOperators
from proctor.domain.agents import AgentRecord, AgentSeen, AgentState
from proctor.domain.observed_rows import ReportRows


class Cause(StrEnum):
    """Why a message was dropped. Nothing of what it said is kept."""

    MALFORMED = "malformed"
    OVERSIZED = "oversized"
    CROSS_ROLE = "cross_role"
    CROSS_NODE = "cross_node"
    OTHER_CLUSTER = "other_cluster"
    UNKNOWN_AGENT = "unknown_agent"
    FORGED = "forged"
    REPLAYED = "replayed"
    TOO_OLD = "too_old"
    WAITING = "waiting"
    SECOND_ENROLMENT = "second_enrolment"
    FOREIGN_ROW = "foreign_row"
    ODD_ROW = "odd_row"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """Rows of a cluster's sections that a whole snapshot did not name.

    Gone are the sender's own rows said before `before_said`, and other senders' rows observed before `before_at`.
    """

    cluster: str
    sections: tuple[str, ...]
    sender: str
    before_said: str
    before_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportWrite:
    """One report. `record` is the agent after it, still with the revision that was read.

    `is_late`: a later message was applied already, so a row is written over older ones only, and made only when no later
    message (up to `removed_at`, as said) may have taken it away.
    """

    record: AgentRecord
    rows: ReportRows
    said: str
    is_late: bool = False
    removed_at: str = ""
    forget: Forget | None = None


@dataclass(frozen=True, slots=True)
class EnrolWrite:
    """A new agent; must not be there yet."""

    record: AgentRecord


@dataclass(frozen=True, slots=True)
class RecordWrite:
    """An agent changed, over the revision that was read."""

    record: AgentRecord


@dataclass(frozen=True, slots=True)
class SilenceWrite:
    """An agent found silent, or gone with its node, unless it was heard of since."""

    seen: AgentSeen
    state: AgentState
    since: datetime


@dataclass(frozen=True, slots=True)
class DropWrite:
    """Messages or rows dropped: counted, not kept."""

    causes: dict[Cause, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChangesWrite:
    """Changes of a cluster that were held back for ten seconds are announced now."""

    cluster: str


@dataclass(frozen=True, slots=True)
class SilenceCount:
    """How many agents a sweep found silent, by role; for the alarms."""

    controllers: int
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmOperators(NotifyOperators):
    """NotifyOperators within a budget, since whoever reaches a report queue could cause any number of them."""

    budget: ClassVar[str | None] = "notices"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveAgentKey(Action):
    """An operator says which key is the agent's. Keys are named by fingerprint."""

    cluster: str
    instance_id: str
    fingerprint: str
