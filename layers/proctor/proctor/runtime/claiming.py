"""claim → re-read → apply → read back → settle, for one chunk of actions of one type."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from proctor.domain.actions import Action
from proctor.domain.claims import Admission, Claim, ClaimKey, ClaimState, admit
from proctor.domain.decision import Outcome, OutcomeStatus, RunContext, Verdict
from proctor.domain.errors import LostRaceError, TerminalError, TransientError
from proctor.domain.leases import LEASE
from proctor.ports import Applier, ClaimStore

_NOT_TAKEN = {
    Admission.ALREADY_APPLIED: (OutcomeStatus.ALREADY_APPLIED, ""),
    Admission.CONTENDED: (OutcomeStatus.CONTENDED, "another evaluator holds the claim"),
    Admission.RESTING: (OutcomeStatus.UNCONFIRMED, "tried less than a minute ago; resting"),
    Admission.EXHAUSTED: (OutcomeStatus.FAILED, "tried five times; a person has to look"),
}

_NOBODY_ACTS = frozenset({Admission.RESTING, Admission.EXHAUSTED})
"""What the decision remembered as under way is not, so it has to be let go of."""

_MAY_HAVE_TAKEN_EFFECT = frozenset({ClaimState.APPLIED, ClaimState.UNCONFIRMED})
"""An end that was accepted and isn't seen yet is likely only late: to let go of it now would end one more session."""

_LEFT_OPEN = "settled after its evaluator died"

_SETTLED = {
    ClaimState.APPLIED: OutcomeStatus.APPLIED,
    ClaimState.UNCONFIRMED: OutcomeStatus.UNCONFIRMED,
    ClaimState.FAILED: OutcomeStatus.FAILED,
    ClaimState.WITHHELD: OutcomeStatus.WITHHELD,
}


@dataclass(frozen=True, slots=True)
class _Held:
    """An action whose claim this evaluator holds."""

    verdict: Verdict
    action: Action
    claim: Claim
    is_takeover: bool


