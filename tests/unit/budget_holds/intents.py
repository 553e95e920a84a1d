"""Builders: budgets that hold, the intents that stand, and what the agent says of them."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from budget_holds.plan import HOLD_FOR, OWNER
from budget_holds.snapshot import ClusterView, Situation
from proctor.domain.agent_protocol import (
    Intent,
    IntentResult,
    LimitAccount,
    Outcome,
    SetPartitionState,
    Verb,
)
from proctor.domain.budgets_memory import BudgetMemory, HandKind, HandOrder, Level, Why
from proctor.domain.decision import Verdict
from proctor.domain.slurm_actions import WriteIntent
from tests.fakes.budget_values import NOW, slurm
from tests.unit.budget_holds.judging import LAB1, decided, situation, view

LIMIT = LimitAccount("lab1")
HELD = BudgetMemory(
    rev=1,
    level=Level.HELD,
    is_holding=True,
    level_at=NOW - timedelta(days=1),
    why=Why.BY_HAND,
    hand=HandOrder(kind=HandKind.HOLD, by="ops", at=NOW - timedelta(days=1)),
)

LATE = NOW - timedelta(minutes=4)


def intent(
    verb: Verb = LIMIT,
    *,
    rev: int = 3,
    held: bool = True,
    written: datetime = NOW - timedelta(hours=1),
    **fields: Any,
) -> Intent:
    values: dict[str, Any] = {
        "owner": OWNER,
        "previous": {"GrpJobs": "7"},
        "expires_at": written + HOLD_FOR,
        **fields,
    }
    if isinstance(verb, SetPartitionState):
        values["previous"] = {"State": "UP"}
    return Intent(pk="alpha#controller", verb=verb, is_held=held, rev=rev, **values)


def result(
    outcome: Outcome = Outcome.APPLIED,
    rev: int = 3,
    sk: str = "account#lab1",
    detail: str = "",
    at: datetime = NOW,
) -> IntentResult:
    return IntentResult(sk, rev, outcome, detail, "GrpJobs", None, at)


def held_view(
    *situations: Situation, stored: Mapping[str, Intent | None] | None = None, **seen: Any
) -> ClusterView:
    budgets = situations or (situation(LAB1, memory=HELD),)
    return view(*budgets, seen=slurm(**seen), intents=stored or {})


def verdicts(cluster: ClusterView, prefix: str = "account#alpha#lab1") -> list[Verdict]:
    return [v for v in decided(cluster).verdicts if v.subject.startswith(prefix)]


def alarms(cluster: ClusterView) -> list[str]:
    return [v.reason for v in decided(cluster).verdicts if v.subject.startswith("alarm#")]


def write(cluster: ClusterView) -> WriteIntent:
    (verdict,) = verdicts(cluster)
    assert isinstance(verdict.action, WriteIntent)
    return verdict.action
