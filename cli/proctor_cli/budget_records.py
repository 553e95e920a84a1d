"""One budget as data: its period, its three numbers with their age, its state, what it holds, and when it lets go next.

Numbers are computed now. Where that can't be done they are those of the latest verdict, and said to be.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from budget_holds import wording
from budget_holds.definition import BudgetDefinition
from budget_holds.facts import Facts, Found
from budget_holds.policy import Rule
from budget_holds.states import Standing
from proctor.domain.agent_protocol import intent_sk
from proctor.domain.budgets_memory import BudgetMemory, HandKind
from proctor.domain.money import Money
from proctor_cli.amounts import exact, parsed
from proctor_cli.holds_seen import HoldSeen
from proctor_cli.judgement import Look
from proctor_cli.why_session import inputs_of

_NUMBERS = ("limit", "settled", "in_flight", "committed")


def record_of(
    name: str, look: Look, holds: Iterable[HoldSeen], verdict: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Everything about one budget. `verdict` is its latest, None when there is none or it was not read."""
    standing, memory = look.standings[name], look.situation(name).memory
    budget, targets = look.situation(name).budget, look.targets[name]
    mine = {intent_sk(verb) for verb in targets.verbs}
    now = replace(standing, memory=memory)
    return {
        "budget": name,
        "cluster": look.cluster,
        "subject": subject_of(budget),
        "owner": budget.owner,
        "level": budget.hold.level.value,
        "mode": look.assessment.mode_of(standing.situation, Rule.HOLD).value,
        "period": _period(standing),
        "numbers": _numbers(standing, look, verdict),
        "remark": standing.remark,
        "state": memory.state,
        "state_text": wording.state(now),
        "next_state": standing.memory.state if _changes(standing) else None,
        "is_holding": memory.is_holding,
        "holds": [h.as_record() for h in holds if h.sk in mine] if memory.is_holding else [],
        "next_release_at": _iso(next_release_at(memory)),
        "released_when": wording.releases(now, look.view.policy.policy) if memory.is_holding else "",
        "stops_others": list(targets.others),
        "kept_open": list(targets.opened),
        "bypasses": targets.bypasses,
        "problem": targets.problem,
        "definition_version": standing.situation.definition.version,
        "decided_at": verdict.get("decided_at") if verdict else None,
    }


def subject_of(budget: BudgetDefinition) -> str:
    """Whom a budget governs, for people."""
    if budget.account is not None:
        return f"account {budget.account} and its children"
    if budget.partitions:
        return f"partitions {', '.join(budget.partitions)}"
    return "the whole cluster"


def next_release_at(memory: BudgetMemory) -> datetime | None:
    """When a hold ends if nothing else happens; None for a budget that holds nothing, or holds until it is told."""
    if not memory.is_holding:
        return None
    if memory.hand is not None and memory.hand.kind is HandKind.HOLD:
        return memory.hand.until_at
    return memory.period.end_at if memory.period is not None else None


def _changes(standing: Standing) -> bool:
    old, new = standing.situation.memory, standing.memory
    return (old.state, old.is_holding) != (new.state, new.is_holding)


def _period(standing: Standing) -> dict[str, str] | None:
    finding = standing.finding
    period = finding.period if isinstance(finding, Found) else standing.situation.memory.period
    if period is None:
        return None
    return {"start_at": period.start_at.isoformat(), "end_at": period.end_at.isoformat()}


def _numbers(standing: Standing, look: Look, verdict: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if standing.facts is not None:
        return _from_facts(standing, standing.facts, look)
    inputs = inputs_of(verdict) if verdict is not None else {}
    if "settled" not in inputs or verdict is None:
        return None
    amounts = {name: _parsed(inputs.get(name)) for name in _NUMBERS}
    decided_at = datetime.fromisoformat(str(verdict["decided_at"]))
    return {
        **{name: amount for name, (amount, _) in amounts.items()},
        "currency": amounts["settled"][1],
        "percent": inputs.get("percent"),
        "settled_as_of_at": inputs.get("as_of_at"),
        "slurm_as_of_at": decided_at.isoformat(),
        "age_seconds": int((look.now - decided_at).total_seconds()),
        "source": "verdict",
        "text": f"as decided at {decided_at:%Y-%m-%d %H:%M} UTC: settled {inputs['settled']}, in flight "
        f"{_or_unknown(inputs.get('in_flight'))}, committed at most {_or_unknown(inputs.get('committed'))}, "
        f"limit {_or_unknown(inputs.get('limit'))}",
    }


def _from_facts(standing: Standing, facts: Facts, look: Look) -> dict[str, Any]:
    seen_at = look.view.slurm.seen_at
    # An allocation's settled use is Slurm's own, so it is as old as what the agent saw.
    is_allocation = standing.situation.budget.allocation is not None
    settled_at = min(facts.as_of_at, seen_at) if is_allocation and seen_at else facts.as_of_at
    has_slurm = facts.in_flight is not None
    oldest_at = min(settled_at, seen_at) if has_slurm and seen_at else settled_at
    return {
        "limit": _amount(facts.limit),
        "settled": _amount(facts.settled),
        "in_flight": _amount(facts.in_flight),
        "committed": _amount(facts.committed),
        "currency": facts.limit.currency,
        "percent": exact(facts.percent),
        "settled_as_of_at": settled_at.isoformat(),
        "slurm_as_of_at": seen_at.isoformat() if has_slurm and seen_at else None,
        "age_seconds": max(0, int((look.now - oldest_at).total_seconds())),
        "source": "now",
        "text": wording.numbers(standing),
    }


def _amount(money: Money | None) -> str | None:
    return exact(money.amount) if money is not None else None


def _parsed(text: object) -> tuple[str | None, str | None]:
    """An amount as verdicts hold it, `4,100.00 USD`."""
    said, _, currency = str(text).rpartition(" ")
    amount = parsed(said.replace(",", ""))
    return (exact(amount), currency) if amount is not None else (None, None)


def _or_unknown(text: object) -> str:
    return str(text) if text not in (None, "None") else "unknown"


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at is not None else None
