"""At each decision: what budgets remember next is what the oracle says, and what was read is what AWS has said."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from budget_holds.snapshot import ClusterView, OrderKind, Situation, Snapshot
from proctor.domain.budgets_memory import BudgetMemory, Doubt, HandKind
from proctor.domain.budgets_reading import BudgetReading
from proctor.domain.decision import Decision
from tests.simulation.budgets import oracle
from tests.simulation.core.violation import ViolationError

if TYPE_CHECKING:
    from tests.simulation.budgets.campus import Campus
    from tests.simulation.budgets.evaluators import Evaluation

_ROUNDING = 0.02
_BY_TRUST = {Doubt.JUMP, Doubt.SHRINK}


def check_decision(
    campus: "Campus", evaluation: "Evaluation", snapshot: Snapshot, decision: Decision
) -> None:
    """Every budget that was asked about."""
    written = {c.memory.subject: c.memory.data for c in decision.cases if c.memory is not None}
    for view in snapshot.clusters:
        for situation in view.situations:
            for answer in (situation.answer, situation.bill):
                if isinstance(answer, BudgetReading):
                    _was_served(campus, answer)
            new = written.get(situation.memory_subject, situation.memory)
            if situation.is_asked and not snapshot.is_rehearsal and isinstance(new, BudgetMemory):
                _one_budget(campus, evaluation, view, situation, new)


def _was_served(campus: "Campus", answer: BudgetReading) -> None:
    """A figure that AWS never gave is an invention."""
    served = campus.billing.served.get(answer.name, ())
    amount, currency = (answer.actual.amount, answer.actual.currency) if answer.actual else (Decimal(-1), "")
    if all((currency, amount) != (unit, one) for unit, one, _ in served):
        text = f"AWS never said that {answer.name} has spent {amount} {currency}"
        raise ViolationError("unknown never acts", text, [answer.name])


def _one_budget(
    campus: "Campus", evaluation: "Evaluation", view: ClusterView, situation: Situation, new: BudgetMemory
) -> None:
    now, old, name = evaluation.now, situation.memory, situation.name
    if old.period is not None and now < old.period.start_at:
        if new != old:
            raise ViolationError("9 time", f"{name} changed while the clock was before its period", [name])
        return
    raw = campus.raw_budget(name, situation.definition.version)
    seen_at = view.slurm.seen_at
    is_fresh = seen_at is not None and -timedelta(seconds=60) <= now - seen_at <= timedelta(seconds=120)
    judgement = oracle.judge(
        raw,
        situation.answer if raw.get("aws_budget") else situation.bill,
        view.slurm.usage,
        is_fresh=is_fresh,
        accepted=_accepted(situation, raw, now),
        now=now,
    )
    if raw.get("aws_budget") and not is_fresh and not old.most_nodes:
        return
    expected, why = _expected(campus, situation, judgement, new, now)
    if expected is not None and new.is_holding is not expected:
        percent = "?" if judgement.percent is None else f"{judgement.percent:.2f}"
        said = f"{name} {'holds' if new.is_holding else 'does not hold'} at {percent} %: {why}"
        raise ViolationError(_invariant(why), f"{said} (was {old.level.value}, {old.is_holding})", [name])


def _invariant(why: str) -> str:
    return {"hand": "release by hand", "unknown": "unknown never acts", "limit": "6 limit"}.get(
        why.split(maxsplit=1)[0], "6 band"
    )


def _accepted(situation: Situation, raw: object, now: datetime) -> set[str]:
    """Doubts that an operator has answered in this period, or answers now."""
    order, memory = situation.order, situation.memory
    found = (
        {d.value for d in memory.approved} if memory.period is not None and now in memory.period else set()
    )
    if order is not None and order.kind is OrderKind.APPROVE:
        found |= {"unhealthy", "stale"}
    return found if raw else set()


def _expected(
    campus: "Campus", situation: Situation, judgement: oracle.Judgement, new: BudgetMemory, now: datetime
) -> tuple[bool | None, str]:
    """Whether it has to hold now, and by which rule; None where the oracle has no opinion."""
    old, order = situation.memory, situation.order
    if order is not None and order.kind is not OrderKind.APPROVE:
        # A release that says until when, and a limit that changes at once: whatever the figures say goes.
        return (order.kind is OrderKind.HOLD, "hand") if judgement.percent is None else (None, "")
    is_new = judgement.span is not None and (old.period is None or old.period.start_at != judgement.span[0])
    held, hand = old.is_holding, old.hand
    if hand is not None:
        is_over = hand.until_at is not None and now >= hand.until_at
        if hand.kind is HandKind.HOLD and not is_over:
            return True, "hand"
        has_new_limit = judgement.percent is not None and old.limit is not None and _differs(judgement, old)
        if hand.kind is HandKind.RELEASE and not (is_over or is_new or has_new_limit or judgement.is_over):
            return False, "hand release stays"
        held = False
    if judgement.is_over:
        return False, "limit: its time is over"
    if judgement.percent is None or new.doubt in _BY_TRUST:
        return held, f"unknown ({judgement.why or new.doubt})"
    if order is None and _is_wild(campus, situation, judgement):
        return held, "unknown (an odd figure)"
    return _by_numbers(judgement, old, held=held, is_new=is_new)


def _by_numbers(
    judgement: oracle.Judgement, old: BudgetMemory, *, held: bool, is_new: bool
) -> tuple[bool | None, str]:
    percent = judgement.percent or 0.0
    if min(abs(percent - oracle.HOLD_AT), abs(percent - oracle.RELEASE_BELOW)) < _ROUNDING:
        return None, ""
    if percent >= oracle.HOLD_AT:
        return True, "limit is reached"
    if not judgement.can_release:
        return held, "unknown (Slurm)"
    if percent < oracle.RELEASE_BELOW:
        return False, "limit is far"
    is_raised = old.limit is not None and judgement.limit > float(old.limit.amount)
    is_of_now = old.held_in is not None and old.period is not None and old.held_in == old.period.key
    return held and is_of_now and not is_new and not is_raised, "band"


def _is_wild(campus: "Campus", situation: Situation, judgement: oracle.Judgement) -> bool:
    """Whether AWS's figure about the budget itself is one of the wild ones."""
    answer = situation.answer
    if not isinstance(answer, BudgetReading) or answer.actual is None:
        return False
    if judgement.span is None or answer.updated_at is None or answer.updated_at <= judgement.span[0]:
        return False
    kinds = {kind for kind, _, _ in campus.scenario.odd_bills}
    served = campus.billing.served.get(answer.name, ())
    is_odd = all(odd for _, amount, odd in served if amount == answer.actual.amount)
    return "jump" in kinds and is_odd and situation.memory.trusted != answer.actual


def _differs(judgement: oracle.Judgement, old: BudgetMemory) -> bool:
    return old.limit is not None and judgement.limit != float(old.limit.amount)
