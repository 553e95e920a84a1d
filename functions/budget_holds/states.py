"""Where a budget stands, from where it stood and what was found. Level and memory, not edges.

    OK → WARNED → HELD → RELEASED, and NEEDS_HUMAN: a doubt, during which the level stays what it was

Held at `hold_at_percent` of settled + in flight; let go under `release_below_percent`, in a new period, after a raised limit,
or by hand. In between nothing changes, so noisy numbers don't make a hold flap. A threshold fires once a period.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from budget_holds.doubts import doubt_about, hourly_ceiling
from budget_holds.facts import APPROVABLE, Ended, Facts, Finding, Found, Unknown
from budget_holds.policy import BudgetHoldsPolicy
from budget_holds.snapshot import ClusterView, Order, OrderKind, Situation
from budget_holds.thresholds import fire, refreshed
from proctor.domain.budgets_memory import BudgetMemory, Doubt, HandKind, HandOrder, Level, Why
from proctor.domain.budgets_period import Period

_ACCEPTED_ONCE = frozenset({Doubt.JUMP, Doubt.SHRINK})


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One budget after this evaluation. `reason` is a stable code; `remark` says what else people should know."""

    situation: Situation
    finding: Finding
    memory: BudgetMemory
    reason: str
    remark: str = ""

    @property
    def facts(self) -> Facts | None:
        """The numbers, when there are any."""
        return self.finding.facts if isinstance(self.finding, Found) else None

    @property
    def is_changed(self) -> bool:
        """Whether there is anything to remember."""
        return self.memory != self.situation.memory


def stand(
    situation: Situation, finding: Finding, view: ClusterView, now: datetime, *, tells: bool
) -> Standing:
    """The standing of one budget. `tells`: notices are really sent, not only recorded."""
    old = situation.memory
    if old.period is not None and _is_set_back(old.period, now):
        text = f"the clock says {now:%Y-%m-%d %H:%M}, but the period from {old.period.key} was seen already"
        return Standing(situation=situation, finding=finding, memory=old, reason="clock_back", remark=text)
    memory = _ordered(_lapsed(_rolled(old, finding), finding, now), situation.order, finding, now)
    reason, remark = "", ""
    match finding:
        case Unknown():
            reason, remark = finding.reason, finding.text
        case Ended():
            memory = _ended(memory, now)
            reason, remark = "ended", finding.text
        case Found():
            memory = replace(memory, most_nodes=_nodes(memory, old, view, now))
            finding = _judged(finding, situation, view, memory.most_nodes)
            memory, remark = _found(memory, situation, finding, view, now, tells=tells)
            reason = memory.state
    memory = _without_news(replace(memory, is_holding=_is_holding(memory)), old)
    return Standing(situation=situation, finding=finding, memory=memory, reason=reason, remark=remark)


def _is_set_back(period: Period, now: datetime) -> bool:
    """Whether a clock that says `now` has gone back over the border of a period that was seen already."""
    return now < period.start_at


def _is_holding(memory: BudgetMemory) -> bool:
    if memory.hand is not None:
        return memory.hand.kind is HandKind.HOLD
    return memory.level is Level.HELD


def _without_news(memory: BudgetMemory, before: BudgetMemory) -> BudgetMemory:
    """Only the beginning and the end of a hold are told of: a release of what is not held is answered, and changes no date."""
    if memory.is_holding is not before.is_holding:
        return memory
    why = memory.why if memory.is_holding else before.why
    return replace(memory, level_at=before.level_at, why=why)


def _rolled(memory: BudgetMemory, finding: Finding) -> BudgetMemory:
    """A new period forgets thresholds, trust and approvals; a hold and a doubt stay until the new numbers are judged."""
    if not isinstance(finding, Found) or memory.period == finding.period:
        return memory
    keeps_order = memory.hand is not None and memory.hand.kind is HandKind.HOLD
    return BudgetMemory(
        rev=memory.rev,
        period=finding.period,
        level=Level.HELD if memory.is_holding else Level.OK,
        level_at=memory.level_at,
        why=memory.why,
        held_in=memory.held_in,
        is_holding=memory.is_holding,
        limit=memory.limit,
        hand=memory.hand if keeps_order else None,
    )


def _lapsed(memory: BudgetMemory, finding: Finding, now: datetime) -> BudgetMemory:
    """An order ends at its `until`; a release also when the limit changes."""
    hand = memory.hand
    if hand is None:
        return memory
    is_over = hand.until_at is not None and now >= hand.until_at
    if hand.kind is HandKind.HOLD:
        if not is_over:
            return memory
        return replace(
            memory, hand=None, level=Level.RELEASED, level_at=now, why=Why.ORDER_LAPSED, held_in=None
        )
    facts = finding.facts if isinstance(finding, Found) else None
    has_new_limit = facts is not None and memory.limit is not None and facts.limit != memory.limit
    return replace(memory, hand=None) if is_over or has_new_limit else memory


