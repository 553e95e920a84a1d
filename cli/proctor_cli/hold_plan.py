"""What an order about a budget comes to: which subjects change, whom else that stops, which ways stay open, what is restored.

Computed from the same reads and rules as the function's, before it is asked.
"""

from collections.abc import Mapping
from typing import Any

from budget_holds.plan import OWNER
from budget_holds.policy import Rule
from budget_holds.previous import previous_of
from budget_holds.snapshot import OrderKind
from proctor.domain.agent_protocol import Verb, intent_sk
from proctor.domain.decision import Mode
from proctor_cli.budget_records import subject_of
from proctor_cli.console import clean, fields, shown_time, table
from proctor_cli.holds_seen import previous_text
from proctor_cli.judgement import Look
from proctor_cli.world import World


def plan_of(name: str, look: Look, world: World) -> dict[str, Any]:
    """The plan of the order that the look was made with."""
    standing, targets = look.standings[name], look.targets[name]
    situation, order = standing.situation, standing.situation.order
    budget = situation.budget
    accounts = look.assessment.tree.below(budget.account) if budget.account is not None else None
    jobs = [
        job
        for job in look.view.slurm.jobs
        if (accounts is None or job.account in accounts)
        and (not budget.partitions or set(budget.partitions) & set(job.partition.split(",")))
    ]
    return {
        "budget": name,
        "cluster": look.cluster,
        "order": order.kind.value if order else None,
        "until_at": order.until_at.isoformat() if order and order.until_at else None,
        "subject": subject_of(budget),
        "level": budget.hold.level.value,
        "state_now": situation.memory.state,
        "state_then": standing.memory.state,
        "is_holding_then": standing.memory.is_holding,
        "targets": [_target(name, verb, look) for verb in targets.verbs],
        "stops_others": list(targets.others),
        "needs_accept_collateral": bool(targets.others) and not budget.hold.accept_collateral,
        "kept_open": list(targets.opened),
        "bypasses": targets.bypasses,
        "problem": targets.problem,
        "pending_jobs": sum(job.state == "PENDING" for job in jobs) if look.is_known else None,
        "running_jobs": sum(job.state == "RUNNING" for job in jobs) if look.is_known else None,
        "slurm": look.since,
        "bounds": _bounds(name, look, world),
    }


def _target(name: str, verb: Verb, look: Look) -> dict[str, Any]:
    sk, view, standing = intent_sk(verb), look.view, look.standings[name]
    stored = view.intents.get(sk)
    is_held = stored is not None and stored.is_held
    others = [other for other in look.really_held(look.holders.get(sk, ())) if other != name]
    previous = previous_of(verb, stored, view.slurm, look.now)
    if stored is None and sk in view.intents:
        change = "left alone: an intent stands there that this version can't read"
    elif stored is not None and stored.owner != OWNER:
        change = f"left alone: it belongs to {stored.owner}"
    elif standing.memory.is_holding:
        change = "is held already" if is_held else "hold"
    elif others:
        change = f"stays held for {', '.join(others)}"
    else:
        change = "release" if is_held else "is not held"
    return {
        "subject": sk,
        "change": change,
        "previous": dict(previous) if previous is not None else None,
        "other_budgets": others,
    }


def _bounds(name: str, look: Look, world: World) -> list[str]:
    """What keeps the order from reaching Slurm, so that nobody takes it for done."""
    found = []
    if world.stack.bound is not Mode.APPLY:
        found.append("the stack's parameter ApplyActions is false: nothing is remembered and nothing is done")
    policy = look.view.policy.policy.mode_of(Rule.HOLD, Mode.APPLY)
    if policy is not Mode.APPLY:
        found.append(f"the policy's mode of holds on {look.cluster} is {policy.value}: Slurm is not touched")
    own = look.situation(name).budget.mode
    if own is not Mode.APPLY:
        found.append(f"the budget's own mode is {own.value}: it holds nothing")
    if look.paused is not None:
        found.append(look.paused_text)
    if look.view.slurm.is_agent_dry_run:
        found.append("the agent is in dry-run: it would hold nothing")
    return found


def plan_text(plan: Mapping[str, Any], world: World) -> str:
    """The plan for people."""
    others = ", ".join(plan["stops_others"]) or "nobody else"
    if plan["needs_accept_collateral"]:
        others += "; so it holds nothing before hold.accept_collateral is true in its definition"
    pairs: list[tuple[str, object]] = [
        ("governs", f"{plan['subject']}; level {plan['level']}"),
        ("state", f"{plan['state_now'].upper()} → {plan['state_then'].upper()}"),
        ("until", shown_time(plan["until_at"]) if plan["until_at"] else _until(plan)),
    ]
    if plan["is_holding_then"]:
        pairs += [("also stops", f"{others} within budget"), ("ways around", plan["bypasses"])]
    if plan["kept_open"]:
        pairs.append(("left open", f"{', '.join(plan['kept_open'])}, by exemptions"))
    if plan["problem"]:
        pairs.append(("can't be held", plan["problem"]))
    if plan["pending_jobs"] is not None:
        jobs = f"{plan['pending_jobs']} pending, {plan['running_jobs']} running; running ones go on"
        pairs.append(("jobs", jobs))
    pairs.append(("Slurm", plan["slurm"]))
    parts = [world.console.heading(f"Plan for budget {plan['budget']} on {plan['cluster']}"), fields(pairs)]
    if plan["targets"]:
        rows = [
            (t["subject"].replace("#", " ", 1), t["change"], previous_text(t["previous"]))
            for t in plan["targets"]
        ]
        parts += ["", table(("SUBJECT", "CHANGE", "BEFORE THE HOLD"), rows)]
    parts += [clean(f"Bounded: {bound}.") for bound in plan["bounds"]]
    return "\n".join(parts)


def _until(plan: Mapping[str, Any]) -> str:
    match plan["order"]:
        case OrderKind.HOLD.value:
            return "it is released"
        case OrderKind.RELEASE.value:
            return "the period ends or the limit changes"
        case _:
            return "the period ends"
