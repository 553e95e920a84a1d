"""Sentences about a budget for people: the three numbers with their ages, what is held and why, and what would release it."""

from budget_holds.facts import Facts, Found
from budget_holds.policy import BudgetHoldsPolicy
from budget_holds.states import Standing
from budget_holds.targets import Targets
from proctor.domain.budgets_memory import HandKind, Why
from proctor.domain.money import Money

WHY = {
    Why.LIMIT_REACHED: "the limit is reached",
    Why.FELL_BELOW: "the spend fell below the release mark",
    Why.LIMIT_RAISED: "the limit was raised",
    Why.NEW_PERIOD: "a new period began",
    Why.BY_HAND: "an operator ordered it",
    Why.ORDER_LAPSED: "an operator's order ended",
    Why.ENDED: "the budget is no longer in force",
}


def numbers(standing: Standing) -> str:
    """Settled, in flight and committed against the limit, each with what it covers; why not, when they are unknown."""
    facts, finding = standing.facts, standing.finding
    if facts is None or not isinstance(finding, Found):
        return standing.remark or "the numbers are not known"
    period = f"from {finding.period.start_at:%Y-%m-%d} to {finding.period.end_at:%Y-%m-%d %H:%M} UTC"
    parts = [
        f"{facts.percent:.1f} % of {facts.limit} spent {period}",
        f"settled {facts.settled} up to {facts.settled_to_at:%Y-%m-%d %H:%M} UTC (numbers of {facts.as_of_at:%Y-%m-%d %H:%M})",
        f"in flight {_or_unknown(facts.in_flight)}",
        f"committed at most {_or_unknown(facts.committed)}",
        *_extras(facts),
    ]
    return "; ".join(parts)


def _extras(facts: Facts) -> list[str]:
    found = []
    if facts.forecast is not None:
        found.append(f"forecast {facts.forecast}")
    if facts.idle is not None:
        found.append(f"bill ÷ metered {facts.factor:.3f}, unallocated idle {facts.idle}")
    if facts.credits is not None:
        found.append(f"credits {facts.credits} (not taken off)")
    if facts.is_net:
        found.append("AWS takes credits or refunds off this budget, so the gross spend is higher")
    return found


def _or_unknown(money: Money | None) -> str:
    return str(money) if money is not None else "unknown"


def state(standing: Standing) -> str:
    """The state in words."""
    memory = standing.memory
    said = memory.level.value.upper()
    if memory.doubt is not None:
        said = f"NEEDS_HUMAN ({memory.doubt.value}); stays {said}"
    if memory.why is not None and memory.level_at is not None:
        said += f" since {memory.level_at:%Y-%m-%d %H:%M} UTC: {WHY[memory.why]}"
    if memory.hand is not None:
        order = "hold" if memory.hand.kind is HandKind.HOLD else "release"
        until = f"{memory.hand.until_at:%Y-%m-%d %H:%M} UTC" if memory.hand.until_at else "the period ends"
        if memory.hand.until_at is None and memory.hand.kind is HandKind.HOLD:
            until = "it is released"
        said += f"; {order} by hand of {memory.hand.by} until {until}"
    return said


def releases(standing: Standing, policy: BudgetHoldsPolicy) -> str:
    """What would release the hold."""
    ways = []
    if standing.memory.hand is not None:
        until = standing.memory.hand.until_at
        ways.append(f"at {until:%Y-%m-%d %H:%M} UTC" if until else "when an operator releases it")
    else:
        if standing.memory.period is not None:
            ways.append(f"when the new period begins on {standing.memory.period.end_at:%Y-%m-%d %H:%M} UTC")
        ways.append("when the limit is raised")
        ways.append(f"when the spend is under {policy.release_below_percent} % of the limit")
    return "It is released " + ", or ".join(ways) + "."


def reach(targets: Targets) -> str:
    """Whom and what a hold reaches: others it stops, accounts left open, ways around it."""
    parts = [f"Ways around it: {targets.bypasses}."]
    if targets.others:
        parts.append(f"It also stops accounts within their budgets: {listed(targets.others)}.")
    if targets.opened:
        parts.append(f"Left open by exemptions: {listed(targets.opened)}.")
    if targets.problem:
        parts.append(f"Not held: {targets.problem}.")
    return " ".join(parts)


def listed(names: tuple[str, ...] | list[str]) -> str:
    """At most twenty names."""
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return ", ".join(names[:20]) + more
