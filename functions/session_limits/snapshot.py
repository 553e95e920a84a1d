"""What session_limits knows when it decides: plain values, `now` and policy inside."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from proctor.domain.decision import Mode
from proctor.domain.exemptions import Exemption
from proctor.domain.identity import Person
from proctor.domain.ledger import PersonLedger
from proctor.domain.policy import PolicyDraft, PolicyInForce
from proctor.domain.sessions import Node, Session
from session_limits.policy import SessionLimitsPolicy


class Path(StrEnum):
    """What led to this evaluation."""

    EVENT = "event"
    SWEEP = "sweep"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class Located:
    """A session of ours and the governed node it goes to."""

    session: Session
    node: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One holder of sessions. `person` is None for an owner that no directory row names.

    `is_complete`: `sessions` are all active sessions of the holder; otherwise only the one that the event told of, because the
    ledger shows that the person is within every cap.
    """

    holder: str
    person: Person | None
    sessions: tuple[Located, ...]
    ledger: PersonLedger
    is_complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything one evaluation looks at. A cluster without a policy in force is in `ungoverned` and left alone.

    `first_sweeps`: cluster → when its first sweep with a policy in force was.
    """

    now: datetime
    token: str
    path: Path
    bound: Mode
    policies: Mapping[str, PolicyInForce[SessionLimitsPolicy]]
    exemptions: tuple[Exemption, ...] = ()
    situations: tuple[Situation, ...] = ()
    drafts: tuple[PolicyDraft, ...] = ()
    ungoverned: tuple[str, ...] = ()
    not_ours: tuple[tuple[str, str], ...] = ()
    requested_ends: frozenset[str] = field(default_factory=frozenset)
    unknown_requests: tuple[str, ...] = ()
    first_sweeps: Mapping[str, datetime] = field(default_factory=dict)
    requested_by: str = ""
