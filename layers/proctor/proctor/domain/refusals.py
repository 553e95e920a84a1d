"""When an evaluation must do nothing. Guardrails fail closed: no action is done, and an alarm says so."""

from collections import Counter
from collections.abc import Collection, Sequence

from proctor.domain.decision import Decision, Mode, Verdict
from proctor.domain.guardrails import SHARE, Guardrails


def refusals(decision: Decision, lifted: Collection[str] = ()) -> dict[str, str]:
    """Cluster → why nothing may be done there. `lifted` names limits that a break-glass request lifts."""
    found: dict[str, str] = {}
    for cluster, verdicts in _acting_by_cluster(decision).items():
        rails = decision.rails.get(cluster)
        if rails is None:
            found[cluster] = "no guardrails are known for this cluster"
        elif why := _refusal(verdicts, decision.considered.get(cluster, 0), rails, lifted):
            found[cluster] = why
    return found


def is_protected(verdict: Verdict, rails: Guardrails) -> bool:
    """Whether a verdict's action touches a protected subject; nothing lifts this."""
    return verdict.action is not None and not rails.protected_subjects.isdisjoint(verdict.action.touches)


def _acting_by_cluster(decision: Decision) -> dict[str, list[Verdict]]:
    by_cluster: dict[str, list[Verdict]] = {}
    for verdict in decision.verdicts:
        is_act = verdict.action is not None and verdict.action.budget and not verdict.is_closing
        if is_act and verdict.mode is Mode.APPLY:
            by_cluster.setdefault(verdict.cluster, []).append(verdict)
    return by_cluster


def _refusal(
    verdicts: Sequence[Verdict], considered: int, rails: Guardrails, lifted: Collection[str]
) -> str | None:
    counts = Counter(v.action.budget for v in verdicts if v.action and v.action.budget)
    for name, count in sorted(counts.items()):
        budget = rails.budgets.get(name)
        if budget is None:
            return f"the policy's guardrails hold no budget for {name}"
        if count > budget.per_run and name not in lifted:
            return f"{count} {name} in one run exceed the {budget.per_run} that are plausible"
    hit = sum(1 for v in verdicts if v.rule in rails.share_rules)
    if hit and considered >= rails.share_floor and SHARE not in lifted:
        share = 100 * hit // considered
        if share > rails.max_share_percent:
            return f"{hit} of {considered} subjects would be hit ({share} %, at most {rails.max_share_percent} %)"
    return None
