"""Sees every decision, claim and act at the instant it happens, and asks the checks about it.

A check raises ViolationError; the witness ends the run with it, outside Proctor's own code, which might catch it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import session_limits.decide as product
from proctor.domain.actions import TerminateSession
from proctor.domain.claims import Claim, ClaimKey, ClaimState
from proctor.domain.decision import Decision, RunContext, Verdict
from proctor.ports import ClaimStore
from session_limits.snapshot import Snapshot
from tests.simulation.core.scheduler import Scheduler
from tests.simulation.core.story import Story
from tests.simulation.core.violation import ViolationError
from tests.simulation.sessions.evaluation import Evaluation
from tests.simulation.sessions.service import TrueSession


@dataclass(eq=False)
class Act:
    """One call that was meant to change something outside, with what became of its claim."""

    evaluation: Evaluation
    verdict: Verdict
    at: float
    settled: ClaimState | None = None


class Check(Protocol):
    """What the checks are asked; each raises ViolationError."""

    def decided(self, evaluation: Evaluation, snapshot: Snapshot, decision: Decision) -> None: ...

    def claimed(self, evaluation: Evaluation, claim: Claim, verdict: Verdict) -> None: ...

    def settled(self, evaluation: Evaluation, claim: Claim, state: ClaimState) -> None: ...

    def acted(self, act: Act, session: TrueSession | None) -> None: ...


@dataclass
class Witness:
    """The checks, and what was seen."""

    scheduler: Scheduler
    story: Story
    checks: list[Check] = field(default_factory=list)
    acts: dict[str, list[Act]] = field(default_factory=dict)
    decisions: list[tuple[Snapshot, Decision]] = field(default_factory=list)
    count: int = 0

    def decides(self, evaluation: Evaluation, snapshot: Snapshot) -> Decision:
        """Proctor decides; kept for the replay."""
        decision = product.decide(snapshot)
        evaluation.snapshot = snapshot
        evaluation.decided_at = self.scheduler.now
        evaluation.reread_at = None
        evaluation.verdicts = {(type(v.action).__name__, v.subject): v for v in decision.verdicts if v.action}
        self.decisions.append((snapshot, decision))
        self._tell(evaluation, snapshot, decision)
        self._ask(lambda check: check.decided(evaluation, snapshot, decision))
        return decision

    def acted(self, evaluation: Evaluation, session: TrueSession | None = None) -> None:
        """A call that changes something takes effect now."""
        action = evaluation.acting
        verdict = None if action is None else evaluation.verdicts.get((type(action).__name__, action.subject))
        if verdict is None:
            self.scheduler.fail(ViolationError("3", f"{evaluation.name} acts without a verdict"))
            return
        act = Act(evaluation, verdict, self.scheduler.now)
        self._ask(lambda check: check.acted(act, session))
        self.acts.setdefault(key_of(verdict), []).append(act)
        if not isinstance(action, TerminateSession):
            self.story.tell(evaluation.name, f"does {type(action).__name__} {verdict.subject}")

    def over(self, evaluation: Evaluation) -> None:
        """Nothing more comes from this evaluation."""
        evaluation.is_over = True

    def claims(self, store: ClaimStore, busy_with: Callable[[], Evaluation]) -> ClaimStore:
        """The claim store, watched."""
        return _WatchedClaims(store, self, busy_with)

    def claimed(self, evaluation: Evaluation, claim: Claim, verdict: Verdict) -> None:
        """A claim is about to be written."""
        self._ask(lambda check: check.claimed(evaluation, claim, verdict))

    def settled(self, evaluation: Evaluation, claim: Claim, state: ClaimState) -> None:
        """A claim has been settled."""
        for act in self.acts.get(str(claim.key), ()):
            if act.evaluation.token == claim.token:
                act.settled = state
        self.story.tell(evaluation.name, f"settles {claim.key.subject} {claim.key.step}: {state.value}")
        self._ask(lambda check: check.settled(evaluation, claim, state))

    def _ask(self, question: Callable[[Check], None]) -> None:
        for check in self.checks:
            try:
                question(check)
            except ViolationError as violation:
                self.scheduler.fail(violation)
                return

    def _tell(self, evaluation: Evaluation, snapshot: Snapshot, decision: Decision) -> None:
        acts = [v for v in decision.verdicts if v.action and not v.is_closing]
        ends = [v.subject for v in acts if isinstance(v.action, TerminateSession)]
        what = f"end {', '.join(ends)}" if ends else "end nothing"
        others = len(acts) - len(ends)
        self.story.tell(evaluation.name, f"decides ({snapshot.path.value}) to {what}; {others} other actions")


def key_of(verdict: Verdict) -> str:
    """What may happen once only: the claim's key, as the rules define it."""
    return str(ClaimKey("session_limits", verdict.subject, verdict.rule, verdict.episode, verdict.step))


class _WatchedClaims:
    def __init__(self, store: ClaimStore, witness: Witness, busy_with: Callable[[], Evaluation]) -> None:
        self._store = store
        self._witness = witness
        self._busy_with = busy_with

    def get(self, key: ClaimKey) -> Claim | None:
        return self._store.get(key)

    def put(self, claim: Claim, verdict: Verdict, context: RunContext, *, replaces: Claim | None) -> None:
        self._witness.claimed(self._busy_with(), claim, verdict)
        self._store.put(claim, verdict, context, replaces=replaces)

    def settle(self, claim: Claim, state: ClaimState, detail: str, now: datetime) -> None:
        self._store.settle(claim, state, detail, now)
        self._witness.settled(self._busy_with(), claim, state)
