"""What functions may ask of the world. Adapters and fakes both implement these; no port knows AWS error codes.

Every port raises ThrottledError, TransientError, DeniedError or TerminalError; an empty answer means "there are none".
Here is what the executor and the sessions' side need. Other ports are beside, by noun: a function imports those it reads,
so that none of them makes another function's cold start longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # a port is a shape: importing it must not import everything that some function needs
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from proctor.domain.actions import Action
    from proctor.domain.claims import Claim, ClaimKey, ClaimState
    from proctor.domain.decision import Outcome, RunContext, Verdict
    from proctor.domain.exemptions import Exemption
    from proctor.domain.identity import Person, SessionOwner
    from proctor.domain.ledger import LedgerEntry, PersonLedger
    from proctor.domain.policy import PolicyDraft, PolicyInForce
    from proctor.domain.sessions import GovernedClusters, Session, Target


class SessionManager(Protocol):
    """Session Manager of one account and Region."""

    def active_sessions(self) -> Sequence[Session]:
        """Every active session, all pages. Costs one call per 200 sessions of the account."""

    def find_active(self, session_ids: Iterable[str]) -> Mapping[str, Session]:
        """Those of `session_ids` that are still active; stops paging once all are found."""

    def terminate(self, session_id: str) -> None:
        """Ask for the end of a session. Success is no evidence: the API says yes to any id."""


class ClusterApi(Protocol):
    """SageMaker HyperPod."""

    def governed(self, targets: Iterable[Target]) -> GovernedClusters:
        """What is needed to tell whose targets these are; nodes are listed only when a bare instance id is among them."""


class PeopleDirectory(Protocol):
    """The people directory table."""

    def by_owner(self, owners: Iterable[SessionOwner]) -> Mapping[str, Person]:
        """Rows under the lookup keys of the owners. Costs one call per 50 distinct owners."""

    def by_login_name(self, login_name: str) -> Person | None:
        """One person."""


class PolicyStore[P](Protocol):
    """Validated policies of one function, for each governed cluster."""

    def in_force(self) -> Mapping[str, PolicyInForce[P]]:
        """Cluster → policy in force. A cluster without one is absent. Cached at most 60 s."""

    def draft(self, cluster: str) -> PolicyDraft | None:
        """The newest version of the cluster's policy, validated; None when the parameter doesn't exist. Never cached."""

    def put_in_force(self, parameter_name: str, version: int) -> None:
        """Move the label `in-force` to a version."""


class PauseSwitch(Protocol):
    """The pause parameter of each governed cluster."""

    def paused_clusters(self) -> Mapping[str, str]:
        """Cluster → why it is paused. Never cached: asked only when something is about to be done."""


class ExemptionStore(Protocol):
    """The exemptions table."""

    def for_function(self, function: str) -> Sequence[Exemption]:
        """All rows, expired ones included: expiry is the rule's business. Cached at most 60 s."""


class MemorySwap(Protocol):
    """What a rule must remember, swapped by revision."""

    def swap(self, subject: str, data: object, expected_rev: int) -> None:
        """Write one subject's memory while its revision is still `expected_rev`. Raises LostRaceError."""


class SessionLedger(MemorySwap, Protocol):
    """The ledger of sessions, one item per holder; its memory data is a PersonLedger."""

    def note_started(self, holder: str, session_id: str, entry: LedgerEntry) -> PersonLedger:
        """Add a session atomically and return the whole ledger after it. Idempotent; one call."""

    def get(self, holder: str) -> PersonLedger:
        """One ledger, read consistently; an empty one of revision 0 when none is stored."""

    def all(self) -> Mapping[str, PersonLedger]:
        """Every ledger, all pages; about one call per 2,000 holders."""

    def release_intent(self, holder: str, session_id: str, token: str) -> None:
        """Take our intent off a session that was not ended; no-op when it isn't ours any more."""


class Counters(Protocol):
    """Windowed counters and first-seen marks."""

    def spend(self, counter: str, limit: int, now: datetime, window_minutes: int) -> bool:
        """Add one to the counter of the present window unless that would exceed `limit`; says whether it was added."""

    def first(self, mark: str, now: datetime) -> datetime:
        """When `mark` was first asked for; remembers `now` as the latest time."""


class ClaimStore(Protocol):
    """Conditional writes on claims; the record is the audit."""

    def get(self, key: ClaimKey) -> Claim | None:
        """The stored claim, read consistently."""

    def put(self, claim: Claim, verdict: Verdict, context: RunContext, *, replaces: Claim | None) -> None:
        """Write a claim with its audit; `replaces` must still be what is stored. Raises LostRaceError."""

    def settle(self, claim: Claim, state: ClaimState, detail: str, now: datetime) -> None:
        """Record the end of an action; only the holder of the claim's token may. Raises LostRaceError."""


class VerdictStore(Protocol):
    """The latest verdict of each subject, with history on change."""

    def record(self, outcome: Outcome, context: RunContext) -> None:
        """Write when it differs from what is stored: one call for a new subject, nothing for a verdict already known."""


class PersonNotifier(Protocol):
    """E-mail to one person."""

    def send(self, email: str, headline: str, text: str) -> bool:
        """Send; False when the address is suppressed or refused (undeliverable)."""


class OperatorNotifier(Protocol):
    """The operators' topic."""

    def publish(self, headline: str, text: str, next_steps: Sequence[str]) -> None:
        """Publish one message."""


class EventPublisher(Protocol):
    """Proctor's own events, for others to build on."""

    def publish(self, outcomes: Sequence[Outcome], context: RunContext) -> None:
        """Put one `proctor.<function>` event for each outcome that did something; one call per 10."""


class ParkingLot(Protocol):
    """The failure queue."""

    def park(self, raw: object, error: str, context: RunContext) -> None:
        """Keep a redacted copy of an input that can't be used, with the reason."""


class Applier(Protocol):
    """Does one type of action. A function's dict of appliers is its whole reach."""

    def recheck(self, actions: Sequence[Action]) -> Mapping[str, str]:
        """Read the truth again just before acting: subject → why not to act any more."""

    def apply(self, action: Action) -> None:
        """Do it."""

    def verify(self, actions: Sequence[Action]) -> Mapping[str, bool]:
        """Read back: subject → whether the action has taken effect."""

    def settled(self, action: Action, *, has_taken_effect: bool, token: str) -> None:
        """Clean up after the outcome is known; what was accepted and isn't confirmed yet counts as having taken effect."""


class Telemetry(Protocol):
    """Logs and metrics; never raw events, tokens or personal data beyond the login name."""

    def outcome(self, outcome: Outcome, context: RunContext) -> None:
        """One line and one count for an outcome."""

    def count(self, metric: str, value: int = 1) -> None:
        """One count, without person, node or session as a dimension."""

    def warn(self, message: str, **fields: Any) -> None:
        """One warning line."""
