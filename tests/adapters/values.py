"""Values for the stores: one verdict, one claim, one run."""

from datetime import timedelta
from typing import Any

from proctor.domain.actions import Action, TerminateSession
from proctor.domain.claims import Claim, ClaimKey, ClaimState
from proctor.domain.decision import Mode, Outcome, OutcomeStatus, RunContext, Verdict
from tests.fakes.values import NOW

SUBJECT = "session#ada@uni.example-0a"
END = TerminateSession(subject=SUBJECT, session_id="ada@uni.example-0a", holder="ada")


def run(minutes: float = 0, holder: str = "token-1", **fields: Any) -> RunContext:
    """A run of session_limits, some minutes after the start of time."""
    return RunContext(
        function="session_limits",
        now=NOW + timedelta(minutes=minutes),
        token=holder,
        trigger="Sweep",
        **fields,
    )


def verdict(reason: str = "over_cap", action: Action | None = END, **fields: Any) -> Verdict:
    """A verdict about ada's session."""
    given = {
        "subject": SUBJECT,
        "cluster": "alpha",
        "rule": "cap",
        "text": f"because of {reason}",
        "mode": Mode.APPLY,
        "policy_version": 3,
        "inputs": {"holder": "ada"},
    }
    return Verdict(reason=reason, action=action, **{**given, **fields})


def outcome(
    reason: str = "over_cap", status: OutcomeStatus = OutcomeStatus.APPLIED, **fields: Any
) -> Outcome:
    """What became of it."""
    return Outcome(verdict(reason, **fields), status)


KEY = ClaimKey("session_limits", SUBJECT, "cap", "ada@uni.example-0a", "end")


def claim(
    holder: str = "token-1", minutes: float = 0, attempts: int = 1, state: ClaimState = ClaimState.CLAIMED
) -> Claim:
    """A claim on the end of ada's session."""
    now = NOW + timedelta(minutes=minutes)
    return Claim(KEY, state, holder, now + timedelta(minutes=2), now, attempts)