def _ordered(memory: BudgetMemory, order: Order | None, finding: Finding, now: datetime) -> BudgetMemory:
    if order is None:
        return memory
    if order.kind is OrderKind.APPROVE:
        doubt = finding.doubt if isinstance(finding, Found) else None
        known = dict.fromkeys(APPROVABLE & {doubt, memory.doubt}, order.by)
        return replace(memory, approved={**memory.approved, **known})
    is_hold = order.kind is OrderKind.HOLD
    hand = HandOrder(
        kind=HandKind.HOLD if is_hold else HandKind.RELEASE, by=order.by, at=now, until_at=order.until_at
    )
    level = Level.HELD if is_hold else Level.RELEASED
    return replace(memory, hand=hand, level=level, level_at=now, why=Why.BY_HAND, held_in=None)


def _ended(memory: BudgetMemory, now: datetime) -> BudgetMemory:
    """Outside its time a budget holds nothing, except by an operator's order."""
    if memory.hand is not None and memory.hand.kind is HandKind.HOLD:
        return memory
    return replace(memory, level=Level.OK, level_at=now, why=Why.ENDED, held_in=None, doubt=None, hand=None)


def _found(
    memory: BudgetMemory,
    situation: Situation,
    finding: Found,
    view: ClusterView,
    now: datetime,
    *,
    tells: bool,
) -> tuple[BudgetMemory, str]:
    policy, facts = view.policy.policy, finding.facts
    if facts is None:
        return replace(memory, doubt=finding.doubt), finding.text
    accepts_now = situation.order is not None and situation.order.kind is OrderKind.APPROVE
    if not accepts_now:
        doubted = doubt_about(facts, memory, finding.period, policy, memory.most_nodes)
        if doubted is not None:
            return replace(memory, doubt=doubted.doubt), doubted.text
    memory = fire(memory, facts, _thresholds(situation, policy), now, tells=tells)
    memory = _levelled(replace(memory, doubt=None), facts, finding.period, policy, now)
    is_trusting = accepts_now and situation.memory.doubt in _ACCEPTED_ONCE
    return refreshed(memory, facts, at_once=is_trusting), facts.lacks


def _judged(finding: Found, situation: Situation, view: ClusterView, nodes: int) -> Found:
    """AWS's own figure can't hold where no ceiling is known: a wrong one could not be told from a right one."""
    facts = finding.facts
    if facts is None or situation.budget.allocation is not None or facts.lacks:
        return finding
    if hourly_ceiling(view.policy.policy, nodes) is not None:
        return finding
    lacks = (
        "neither rates with node prices nor a ceiling per hour is known, so a wrong figure could not be told"
    )
    return replace(finding, facts=replace(facts, can_hold=False, lacks=lacks))


def _nodes(memory: BudgetMemory, before: BudgetMemory, view: ClusterView, now: datetime) -> int:
    """The largest cluster seen in the period; while Slurm is unknown, the last one before it."""
    seen = view.slurm.node_count if view.slurm.is_fresh(now) else before.most_nodes
    return max(memory.most_nodes, seen)


def _thresholds(situation: Situation, policy: BudgetHoldsPolicy) -> tuple[int, ...]:
    own = situation.budget.thresholds
    return policy.thresholds if own is None else own


def _levelled(
    memory: BudgetMemory, facts: Facts, period: Period, policy: BudgetHoldsPolicy, now: datetime
) -> BudgetMemory:
    is_raised = memory.limit is not None and (
        memory.limit.currency == facts.limit.currency and facts.limit > memory.limit
    )
    # Without the band: only the full limit holds again.
    held_in = None if is_raised else memory.held_in
    memory = replace(memory, limit=facts.limit, held_in=held_in)
    if memory.hand is not None:
        return memory
    if facts.percent >= policy.hold_at_percent and facts.can_hold:
        if memory.level is Level.HELD:
            return replace(memory, held_in=period.key)
        return replace(memory, level=Level.HELD, level_at=now, why=Why.LIMIT_REACHED, held_in=period.key)
    if memory.level is not Level.HELD:
        is_warned = memory.level is Level.OK and bool(memory.fired)
        return replace(memory, level=Level.WARNED if is_warned else memory.level)
    is_in_band = held_in == period.key and facts.percent >= policy.release_below_percent
    if is_in_band or not facts.can_release:
        return memory
    if held_in is not None and held_in != period.key:
        level = Level.WARNED if memory.fired else Level.OK
        return replace(memory, level=level, level_at=now, why=Why.NEW_PERIOD, held_in=None)
    why = Why.LIMIT_RAISED if is_raised or held_in is None else Why.FELL_BELOW
    return replace(memory, level=Level.RELEASED, level_at=now, why=why, held_in=None)
