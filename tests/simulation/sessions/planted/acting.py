"""Planted bugs in the act: claims, leases, re-reads, modes."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from proctor.domain import ledger
from proctor.domain.claims import Claim, ClaimKey, ClaimState
from proctor.domain.decision import OutcomeStatus, RunContext, Verdict
from proctor.domain.errors import LostRaceError
from proctor.runtime import claiming, executor
from proctor.runtime.appliers import SessionTerminator
from proctor.runtime.claiming import Claimer
from proctor.runtime.executor import Executor
from tests.simulation.core.planting import Patch, PlantedBug


def _no_re_read_before_the_act() -> list[Patch]:
    return [(SessionTerminator, "recheck", lambda self, actions: {})]


def _terminate_taken_as_success() -> list[Patch]:
    def believing(self: SessionTerminator, actions: Any) -> Mapping[str, bool]:
        return {a.subject: True for a in actions}

    return [(SessionTerminator, "verify", believing)]


def _claim_keyed_by_event_id() -> list[Patch]:
    take = Claimer._take

    def by_event(self: Claimer, verdict: Verdict) -> Any:
        return take(self, replace(verdict, episode=f"{verdict.episode}#{self._context.token}"))

    return [(Claimer, "_take", by_event)]


def _claim_expires_before_the_time_out() -> list[Patch]:
    short = timedelta(seconds=3)
    return [(claiming, "LEASE", short), (ledger, "LEASE", short)]


def _settle_before_apply() -> list[Patch]:
    def early(self: Claimer, held: Any) -> Any:
        outcome = self._settle(held, ClaimState.APPLIED, "")
        self._applier.apply(held.action)
        return outcome

    return [(Claimer, "_apply", early)]


class _Lenient:
    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def swap(self, subject: str, data: object, expected_rev: int) -> None:
        try:
            self._memory.swap(subject, data, expected_rev)
        except LostRaceError:
            return


def _lost_cas_ignored() -> list[Patch]:
    run_case = Executor._run_case

    def careless(self: Executor, *args: Any) -> Any:
        stores = self._stores
        self._stores = replace(stores, memory=_Lenient(stores.memory))
        try:
            return run_case(self, *args)
        finally:
            self._stores = stores

    return [(Executor, "_run_case", careless)]


def _dry_run_writes_a_claim() -> list[Patch]:
    without_acting = Executor._without_acting

    def eager(self: Executor, verdict: Verdict, decision: Any, withheld: Any, context: RunContext) -> Any:
        outcome = without_acting(self, verdict, decision, withheld, context)
        if outcome is not None and outcome.status is OutcomeStatus.DRY_RUN:
            key = ClaimKey(context.function, verdict.subject, verdict.rule, verdict.episode, verdict.step)
            claim = Claim(key, ClaimState.CLAIMED, context.token, context.now, context.now)
            if self._stores.claims.get(key) is None:
                self._stores.claims.put(claim, verdict, context, replaces=None)
        return outcome

    return [(Executor, "_without_acting", eager)]


def _pause_ignored() -> list[Patch]:
    withheld = Executor._withheld_clusters

    def deaf(self: Executor, decision: Any, context: RunContext) -> dict[str, str]:
        found = withheld(self, decision, context)
        return {cluster: why for cluster, why in found.items() if not why.startswith("paused")}

    return [(Executor, "_withheld_clusters", deaf)]


def _protected_people_ended() -> list[Patch]:
    return [(executor, "is_protected", lambda verdict, rails: False)]


def _window_budget_ignored() -> list[Patch]:
    return [(Executor, "_spend", lambda self, decision, context: lambda verdict: None)]


def _unconfirmed_end_counts_at_once() -> list[Patch]:
    return [(claiming, "_MAY_HAVE_TAKEN_EFFECT", frozenset({ClaimState.APPLIED}))]


ACTING = (
    PlantedBug("no re-read before the act", _no_re_read_before_the_act),
    PlantedBug("terminate taken as success without re-reading", _terminate_taken_as_success),
    PlantedBug("claim keyed by event id", _claim_keyed_by_event_id),
    PlantedBug("claim expires before the time-out", _claim_expires_before_the_time_out),
    PlantedBug("settle before apply", _settle_before_apply),
    PlantedBug("lost CAS ignored", _lost_cas_ignored),
    PlantedBug("dry-run writes a claim", _dry_run_writes_a_claim),
    PlantedBug("pause ignored", _pause_ignored),
    PlantedBug("protected person ended", _protected_people_ended),
    PlantedBug("the window's budget ignored", _window_budget_ignored),
    PlantedBug("an unconfirmed end counts at once", _unconfirmed_end_counts_at_once, is_rare=True),
)
