"""What a run begins with: use of thirty hours, limits so near or far that the day crosses them, QOS, others' intents."""

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from proctor.domain.agent_protocol import DrainNode, Intent, controller_pk
from tests.simulation.budgets import oracle
from tests.simulation.budgets.billing import Bill
from tests.simulation.budgets.scenario import CLUSTER, PRICE
from tests.simulation.budgets.slurm import FIELDS, PEOPLE, below

if TYPE_CHECKING:
    from tests.simulation.budgets.campus import Campus

NODE = "ip-10-0-0-3"
_USE = (("phys", "gpu", 1.0), ("phys-a", "gpu2", 0.5), ("bio", "gpu", 0.8), ("chem", "dev", 0.5))
_HOURS = 30
_SMALLEST = 600.0


def furnish(campus: "Campus") -> None:
    """Everything that is there before the first event."""
    for account, partition, nodes in _USE:
        for hour in range(1, _HOURS + 1):
            campus.observed.spend_before(account, partition, hour, nodes)
    _limits_of_slurm(campus)
    scenario = campus.scenario
    fraction = scenario.limits.get("cluster", scenario.limits.get("nodes", 0.9))
    for name, unit in (("bill", "MONTHLY"), ("daily", "DAILY")):
        start_at, _ = oracle.calendar(unit, scenario.start_at)
        used = float(campus.observed.cost(start_at, scenario.start_at))
        campus.billing.bills[name] = Bill(name, unit, Decimal(round(max(used, _SMALLEST) / fraction)))
    for name, definition in sorted(scenario.budgets.items()):
        campus.write_budget(name, _with_limit(campus, name, definition))
    campus.commands.remember_admin()
    _other_function(campus)
    campus.agent.start()


def _with_limit(campus: "Campus", name: str, definition: Any) -> dict[str, Any]:
    allocation = definition.get("allocation")
    if allocation is None:
        return dict(definition)
    scenario = campus.scenario
    allocation = dict(allocation)
    if allocation["time_unit"] == "CUSTOM":
        hours = campus.dice.stream("custom").uniform(2, 12)
        allocation["starts_at"] = (scenario.start_at - timedelta(days=20)).isoformat()
        allocation["ends_at"] = (scenario.start_at + timedelta(hours=hours)).isoformat()
    raw = {**definition, "allocation": allocation}
    period = oracle.period_of(raw, scenario.start_at, "")
    start_at = period[0] if period else scenario.start_at
    accounts = below(definition["account"])
    seconds = sum(
        s * PRICE[p]
        for (account, p, hour), s in campus.observed.usage.items()
        if account in accounts and hour >= start_at
    )
    used = max(seconds / 3600, _SMALLEST)
    return {**raw, "allocation": {**allocation, "limit": round(used / scenario.limits.get(name, 0.9))}}


def _limits_of_slurm(campus: "Campus") -> None:
    slurm, scenario = campus.slurm, campus.scenario
    if scenario.voids != "none":
        both = scenario.voids == "both"
        slurm.qos["prio"] = {FIELDS[0]: 50, FIELDS[1]: None, FIELDS[2]: 40 if both else None}
        slurm.usable["bio"] = ("normal", "prio")
    if scenario.own_limits:
        slurm.limits["phys"]["GrpJobs"] = 40
        slurm.limits["bio"]["GrpTRES/node"] = 30
        slurm.conf["gpu"] = slurm.states["gpu"] = "UP"
    assert PEOPLE.keys() <= slurm.limits.keys()


def _other_function(campus: "Campus") -> None:
    """A drain that another function wants: in the same table, and never ours to touch."""
    ends_at = campus.scenario.start_at.replace(microsecond=0) + timedelta(days=30)
    verb = DrainNode(NODE, "i-0a0a0a0a0a0a0a0a0", "proctor: xid 79")
    intent = Intent(controller_pk(CLUSTER), verb, True, "node_health", 1, ends_at)
    campus.intents.items[intent.pk, intent.sk] = intent
