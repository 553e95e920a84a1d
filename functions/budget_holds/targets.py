"""From a budget to what has to be held in Slurm, whom else that stops, and which ways around it stay open.

The agent's verbs hold whole accounts, partitions or nodes. An exemption therefore opens the smallest accounts that contain it:
an exempt account itself, the accounts a person is in, the accounts that may use a QOS. What is held instead are the parts of
the account's tree without an open one.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime

from budget_holds.definition import BudgetDefinition, HoldLevel
from budget_holds.snapshot import ClusterView, Situation
from proctor.domain.agent_protocol import (
    LimitAccount,
    LimitPartitionQos,
    ReserveNodes,
    SetPartitionState,
    Verb,
)
from proctor.domain.budgets_exemptions import BudgetExemption, ExemptKind, binding
from proctor.domain.slurm_state import ROOT, AccountTree

BUILT_IN = "dev"
"""HyperPod's partition that has every node."""

_NOT_SLUG = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What one budget's hold comes to.

    `problem` says what of it, or all of it, can't be held, so that a person has to look. `is_complete` is false when Slurm is
    unknown. `others` are accounts within their budgets that stop too, `opened` accounts kept open by exemptions. `bypasses`
    is a sentence on `dev` and multi-partition submission.
    """

    verbs: tuple[Verb, ...] = ()
    problem: str = ""
    is_complete: bool = True
    others: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    bypasses: str = ""


def targets_of(situation: Situation, view: ClusterView, tree: AccountTree, now: datetime) -> Targets:
    """What would have to be held for this budget."""
    budget = situation.budget
    exemptions = binding(view.exemptions, view.cluster, now)
    is_known = view.slurm.is_fresh(now)
    if budget.hold.level is HoldLevel.ACCOUNT:
        return _accounts(budget, exemptions, tree, is_known=is_known)
    return _places(budget, view, exemptions, tree, is_known=is_known)


def opened_accounts(exemptions: tuple[BudgetExemption, ...], tree: AccountTree) -> set[str]:
    """Accounts that exemptions keep open."""
    found: set[str] = set()
    for row in exemptions:
        match row.kind:
            case ExemptKind.ACCOUNT:
                found.add(row.name)
            case ExemptKind.PERSON:
                found |= tree.accounts_of(row.name)
            case ExemptKind.QOS:
                found |= tree.accounts_with_qos(row.name)
    return found


def _accounts(
    budget: BudgetDefinition, exemptions: tuple[BudgetExemption, ...], tree: AccountTree, *, is_known: bool
) -> Targets:
    bypasses = (
        "dev: closed; submission to several partitions: closed (limits of an account hold in every partition)"
    )
    if not is_known and (budget.account is None or exemptions):
        return Targets(is_complete=False, bypasses=bypasses)
    opened = opened_accounts(exemptions, tree)
    roots = [budget.account] if budget.account is not None else tree.children(ROOT)
    names = [name for root in roots for name in _cover(root, opened, tree)]
    in_scope = {name for root in roots for name in tree.below(root)}
    kept_open = opened & in_scope
    for root in roots:
        if opened & (tree.above(root) - {root}):
            names = [name for name in names if name not in tree.below(root)]
            kept_open |= {root}
    return Targets(
        verbs=tuple(LimitAccount(name, budget.hold.refuse) for name in names),
        opened=tuple(sorted(kept_open)),
        bypasses=bypasses,
    )


def _cover(account: str, opened: set[str], tree: AccountTree) -> list[str]:
    """The fewest accounts whose limits hold everything under `account` but the opened ones and what is under those."""
    if account in opened:
        return []
    if opened.isdisjoint(tree.below(account)):
        return [account]
    return [name for child in tree.children(account) for name in _cover(child, opened, tree)]


def _places(
    budget: BudgetDefinition,
    view: ClusterView,
    exemptions: tuple[BudgetExemption, ...],
    tree: AccountTree,
    *,
    is_known: bool,
) -> Targets:
    partitions = budget.partitions or _all_partitions(budget, view)
    bypasses = _bypasses(budget, view, partitions)
    if not is_known and (not budget.partitions or not budget.hold.accept_collateral or exemptions):
        return Targets(is_complete=False, bypasses=bypasses)
    if not is_known and budget.hold.level is HoldLevel.PARTITION_QOS:
        return Targets(is_complete=False, bypasses=bypasses)
    others = _others(budget, tree)
    if stopped := opened_accounts(exemptions, tree) & set(tree.names):
        names = _listed(sorted(stopped))
        problem = f"exempt accounts would be stopped too ({names}); end the exemptions or use level account"
        return Targets(problem=problem, others=others, bypasses=bypasses)
    if others and not budget.hold.accept_collateral:
        level = budget.hold.level.value
        problem = (
            f"level {level} also stops {_listed(others)}; set hold.accept_collateral true to accept that"
        )
        return Targets(problem=problem, others=others, bypasses=bypasses)
    found = [_verb(budget, name, view, is_known=is_known) for name in partitions]
    problems = [verb for verb in found if isinstance(verb, str)] if found else ["Slurm shows no partition"]
    return Targets(
        verbs=tuple(verb for verb in found if not isinstance(verb, str)),
        problem="; ".join(problems),
        others=others,
        bypasses=bypasses,
    )


def _verb(budget: BudgetDefinition, partition: str, view: ClusterView, *, is_known: bool) -> Verb | str:
    """The verb for one partition, or why there is none."""
    seen = view.slurm.partitions.get(partition)
    if is_known and seen is None:
        return f"Slurm has no partition {partition}"
    match budget.hold.level:
        case HoldLevel.PARTITION:
            return SetPartitionState(partition, budget.hold.partition_state)
        case HoldLevel.NODES:
            return ReserveNodes(reservation_name(partition), partition)
        case _:
            if seen is None or not seen.qos:
                return f"partition {partition} has no QOS= on its line, so level partition_qos can't hold it"
            return LimitPartitionQos(partition, seen.qos)


def reservation_name(partition: str) -> str:
    """A reservation's name for a partition: readable, and different for names that differ in more than case."""
    digest = hashlib.sha256(partition.encode()).hexdigest()[:6]
    slug = _NOT_SLUG.sub("-", partition.lower()).strip("-")[:30] or "p"
    return f"proctor-hold-{slug}-{digest}"


