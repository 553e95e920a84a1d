"""Holds that nobody wants any more: let go, restored by the agent, and only where it is known that nobody wants them."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from budget_holds.assess import Assessment
from budget_holds.plan import OWNER, Gone, withdraw_verdict
from budget_holds.snapshot import Snapshot
from budget_holds.targets import targets_of
from proctor.domain.agent_protocol import intent_sk
from proctor.domain.budgets_memory import memory_subject
from proctor.domain.decision import Case, Mode


def release_cases(wanted: Collection[str], assessment: Assessment, snapshot: Snapshot) -> list[Case]:
    """One case for each subject that stands held, or may be about to, and is not `wanted` (sort keys)."""
    found = {gone.sk: gone for gone in (*_leaving(assessment, snapshot.now), *_standing(assessment))}
    rows = [gone for sk, gone in sorted(found.items()) if sk not in wanted]
    if not rows:
        return []
    view = assessment.view
    unknown = [name for name, targets in sorted(assessment.targets.items()) if not targets.is_complete]
    unknown += sorted(view.unusable_holding)
    could_hold = _could_hold(assessment, snapshot.now)
    cases: list[Case] = []
    for gone in rows:
        others = could_hold.get(gone.sk, ())
        verdict = withdraw_verdict(gone, view, snapshot, others, _why(gone, assessment))
        if unknown:
            text = f"kept, since it is unknown what {', '.join(unknown[:5])} has to hold"
            verdict = replace(verdict, action=None, reason="kept_unknown", text=text)
        memories = tuple(memory_subject(view.cluster, name) for name in others)
        cases.append(Case(subject=verdict.subject, verdicts=(verdict,), rests_on=memories))
    return cases


def _standing(assessment: Assessment) -> list[Gone]:
    """Our own intents that are held."""
    stored = assessment.view.intents.values()
    return [Gone(i.verb, i) for i in stored if i is not None and i.owner == OWNER and i.is_held]


def _leaving(assessment: Assessment, now: datetime) -> list[Gone]:
    """Subjects of budgets that let go just now, whose intents are not held (yet).

    Another evaluator, which decided before, may be about to write them: the release takes the revision, so its write loses.
    """
    view = assessment.view
    found: list[Gone] = []
    for standing in assessment.standings:
        situation = standing.situation
        if standing.memory.is_holding or not situation.memory.is_holding:
            continue
        for verb in targets_of(situation, view, assessment.tree, now).verbs:
            stored = view.intents.get(intent_sk(verb))
            is_free = stored is None and intent_sk(verb) not in view.intents
            if is_free or (stored is not None and stored.owner == OWNER and not stored.is_held):
                found.append(Gone(verb, stored))
    return found


def _could_hold(assessment: Assessment, now: datetime) -> dict[str, list[str]]:
    """Sort key → budgets that would hold it: read again just before a release."""
    found: dict[str, list[str]] = {}
    for standing in assessment.standings:
        situation = standing.situation
        if situation.budget.mode is not Mode.APPLY:
            continue
        for verb in targets_of(situation, assessment.view, assessment.tree, now).verbs:
            found.setdefault(intent_sk(verb), []).append(situation.name)
    return found


def _why(gone: Gone, assessment: Assessment) -> str:
    released = sorted(
        s.situation.name for s in assessment.standings if not s.memory.is_holding and s.memory.why is not None
    )
    names = f" ({', '.join(released[:5])})" if released else ""
    return f"no budget holds {gone.verb.subject} any more{names}"
