"""Checks at the instant of an act: whether it may happen at all, for the first time, and to this session.

Invariants 1 (never within the cap), 3 (at most once, under a claim of one's own), and: break-glass, protected people,
foreign sessions, dry-run, pause and budgets.
"""

from typing import TYPE_CHECKING, Any

from proctor.domain.actions import TerminateSession
from proctor.domain.claims import Claim, ClaimState
from proctor.domain.decision import Decision, Verdict
from session_limits.snapshot import Snapshot
from tests.simulation.core.violation import ViolationError
from tests.simulation.sessions import oracle
from tests.simulation.sessions.evaluation import Evaluation
from tests.simulation.sessions.intents import intent_token
from tests.simulation.sessions.service import TrueSession
from tests.simulation.sessions.witness import Act, key_of

if TYPE_CHECKING:
    from tests.simulation.sessions.university import University

_HOUSEKEEPING = frozenset({"policy", "event_path"})


class ActChecks:
    """Asked at every claim and act."""

    def __init__(self, world: "University") -> None:
        self._world = world
        self._ends_of_run: dict[tuple[int, str], int] = {}
        self._ends_of_window: dict[tuple[str, int], int] = {}

    def decided(self, evaluation: Evaluation, snapshot: Snapshot, decision: Decision) -> None:
        """Nothing to ask here."""

    def claimed(self, evaluation: Evaluation, claim: Claim, verdict: Verdict) -> None:
        """Dry-run writes no claim."""
        if verdict.rule not in _HOUSEKEEPING and self._is_dry(verdict):
            raise ViolationError(
                "dry-run", f"{evaluation.name} claims {claim.key} in dry-run", [verdict.subject]
            )

    def settled(self, evaluation: Evaluation, claim: Claim, state: ClaimState) -> None:
        """`applied` is only said of what is so."""
        session = self._world.service.sessions.get(claim.key.subject.removeprefix("session#"))
        if state is ClaimState.APPLIED and session is not None and session.is_counted:
            text = f"{evaluation.name} settles the end of {session.session_id} as applied; it is {session.status}"
            raise ViolationError("3 evidence", text, [session.session_id, evaluation.name])

    def acted(self, act: Act, session: TrueSession | None) -> None:
        """All checks of one act."""
        if act.verdict.rule not in _HOUSEKEEPING and self._is_dry(act.verdict):
            raise ViolationError("dry-run", f"{act.evaluation.name} acts on {act.verdict.subject} in dry-run")
        self._is_first(act)
        self._is_claimed(act)
        action = act.verdict.action
        if isinstance(action, TerminateSession):
            if session is None:
                raise ViolationError("foreign", f"{action.session_id} never existed", [action.session_id])
            self._may_end(act, session)
            self._is_within_budget(act)

    def _is_dry(self, verdict: Verdict) -> bool:
        if self._world.scenario.is_dry_run or verdict.policy_version is None:
            return True
        policy = self._world.parameters.policy(verdict.cluster, verdict.policy_version)
        return bool(policy.get("mode", "dry_run") != "apply")

    def _is_first(self, act: Act) -> None:
        """At most once, unless the one before is known to have failed, or died before it could say."""
        for before in self._world.witness.acts.get(key_of(act.verdict), ()):
            began = min(before.evaluation.started, act.evaluation.started)
            if self._world.has_clock_step(began, act.at):
                continue
            is_done = before.settled is ClaimState.APPLIED
            is_under_way = before.settled is None and not before.evaluation.is_over
            if is_done or is_under_way:
                how = "settled" if is_done else "still under way"
                text = f"{key_of(act.verdict)} is done by {act.evaluation.token} after {before.evaluation.token} ({how})"
                raise ViolationError("3 once", text, [act.verdict.subject, act.evaluation.name])

    def _is_claimed(self, act: Act) -> None:
        """The claim that everybody else sees is ours, and so is the intent in the ledger."""
        evaluation, verdict = act.evaluation, act.verdict
        if self._world.has_clock_step(evaluation.started, act.at):
            return
        claim = self._world.claim_of(verdict)
        if claim is None or claim.token != evaluation.token or claim.state is not ClaimState.CLAIMED:
            text = f"{evaluation.token} acts on {verdict.subject} while the claim is {claim}"
            raise ViolationError("3 claim", text, [verdict.subject, evaluation.name])
        if isinstance(verdict.action, TerminateSession):
            token = intent_token(self._world, verdict.action.holder, verdict.action.session_id)
            if token not in (evaluation.token, "no entry"):
                text = f"{evaluation.token} ends {verdict.subject} while the intent in the ledger is {token}"
                raise ViolationError("1 ledger", text, [verdict.subject, evaluation.name])

    def _may_end(self, act: Act, session: TrueSession) -> None:
        evaluation, verdict, about = act.evaluation, act.verdict, [session.session_id, act.evaluation.name]
        if (untouchable := _untouchable(session)) is not None:
            raise ViolationError(untouchable, f"{session.session_id} is {untouchable} and is ended", about)
        cluster = session.cluster or ""
        if self._world.parameters.is_paused_throughout(cluster, evaluation.decided_at, act.at):
            raise ViolationError("pause", f"{session.session_id} is ended in a pause of {cluster}", about)
        if verdict.reason == "over_cap":
            self._is_over_cap(act, session)
        elif verdict.reason == "requested":
            if session.session_id not in self._world.operators.asked_ends:
                raise ViolationError("1", f"nobody asked for the end of {session.session_id}", about)
        elif oracle.must_end(session, self._policies(act)) is None:
            raise ViolationError(
                "1", f"{session.session_id} is ended as {verdict.reason}, which is not so", about
            )

    def _is_over_cap(self, act: Act, session: TrueSession) -> None:
        """Its person had too many sessions at the instant of the act, or at some moment since the re-read just before it.

        By the policies of the decision, or by those in force at the act: if caps were lowered in between, another evaluator
        may have ended sessions that this one meant to leave, and counts on its ends.
        """
        if not session.is_counted or act.evaluation.now is None:
            return
        now, human = act.evaluation.now, session.human
        reread_at = act.evaluation.reread_at
        since = act.at if reread_at is None else reread_at - self._world.scenario.listing_lag_seconds
        cluster = session.cluster or ""
        found: list[str] = []
        for policies in (self._policies(act), self._world.policies()):
            caps = {cluster: oracle.cap_in(human, policies[cluster], now)}
            caps[""] = oracle.cap_over_all(human, policies, now)[0]
            used = {scope: self._most(session, scope, since, act.at, policies) for scope in caps}
            if any(cap is not None and used[scope] > cap for scope, cap in caps.items()):
                return
            found.append(f"{used} of {caps}")
        text = f"{session.session_id} of {human.nick} is ended within the cap: {' and '.join(found)}"
        raise ViolationError("1 surplus", text, [session.session_id, human.nick, act.evaluation.name])

    def _most(
        self, session: TrueSession, scope: str, since: float, until: float, policies: oracle.Policies
    ) -> int:
        """The most that counted at any moment of a span, without what Proctor has ended by now."""
        mine = [
            s
            for s in self._world.service.of(session.holder)
            if s.killed_at is None and not s.is_break_glass and scope in ("", s.cluster)
        ]
        moments = [since, *(s.history[0][0] for s in mine if since < s.history[0][0] <= until)]
        return max(
            sum(oracle.weight(s, policies) for s in mine if s.was_counted_within(at, at)) for at in moments
        )

    def _is_within_budget(self, act: Act) -> None:
        if not self._world.scenario.small_budget or act.evaluation.now is None:
            return
        cluster = act.verdict.cluster
        budget = self._policies(act)[cluster]["guardrails"]["session_ends"]
        window = int(act.evaluation.now.timestamp() // (60 * budget["window_minutes"]))
        run = (id(act.evaluation.snapshot), cluster)
        self._ends_of_run[run] = self._ends_of_run.get(run, 0) + 1
        spent = self._ends_of_window[cluster, window] = self._ends_of_window.get((cluster, window), 0) + 1
        if spent > budget["per_window"] or self._ends_of_run[run] > budget["per_run"]:
            text = f"{self._ends_of_run[run]} ends in a run, {spent} in a window of {cluster}: {budget}"
            raise ViolationError("5 budget", text, [act.evaluation.name])

    def _policies(self, act: Act) -> dict[str, dict[str, Any]]:
        snapshot = act.evaluation.snapshot
        if snapshot is None:
            return {}
        return {c: self._world.parameters.policy(c, p.version) for c, p in snapshot.policies.items()}


def _untouchable(session: TrueSession) -> str | None:
    """Why nothing whatever may end a session."""
    if session.cluster is None:
        return "foreign"
    if session.is_break_glass:
        return "break-glass"
    return "protected" if session.human.is_protected and session.principal.is_believed else None
