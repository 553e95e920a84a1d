"""Claims: at most one evaluator acts on (function, subject, rule, episode, step), and the record is the audit.

    (none) → claimed(lease_until, token) → applied | unconfirmed | failed | withheld

The key never holds an event id: a sweep and an event, or two envelopes of one record, meet in one claim.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from proctor.domain.leases import is_live

RETRY_AFTER = timedelta(seconds=60)
"""How long an unconfirmed or failed action rests before it may be tried again."""

MAX_ATTEMPTS = 5
"""After that a person has to look: the action is reported as failed on every evaluation."""


class ClaimState(StrEnum):
    """Where an action stands."""

    CLAIMED = "claimed"
    APPLIED = "applied"
    UNCONFIRMED = "unconfirmed"
    FAILED = "failed"
    WITHHELD = "withheld"


@dataclass(frozen=True, slots=True)
class ClaimKey:
    """What is claimed. `episode` tells one occurrence from the next, `step` one stage of it from another."""

    function: str
    subject: str
    rule: str
    episode: str
    step: str

    def __str__(self) -> str:
        """The key as stored."""
        return f"{self.function}#{self.subject}#{self.rule}#{self.episode}#{self.step}"


@dataclass(frozen=True, slots=True)
class Claim:
    """A stored claim; `token` names its present holder, `changed_at` is the last write."""

    key: ClaimKey
    state: ClaimState
    token: str
    lease_until: datetime
    changed_at: datetime
    attempts: int = 1


class Admission(StrEnum):
    """What an evaluator may do about a claim."""

    TAKE = "take"
    TAKE_OVER = "take_over"
    ALREADY_APPLIED = "already_applied"
    CONTENDED = "contended"
    RESTING = "resting"
    EXHAUSTED = "exhausted"


def admit(existing: Claim | None, now: datetime) -> Admission:
    """Decide by the stored claim alone.

    TAKE_OVER means: somebody may have acted already, so read the truth before acting. A withheld claim did nothing,
    so it may be taken at once.
    """
    if existing is None:
        return Admission.TAKE
    if existing.state is ClaimState.APPLIED:
        return Admission.ALREADY_APPLIED
    if existing.state is ClaimState.WITHHELD:
        return Admission.TAKE
    if existing.attempts >= MAX_ATTEMPTS and existing.state is not ClaimState.CLAIMED:
        return Admission.EXHAUSTED
    if existing.state is ClaimState.CLAIMED:
        return Admission.CONTENDED if is_live(existing.lease_until, now) else Admission.TAKE_OVER
    rests = timedelta(0) <= now - existing.changed_at < RETRY_AFTER
    return Admission.RESTING if rests else Admission.TAKE_OVER
