"""Checks at the instant of a decision: what it was shown is true and whole, and its victims are the policy's.

Invariants: "truth" (no throttle, no page, no person lost or mixed up on the way in) and the first half of 1 (victims).
"""

from typing import TYPE_CHECKING

from proctor.domain.actions import TerminateSession
from proctor.domain.claims import Claim, ClaimState
from proctor.domain.decision import Decision, Verdict
from session_limits.snapshot import Path, Situation, Snapshot
from tests.simulation.core.violation import ViolationError
from tests.simulation.sessions import oracle
from tests.simulation.sessions.evaluation import Evaluation
from tests.simulation.sessions.service import TrueSession
from tests.simulation.sessions.witness import Act

if TYPE_CHECKING:
    from tests.simulation.sessions.university import University

_POLICY_KEPT_SECONDS = 61.0


class DecisionChecks:
    """Asked at every decision."""

    def __init__(self, world: "University") -> None:
        self._world = world

    def decided(self, evaluation: Evaluation, snapshot: Snapshot, decision: Decision) -> None:
        """All checks of one decision."""
        self._policies_were_in_force(evaluation, snapshot)
        for situation in snapshot.situations:
            self._is_one_holders(situation)
            if situation.is_complete:
                self._is_whole(situation.holder, situation, evaluation, snapshot)
        if snapshot.path is Path.SWEEP:
            shown = {s.holder for s in snapshot.situations}
            for holder in {s.holder for s in self._world.service.ours()} - shown:
                self._is_whole(holder, None, evaluation, snapshot)
        for verdict in decision.verdicts:
            if (
                isinstance(verdict.action, TerminateSession)
                and verdict.reason == "over_cap"
                and not verdict.is_closing
            ):
                self._is_first_in_order(verdict, verdict.action, evaluation, snapshot)

    def claimed(self, evaluation: Evaluation, claim: Claim, verdict: Verdict) -> None:
        """Nothing to ask here."""

    def settled(self, evaluation: Evaluation, claim: Claim, state: ClaimState) -> None:
        """Nothing to ask here."""

    def acted(self, act: Act, session: TrueSession | None) -> None:
        """Nothing to ask here."""

    def _policies_were_in_force(self, evaluation: Evaluation, snapshot: Snapshot) -> None:
        since = evaluation.started - _POLICY_KEPT_SECONDS
        for cluster, in_force in snapshot.policies.items():
            now = self._world.scheduler.now
            if not self._world.parameters.was_in_force(cluster, in_force.version, since, now):
                text = (
                    f"{evaluation.name} decides by version {in_force.version} of {cluster}, long out of force"
                )
                raise ViolationError("truth", text, [evaluation.name, cluster])

    def _is_one_holders(self, situation: Situation) -> None:
        """Nobody is counted with anybody else, and nothing that is not ours is counted."""
        for located in situation.sessions:
            session = self._world.service.sessions.get(located.session.session_id)
            if session is None or session.cluster is None:
                text = f"{located.session.session_id} is not ours and is counted for {situation.holder}"
                raise ViolationError("foreign", text, [located.session.session_id])
            if session.holder != situation.holder or session.cluster != located.node.cluster:
                text = f"{session.session_id} of {session.holder} is counted for {situation.holder}"
                raise ViolationError("one person", text, [session.session_id])

    def _is_whole(
        self, holder: str, situation: Situation | None, evaluation: Evaluation, snapshot: Snapshot
    ) -> None:
        """Every session that was listed all the time while the list was read is there."""
        if evaluation.listed is None:
            return
        lag = self._world.scenario.listing_lag_seconds
        start, end = (at - lag for at in evaluation.listed)
        shown = {item.session.session_id for item in situation.sessions} if situation else set()
        for session in self._world.service.of(holder):
            if session.cluster not in snapshot.policies or session.session_id in shown:
                continue
            if session.is_listed_at(start) and session.is_listed_at(end):
                text = f"{evaluation.name} does not see {session.session_id} of {holder}, which was listed all the time"
                raise ViolationError("truth", text, [session.session_id, evaluation.name])

    def _is_first_in_order(
        self, verdict: Verdict, action: TerminateSession, evaluation: Evaluation, snapshot: Snapshot
    ) -> None:
        if not action.peers:
            text = f"{verdict.subject} ends over a cap of {action.cap} and nobody was counted"
            raise ViolationError("1 cap", text, [action.session_id, evaluation.name])
        now = snapshot.now
        policies = {c: self._world.parameters.policy(c, p.version) for c, p in snapshot.policies.items()}
        sessions = [self._world.service.sessions[p.session_id] for p in action.peers]
        human, policy = sessions[0].human, policies[verdict.cluster]
        here = oracle.cap_in(human, policy, now)
        over_all, order_over_all = oracle.cap_over_all(human, policies, now)
        is_here = {s.cluster for s in sessions} == {verdict.cluster}
        scopes = [(here, policy.get("victim_order", "newest"))] if is_here else []
        scopes.append((over_all, order_over_all))
        fitting = [(cap, order) for cap, order in scopes if cap is not None and cap == action.cap]
        if not fitting:
            text = f"{verdict.subject} ends under a cap of {action.cap}, but {here} here and {over_all} over all hold"
            raise ViolationError("1 cap", text, [action.session_id, evaluation.name])
        for cap, order in fitting:
            ordered = oracle.in_victim_order(sessions, order)
            if action.session_id in oracle.first_surplus(ordered, cap, policies):
                return
        names = ", ".join(s.session_id for s in oracle.in_victim_order(sessions, fitting[0][1]))
        text = f"{verdict.subject} is not among the first of {action.holder} over {action.cap}: {names}"
        raise ViolationError("1 order", text, [action.session_id, evaluation.name])
