"""Budgets that held when their definition was deleted: they hold nothing any more, and the operators are told once.

What only such a budget held is let go by the same look, since no budget wants it. Its owner stood in the definition, so the
operators are the ones who can be told.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta

from budget_holds.alarms import alarm
from budget_holds.notices import is_due
from budget_holds.policy import Rule
from budget_holds.snapshot import ClusterView, Snapshot
from proctor.domain.budgets_memory import BudgetMemory, Level, Why, memory_subject
from proctor.domain.decision import Case, MemoryWrite, Mode

_SEEN_BY_ALL = timedelta(minutes=5)
"""Definitions are cached for a minute: a hold that is younger may be of one that this evaluator has not seen yet."""


def undefined(
    memories: Mapping[str, BudgetMemory], cluster: str, defined: Iterable[str]
) -> dict[str, BudgetMemory]:
    """Budget → memory of those that hold, or ended lately, and have no definition (any more)."""
    known = {memory_subject(cluster, name) for name in defined}
    prefix = memory_subject(cluster, "")
    return {
        subject.removeprefix(prefix): memory
        for subject, memory in sorted(memories.items())
        if subject not in known and (memory.is_holding or memory.why is Why.ENDED)
    }


def gone_cases(view: ClusterView, snapshot: Snapshot) -> list[Case]:
    """One case for each: remember the end, and tell it. In dry-run holds stay as they are, and so does what is remembered."""
    if view.policy.policy.mode_of(Rule.HOLD, snapshot.bound) is not Mode.APPLY:
        return []
    found: list[Case] = []
    for name, memory in view.gone.items():
        if memory.is_holding:
            if memory.level_at is None or snapshot.now - memory.level_at >= _SEEN_BY_ALL:
                found.append(_ended(name, memory, view, snapshot))
        elif _ended_here(memory) and is_due(memory.level_at, snapshot.now, snapshot.path):
            found.append(_told(name, memory, view, snapshot))
    return found


def _ended_here(memory: BudgetMemory) -> bool:
    """Whether the end came within the period: else the budget was over before it was deleted, which its owner knows."""
    return memory.period is None or (memory.level_at is not None and memory.level_at in memory.period)


def _ended(name: str, memory: BudgetMemory, view: ClusterView, snapshot: Snapshot) -> Case:
    ended = replace(
        memory,
        level=Level.OK,
        level_at=snapshot.now,
        why=Why.ENDED,
        held_in=None,
        is_holding=False,
        doubt=None,
        hand=None,
    )
    write = MemoryWrite(subject=memory_subject(view.cluster, name), data=ended, expected_rev=memory.rev)
    return replace(_told(name, ended, view, snapshot), memory=write)


def _told(name: str, memory: BudgetMemory, view: ClusterView, snapshot: Snapshot) -> Case:
    text = (
        f"Budget {name} held new jobs, and its definition is gone. It holds nothing any more; what only it held is let go. "
        "If that was not meant, write the definition again."
    )
    at = memory.level_at or snapshot.now
    verdict = alarm(
        view, snapshot, name, "definition_gone", text, f"proctor budgets show {name}", once=at.isoformat()
    )
    is_known = at != snapshot.now
    return Case(subject=verdict.subject, verdicts=(replace(verdict, is_known=is_known),))