def _all_partitions(budget: BudgetDefinition, view: ClusterView) -> tuple[str, ...]:
    """The whole cluster: every partition; for nodes the one with the most nodes, since reservations take nodes."""
    seen = view.slurm.partitions
    if budget.hold.level is HoldLevel.NODES and seen:
        return (max(sorted(seen), key=lambda name: seen[name].total_nodes),)
    return tuple(sorted(seen))


def _others(budget: BudgetDefinition, tree: AccountTree) -> tuple[str, ...]:
    own = tree.below(budget.account) if budget.account is not None else set()
    if budget.is_whole_cluster:
        return ()
    return tuple(sorted(name for name in tree.names if name not in own and tree.people([name])))


def _bypasses(budget: BudgetDefinition, view: ClusterView, partitions: tuple[str, ...]) -> str:
    seen = set(view.slurm.partitions)
    is_everything = bool(seen) and seen <= set(partitions)
    has_dev = BUILT_IN in seen or not seen
    if budget.hold.level is HoldLevel.NODES:
        nodes = "on the reserved nodes" if not budget.is_whole_cluster else "everywhere"
        return f"dev: closed {nodes}; submission to several partitions: open for nodes that are not reserved"
    dev = "closed" if not has_dev or BUILT_IN in partitions else "open (`-p dev` reaches the same nodes)"
    several = "closed" if is_everything else "open (`sbatch -p held,other`, or moving a pending job)"
    return f"dev: {dev}; submission to several partitions: {several}"


def _listed(names: tuple[str, ...] | list[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(names[:12]) + more
