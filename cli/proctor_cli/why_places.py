"""`proctor why account` and `proctor why partition`: what holds it, which budget, its three numbers, what would release it."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from proctor.domain.agent_protocol import ObservedPartition
from proctor.domain.errors import NotFoundError, TransientError
from proctor.domain.slurm_state import ROOT
from proctor_cli.console import fields
from proctor_cli.exits import Exit
from proctor_cli.holds_seen import HoldSeen, holds_of, on_account, on_partition
from proctor_cli.judgement import Look, look_at
from proctor_cli.why_holds import (
    budgets_behind,
    budgets_text,
    conclusion,
    holds_text,
    only,
    verdicts_on,
    verdicts_text,
)
from proctor_cli.world import World


def account(args: argparse.Namespace, world: World) -> Exit:
    """Print what holds a Slurm account. Raises NotFoundError, TransientError while Slurm's accounts are unknown."""
    name = args.account
    looks = look_at(world, args.cluster)
    look = _knowing(looks, f"account {name}", [x for x in looks if _has_account(x, name)])
    tree = look.assessment.tree
    holds = on_account(holds_of(look), look, name)
    limits = look.view.slurm.limits
    facts: dict[str, Any] = {
        "accounts_above": sorted(tree.above(name) - {name, ROOT}),
        "accounts_below": sorted(tree.below(name) - {name}),
        "do_limits_bind": limits.do_limits_bind if limits and look.is_known else None,
        **_jobs(look, accounts=tree.below(name)),
    }
    shown = [
        (
            "above it",
            "nothing: it is the top" if name == ROOT else ", ".join(facts["accounts_above"]) or "root only",
        ),
        ("below it", ", ".join(facts["accounts_below"]) or "none"),
        ("limits bind", facts["do_limits_bind"]),
        ("jobs", facts["jobs_text"]),
    ]
    budgets = budgets_behind(look, holds, world, account=name, partitions=())
    return _answer(("account", name), look, holds, (facts, shown, budgets), world)


def partition(args: argparse.Namespace, world: World) -> Exit:
    """Print what holds a partition. Raises NotFoundError, TransientError while Slurm's partitions are unknown."""
    name = args.partition
    looks = look_at(world, args.cluster)
    look = _knowing(looks, f"partition {name}", [x for x in looks if _has_partition(x, name)])
    holds = on_partition(holds_of(look), look, name)
    seen = look.view.slurm.partitions.get(name) if look.is_known else None
    facts: dict[str, Any] = {
        "slurm_state": seen.state if seen else None,
        "nodes": seen.nodes if seen else None,
        "qos": seen.qos if seen else None,
        **_jobs(look, partition=name),
    }
    shown = [
        ("State", f"{seen.state}{_whose(seen, holds)}" if seen else "unknown"),
        ("nodes", f"{seen.total_nodes}: {seen.nodes}" if seen else "unknown"),
        ("jobs", facts["jobs_text"]),
    ]
    budgets = budgets_behind(look, holds, world, account=None, partitions=(name,))
    return _answer(("partition", name), look, holds, (facts, shown, budgets), world)


def _answer(
    what: tuple[str, str],
    look: Look,
    holds: Sequence[HoldSeen],
    found: tuple[Mapping[str, Any], Sequence[tuple[str, object]], list[dict[str, Any]]],
    world: World,
) -> Exit:
    facts, shown, budgets = found
    (kind, name), (code, sentence) = what, conclusion(holds, look)
    verdicts = verdicts_on(look, holds, world)
    data = {
        "kind": kind,
        "name": name,
        "cluster": look.cluster,
        "conclusion": code,
        "text": sentence,
        "slurm": {"is_known": look.is_known, "text": look.since},
        **{key: value for key, value in facts.items() if key != "jobs_text"},
        "holds": [h.as_record() for h in holds],
        "budgets": budgets,
        "verdicts": verdicts,
    }
    heading = world.console.heading
    parts = [
        heading(f"{kind.capitalize()} {name} on {look.cluster}"),
        fields([("it is", sentence), ("Slurm", look.since), *shown]),
        "",
        heading("Holds"),
        holds_text(holds),
        *budgets_text(budgets, world),
        *verdicts_text(verdicts, world),
    ]
    world.console.answer(data, "\n".join(parts))
    return Exit.OK


def _whose(seen: ObservedPartition, holds: Sequence[HoldSeen]) -> str:
    """Whose state it is, when it is not UP."""
    is_ours = any(h.sk == f"partition#{seen.name}" for h in holds)
    return "" if seen.state == "UP" or is_ours else " (set by somebody else, not by Proctor)"


def _jobs(look: Look, *, accounts: set[str] | None = None, partition: str | None = None) -> dict[str, Any]:
    if not look.is_known:
        return {"pending_jobs": None, "running_jobs": None, "jobs_text": "unknown"}
    mine = [
        job
        for job in look.view.slurm.jobs
        if (accounts is None or job.account in accounts)
        and (partition is None or partition in job.partition.split(","))
    ]
    pending = sum(job.state == "PENDING" for job in mine)
    running = sum(job.state == "RUNNING" for job in mine)
    return {
        "pending_jobs": pending,
        "running_jobs": running,
        "jobs_text": f"{pending} pending, {running} running",
    }


def _has_account(look: Look, name: str) -> bool:
    is_defined = any(s.situation.budget.account == name for s in look.standings.values())
    return (
        name == ROOT
        or name in look.assessment.tree.names
        or is_defined
        or f"account#{name}" in look.view.intents
    )


def _has_partition(look: Look, name: str) -> bool:
    is_defined = any(name in s.situation.budget.partitions for s in look.standings.values())
    return name in look.view.slurm.partitions or is_defined or f"partition#{name}" in look.view.intents


def _knowing(looks: Sequence[Look], what: str, found: Sequence[Look]) -> Look:
    if found:
        return only(found, what)
    if silent := [x for x in looks if not x.is_known]:
        raise TransientError(f"{what}: Slurm on {silent[0].cluster} is {silent[0].since}")
    names = ", ".join(x.cluster for x in looks)
    raise NotFoundError(f"{what}: Slurm on {names} has none of that name, and no budget names it")
