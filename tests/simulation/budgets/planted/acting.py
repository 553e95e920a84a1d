"""Planted bugs in what is written and told."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from budget_holds import holds, letting_go, notices
from budget_holds.targets import targets_of
from proctor.domain.agent_protocol import intent_sk
from proctor.domain.decision import Case, Verdict
from proctor.runtime import executor, intent_appliers
from proctor.runtime.claiming import Claimer
from tests.simulation.budgets import evaluators
from tests.simulation.core.planting import Patch, PlantedBug


def _first_releases_for_both() -> list[Patch]:
    release = letting_go.release_cases

    def selfish(wanted: Collection[str], assessment: Any, snapshot: Any) -> list[Case]:
        left: set[str] = set()
        for standing in assessment.standings:
            if standing.situation.memory.is_holding and not standing.memory.is_holding:
                targets = targets_of(standing.situation, assessment.view, assessment.tree, snapshot.now)
                left |= {intent_sk(verb) for verb in targets.verbs}
        return release([sk for sk in wanted if sk not in left], assessment, snapshot)

    return [(holds, "release_cases", selfish), (letting_go, "_could_hold", lambda *_: {})]


def _claim_by_message() -> list[Patch]:
    take = Claimer._take

    def by_message(self: Claimer, verdict: Verdict) -> Any:
        return take(self, replace(verdict, episode=f"{verdict.episode}#{self._context.token}"))

    return [(Claimer, "_take", by_message)]


def _change_told_again_in_a_new_period() -> list[Patch]:
    return [(notices, "_CHANGES", frozenset())]


def _loser_goes_on() -> list[Patch]:
    def holds(memory: Any, basis: Any) -> bool:
        return bool(memory.get(basis.memory).is_holding)

    return [
        (executor, "_memory_of", lambda case: set()),
        (intent_appliers, "stands", holds),
        (evaluators, "stands", holds),
    ]


def _owner_not_told() -> list[Patch]:
    return [(notices, "_change", lambda *_: [])]


def _cannot_bind_is_success() -> list[Patch]:
    status = holds.status

    def content(*rest: Any) -> tuple[str, str]:
        reason, text = status(*rest)
        return ("held", "in force") if reason == "cannot_bind" else (reason, text)

    return [(holds, "status", content)]


def _releases_nothing() -> list[Patch]:
    return [(holds, "release_cases", lambda *_: [])]


def _only_the_leaver_releases() -> list[Patch]:
    return [(letting_go, "_standing", lambda assessment: [])]


ACTING = (
    PlantedBug("the second budget's hold is released by the first", _first_releases_for_both),
    PlantedBug("a duplicate message fires twice", _claim_by_message),
    PlantedBug("a change is told again in a new period", _change_told_again_in_a_new_period),
    PlantedBug("who loses the race for a memory writes and tells all the same", _loser_goes_on),
    PlantedBug("the owner is not told of a hold", _owner_not_told),
    PlantedBug("a hold that can't bind is a success", _cannot_bind_is_success),
    PlantedBug("nothing is ever released", _releases_nothing),
    PlantedBug("only the evaluator that let go releases", _only_the_leaver_releases),
)