class Claimer:
    """Runs the chunk; a crash at any point leaves a claim that the next evaluator takes over after its lease."""

    def __init__(self, applier: Applier, claims: ClaimStore, context: RunContext) -> None:
        """Take the applier of one action type and where claims are kept."""
        self._applier = applier
        self._claims = claims
        self._context = context

    def run(self, verdicts: Iterable[Verdict], spend: Callable[[Verdict], str | None]) -> Iterable[Outcome]:
        """Yield one outcome per verdict. `spend` says why the window's budget forbids the act, or None."""
        held: list[_Held] = []
        for verdict in verdicts:
            taken = self._take(verdict)
            if isinstance(taken, Outcome):
                yield taken
            else:
                held.append(taken)
        yield from self._work(held, spend)

    def close(self, verdicts: Iterable[Verdict]) -> Iterable[Outcome]:
        """Settle, by reading only, claims whose evaluator died after the act; the audit stays as that evaluator wrote it."""
        for verdict in verdicts:
            existing = self._claims.get(self._key(verdict))
            if existing is None or verdict.action is None:
                yield Outcome(verdict, OutcomeStatus.NONE, "nothing was done")
            elif existing.state in _MAY_HAVE_TAKEN_EFFECT:
                yield Outcome(verdict, OutcomeStatus.ALREADY_APPLIED)
            elif admit(existing, self._context.now) is Admission.CONTENDED:
                yield Outcome(verdict, *_NOT_TAKEN[Admission.CONTENDED])
            elif existing.state is ClaimState.CLAIMED:
                yield self._settle_left_open(verdict, verdict.action, existing)
            else:
                yield Outcome(verdict, OutcomeStatus.NONE, "nothing was done")

    def _settle_left_open(self, verdict: Verdict, action: Action, existing: Claim) -> Outcome:
        is_done = self._applier.verify([action]).get(action.subject, False)
        state = ClaimState.APPLIED if is_done else ClaimState.UNCONFIRMED
        try:
            self._claims.settle(existing, state, _LEFT_OPEN, self._context.now)
        except LostRaceError:
            return Outcome(verdict, OutcomeStatus.CONTENDED, "another evaluator settled the claim")
        return Outcome(verdict, _SETTLED[state], _LEFT_OPEN)

    def _key(self, verdict: Verdict) -> ClaimKey:
        return ClaimKey(self._context.function, verdict.subject, verdict.rule, verdict.episode, verdict.step)

    def _work(self, held: list[_Held], spend: Callable[[Verdict], str | None]) -> Iterable[Outcome]:
        try:
            done_before = self._verified([h for h in held if h.is_takeover])
            open_now = [h for h in held if not done_before.get(h.action.subject)]
            no_more = self._applier.recheck([h.action for h in open_now]) if open_now else {}
        except (TransientError, TerminalError) as error:
            yield from (self._settle(h, ClaimState.WITHHELD, f"could not re-read: {error}") for h in held)
            return
        yield from (
            self._settle(h, ClaimState.APPLIED, "in effect already") for h in held if h not in open_now
        )
        acted: list[_Held] = []
        for one in open_now:
            why = no_more.get(one.action.subject) or spend(one.verdict)
            if why:
                yield self._settle(one, ClaimState.WITHHELD, why)
            elif failure := self._apply(one):
                yield failure
            else:
                acted.append(one)
        yield from self._read_back(acted)

    def _read_back(self, acted: list[_Held]) -> Iterable[Outcome]:
        detail = ""
        try:
            confirmed = self._verified(acted)
        except (TransientError, TerminalError) as error:
            confirmed, detail = {}, f"could not read back: {error}"
        for one in acted:
            is_confirmed = confirmed.get(one.action.subject, False)
            yield self._settle(one, ClaimState.APPLIED if is_confirmed else ClaimState.UNCONFIRMED, detail)

    def _take(self, verdict: Verdict) -> _Held | Outcome:
        action = verdict.action
        if action is None:  # pragma: no cover - the executor sends only verdicts with an action
            return Outcome(verdict, OutcomeStatus.NONE)
        key = self._key(verdict)
        existing: Claim | None = None
        for _ in range(2):
            admission = admit(existing, self._context.now)
            if admission in _NOT_TAKEN:
                status, detail = _NOT_TAKEN[admission]
                if admission in _NOBODY_ACTS:
                    self._applier.settled(action, has_taken_effect=False, token=self._context.token)
                return Outcome(verdict, status, detail)
            claim = self._fresh(key, existing)
            try:
                self._claims.put(claim, verdict, self._context, replaces=existing)
            except LostRaceError:
                existing = self._claims.get(key)
                continue
            return _Held(verdict, action, claim, admission is Admission.TAKE_OVER)
        return Outcome(verdict, OutcomeStatus.CONTENDED, "another evaluator took the claim first")

    def _fresh(self, key: ClaimKey, existing: Claim | None) -> Claim:
        now = self._context.now
        attempts = 1 if existing is None else existing.attempts + (existing.state is not ClaimState.WITHHELD)
        return Claim(key, ClaimState.CLAIMED, self._context.token, now + LEASE, now, attempts)

    def _apply(self, held: _Held) -> Outcome | None:
        try:
            self._applier.apply(held.action)
        except (TransientError, TerminalError) as error:
            return self._settle(held, ClaimState.FAILED, f"{type(error).__name__}: {error}")
        return None

    def _verified(self, held: Sequence[_Held]) -> dict[str, bool]:
        return dict(self._applier.verify([h.action for h in held])) if held else {}

    def _settle(self, held: _Held, state: ClaimState, detail: str) -> Outcome:
        try:
            self._claims.settle(held.claim, state, detail, self._context.now)
        except LostRaceError:
            return Outcome(held.verdict, OutcomeStatus.CONTENDED, "the lease ran out and was taken over")
        may_have = state in _MAY_HAVE_TAKEN_EFFECT
        self._applier.settled(held.action, has_taken_effect=may_have, token=self._context.token)
        return Outcome(held.verdict, _SETTLED[state], detail)
