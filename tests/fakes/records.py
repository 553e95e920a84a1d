"""What Proctor writes down: claims with their audit, verdicts with their history."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from proctor.domain.claims import Claim, ClaimKey, ClaimState
from proctor.domain.decision import Outcome, RunContext, Verdict
from proctor.domain.errors import LostRaceError


@dataclass(frozen=True, slots=True)
class Audit:
    """One record of the claims table as last written."""

    claim: Claim
    verdict: Verdict
    context: RunContext
    detail: str = ""


@dataclass
class FakeClaimStore:
    """Conditional writes on claims. `written` keeps every state in the order it was written."""

    audits: dict[str, Audit] = field(default_factory=dict)
    written: list[Audit] = field(default_factory=list)

    def get(self, key: ClaimKey) -> Claim | None:
        audit = self.audits.get(str(key))
        return audit.claim if audit is not None else None

    def put(self, claim: Claim, verdict: Verdict, context: RunContext, *, replaces: Claim | None) -> None:
        stored = self.get(claim.key)
        if _identity(stored) != _identity(replaces):
            message = f"the stored claim on {claim.key} is another one"
            raise LostRaceError(message)
        self._write(Audit(claim, verdict, context))

    def settle(self, claim: Claim, state: ClaimState, detail: str, now: datetime) -> None:
        stored = self.audits.get(str(claim.key))
        if (
            stored is None
            or stored.claim.token != claim.token
            or stored.claim.state is not ClaimState.CLAIMED
        ):
            message = f"the claim on {claim.key} is held by another evaluator"
            raise LostRaceError(message)
        settled = replace(stored.claim, state=state, changed_at=now)
        self._write(replace(stored, claim=settled, detail=detail))

    def _write(self, audit: Audit) -> None:
        self.audits[str(audit.claim.key)] = audit
        self.written.append(audit)


def _identity(claim: Claim | None) -> tuple[str, ClaimState, int] | None:
    return None if claim is None else (claim.token, claim.state, claim.attempts)


@dataclass
class FakeVerdictStore:
    """The latest outcome of each subject; an older one moves into history when something but inputs and times changed."""

    latest: dict[str, Outcome] = field(default_factory=dict)
    history: dict[str, list[Outcome]] = field(default_factory=dict)
    writes: int = 0

    def record(self, outcome: Outcome, context: RunContext) -> None:
        subject = outcome.verdict.subject
        old = self.latest.get(subject)
        if old is not None:
            if _news(old) == _news(outcome):
                return
            self.history.setdefault(subject, []).append(old)
        self.latest[subject] = outcome
        self.writes += 1


def _news(outcome: Outcome) -> tuple[Any, ...]:
    verdict = outcome.verdict
    verb = verdict.action.verb if verdict.action else None
    news = (verdict.policy_version, verdict.news)
    return (verdict.rule, verdict.reason, verb, outcome.status, outcome.detail, *news)


@dataclass
class FakeEventPublisher:
    """Proctor's own events."""

    published: list[Outcome] = field(default_factory=list)

    def publish(self, outcomes: Sequence[Outcome], context: RunContext) -> None:
        self.published.extend(outcomes)


@dataclass(frozen=True, slots=True)
class Parked:
    """One input on the failure queue, before redaction."""

    raw: object
    error: str
    context: RunContext


@dataclass
class FakeParkingLot:
    """The failure queue."""

    parked: list[Parked] = field(default_factory=list)

    def park(self, raw: object, error: str, context: RunContext) -> None:
        self.parked.append(Parked(raw, error, context))


@dataclass
class FakeTelemetry:
    """Lines and counts."""

    outcomes: list[Outcome] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    warnings: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def outcome(self, outcome: Outcome, context: RunContext) -> None:
        self.outcomes.append(outcome)

    def count(self, metric: str, value: int = 1) -> None:
        self.counts[metric] += value

    def warn(self, message: str, **fields: Any) -> None:
        self.warnings.append((message, fields))
