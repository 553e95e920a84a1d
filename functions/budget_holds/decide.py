"""Snapshot → Decision for budget_holds. Pure: reads no clock, calls nothing, logs nothing.

For each cluster: judge every budget that is asked about, remember, tell; then compare all holds that its budgets want with the
intents that stand. The paths differ only in how much they were shown.
"""

from budget_holds import wording
from budget_holds.alarms import about_cluster, about_numbers
from budget_holds.assess import NOT_ASKED, Assessment, assess
from budget_holds.facts import Found
from budget_holds.gone import gone_cases
from budget_holds.holds import hold_cases
from budget_holds.housekeeping import policy_cases, scope_cases
from budget_holds.notices import about_budget
from budget_holds.policy import Rule
from budget_holds.snapshot import ClusterView, OrderKind, Snapshot
from budget_holds.states import Standing
from proctor.domain.budgets_memory import BudgetMemory
from proctor.domain.decision import Case, Decision, MemoryWrite, Mode, Verdict


def decide(snapshot: Snapshot) -> Decision:
    """Everything this evaluation concludes: budgets first, so that what they remember is in place before anything is held."""
    cases: list[Case] = []
    for view in snapshot.clusters:
        cases += cluster_cases(view, snapshot)
    cases += [*scope_cases(snapshot), *policy_cases(snapshot)]
    return Decision(
        cases=tuple(cases),
        rails={view.cluster: view.policy.policy.rails() for view in snapshot.clusters},
        considered={view.cluster: len(view.situations) for view in snapshot.clusters},
    )


def cluster_cases(view: ClusterView, snapshot: Snapshot) -> list[Case]:
    """All cases of one cluster."""
    assessment = assess(view, snapshot.now, snapshot.bound)
    budgets = [
        _budget_case(standing, assessment, snapshot)
        for standing in assessment.standings
        if standing.reason != NOT_ASKED
    ]
    return [
        *budgets,
        *gone_cases(view, snapshot),
        *hold_cases(assessment, snapshot),
        *about_cluster(assessment, snapshot),
    ]


def _budget_case(standing: Standing, assessment: Assessment, snapshot: Snapshot) -> Case:
    situation = standing.situation
    verdicts = [
        _verdict(standing, assessment),
        *about_budget(standing, assessment, snapshot),
        *about_numbers(standing, assessment, snapshot),
    ]
    memory: MemoryWrite | None = None
    if standing.is_changed and not snapshot.is_rehearsal and situation.budget.mode is not Mode.OFF:
        memory = MemoryWrite(
            subject=situation.memory_subject, data=standing.memory, expected_rev=situation.memory.rev
        )
    return Case(subject=situation.subject, verdicts=tuple(verdicts), memory=memory)


def _verdict(standing: Standing, assessment: Assessment) -> Verdict:
    situation, memory = standing.situation, standing.memory
    targets = assessment.targets.get(situation.name)
    parts = [f"{wording.state(standing)}. {wording.numbers(standing)}."]
    if standing.remark and standing.facts is not None:
        parts.append(f"{standing.remark}.")
    if order := _order_text(standing):
        parts.append(order)
    if memory.is_holding and targets is not None:
        parts += [wording.releases(standing, assessment.view.policy.policy), wording.reach(targets)]
    old = situation.memory
    return Verdict(
        subject=situation.subject,
        cluster=situation.cluster,
        rule=Rule.BUDGET.value,
        reason=standing.reason,
        text=" ".join(parts),
        mode=assessment.mode_of(situation, Rule.HOLD),
        policy_version=situation.definition.version,
        inputs=_inputs(standing),
        news=_news(memory),
        is_known=situation.order is None and _news(old) == _news(memory) and standing.reason == memory.state,
    )


def _news(memory: BudgetMemory) -> str:
    """What people would want to read again: state and its reason, order and period; not the figures."""
    hand, period = memory.hand, memory.period
    order = f"{hand.kind.value} by {hand.by} at {hand.at.isoformat()} until {hand.until_at}" if hand else ""
    why = memory.why.value if memory.why else ""
    return f"{memory.level.value} {why} {memory.doubt or ''} {order} {period.key if period else ''}"


def _order_text(standing: Standing) -> str:
    order = standing.situation.order
    if order is None:
        return ""
    if order.kind is not OrderKind.APPROVE:
        is_idle = order.kind is OrderKind.RELEASE and not standing.situation.memory.is_holding
        return f"{order.kind.value} was ordered by {order.by}.{' It held nothing.' if is_idle else ''}"
    before, after = standing.situation.memory.doubt, standing.memory.doubt
    if before is None and after is None:
        return "Nothing waits for an approval."
    if after is not None:
        return f"The doubt {after.value} can't be approved away."
    return f"The numbers were approved by {order.by}."


def _inputs(standing: Standing) -> dict[str, object]:
    """The facts behind a verdict, frozen into its record."""
    facts, memory, finding = standing.facts, standing.memory, standing.finding
    found: dict[str, object] = {
        "memory_rev": standing.situation.memory.rev,
        "fired": sorted(memory.fired),
        "trusted": str(memory.trusted) if memory.trusted else None,
        "most_nodes": memory.most_nodes,
    }
    if isinstance(finding, Found):
        found["period"] = [finding.period.start_at.isoformat(), finding.period.end_at.isoformat()]
    if facts is not None:
        found |= {
            "limit": str(facts.limit),
            "settled": str(facts.settled),
            "in_flight": str(facts.in_flight),
            "committed": str(facts.committed),
            "forecast": str(facts.forecast),
            "factor": str(facts.factor),
            "idle": str(facts.idle),
            "settled_to_at": facts.settled_to_at.isoformat(),
            "as_of_at": facts.as_of_at.isoformat(),
            "alert_percent": str(facts.alert_percent),
            "percent": str(round(facts.percent, 2)),
        }
    return found
