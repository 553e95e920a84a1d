"""What agent_reports knows when it decides: plain values, `now` and policy inside. Keys are in it and are never shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from agent_reports.policy import AgentReportsPolicy
from proctor.domain.agent_protocol import Enrolment, Envelope
from proctor.domain.agent_writes import Cause
from proctor.domain.agents import AgentRecord, AgentSeen, ListedNode
from proctor.domain.policy import PolicyDraft, PolicyInForce

_DEFAULTS = AgentReportsPolicy()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSeen:
    """A report, and the agent it names. `received_at`: when the queue took it."""

    envelope: Envelope
    received_at: datetime
    record: AgentRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class EnrolmentSeen:
    """An enrolment, the agent it names if there is one, and the node as it is listed (None: not asked).

    `namesake`: another enrolled agent of the same node name whose node is listed too, where the list doesn't name hosts.
    """

    enrolment: Enrolment
    received_at: datetime
    record: AgentRecord | None
    listed: ListedNode | None
    namesake: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """The agents of one cluster, and its nodes where that had to be known."""

    cluster: str
    agents: tuple[AgentSeen, ...]
    listed: Mapping[str, ListedNode] | None = None


@dataclass(frozen=True, slots=True)
class Approval:
    """An operator's word about one agent's key."""

    cluster: str
    instance_id: str
    fingerprint: str
    record: AgentRecord | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything one evaluation looks at. `dropped`: why a message is not even looked at."""

    now: datetime
    policies: Mapping[str, PolicyInForce[AgentReportsPolicy]] = field(default_factory=dict)
    dropped: Cause | None = None
    message: ReportSeen | EnrolmentSeen | None = None
    watches: tuple[Watch, ...] = ()
    is_sweep: bool = False
    drafts: tuple[PolicyDraft, ...] = ()
    approvals: tuple[Approval, ...] = ()
    unknown_requests: tuple[str, ...] = ()
    is_rehearsal: bool = False

    def policy(self, cluster: str) -> AgentReportsPolicy:
        """The cluster's policy in force, or the defaults."""
        found = self.policies.get(cluster)
        return _DEFAULTS if found is None else found.policy

    def version(self, cluster: str) -> int | None:
        """Its version."""
        found = self.policies.get(cluster)
        return None if found is None else found.version
