"""What one seed of the budgets stands for: budgets, faults, gaps of the agent, people's doings. Each part can be left out."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from random import Random
from typing import Any

from tests.simulation.core.dice import Dice
from tests.simulation.core.faults import FaultRates
from tests.simulation.core.queueing import Delivery

CLUSTER = "alpha"
HOUR = 3600.0
PRICE = {"gpu": 100, "gpu2": 60, "dev": 100}
"""USD per node-hour by partition."""

POLICY: dict[str, Any] = {
    "mode": "apply",
    "rates": {
        "node_hour": {"ml.p5.48xlarge": 100, "ml.g5.48xlarge": 60},
        "partitions": {"gpu": "ml.p5.48xlarge", "gpu2": "ml.g5.48xlarge", "dev": "ml.p5.48xlarge"},
    },
}
STARTS = (
    datetime(2028, 2, 28, 19, 0, tzinfo=UTC),
    datetime(2028, 2, 29, 20, 0, tzinfo=UTC),
    datetime(2027, 2, 28, 20, 0, tzinfo=UTC),
    datetime(2026, 12, 31, 20, 0, tzinfo=UTC),
    datetime(2027, 3, 31, 19, 0, tzinfo=UTC),
    datetime(2026, 9, 15, 9, 0, tzinfo=UTC),
    datetime(2026, 10, 24, 21, 0, tzinfo=UTC),
)
"""Leap day, month, quarter and year ends, a day like any other, and the night when summer time ends in Europe."""

ODD_BILLS = ("jump", "shrink", "stale", "unhealthy", "currency", "missing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """All knobs. Spans in seconds of true time since the start; clock excursions as (from, to, offset)."""

    seed: int
    start_at: datetime = STARTS[5]
    active_seconds: float = 6.2 * HOUR
    quiet_seconds: float = 1.4 * HOUR
    rates: FaultRates = field(default_factory=FaultRates)
    delivery: Delivery = field(default_factory=Delivery)
    excursions: tuple[tuple[float, float, float], ...] = ()
    budgets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)
    odd_bills: tuple[tuple[str, float, float], ...] = ()
    noise: float = 0.0
    orders: tuple[tuple[float, str, str, float | None], ...] = ()
    disturbances: tuple[tuple[float, str], ...] = ()
    agent_gaps: tuple[tuple[str, float, float], ...] = ()
    pause: tuple[float, float] | None = None
    dry_run: tuple[float, float] | None = None
    exemption: tuple[float, float, str, str] | None = None
    raised: tuple[float, str] | None = None
    voids: str = "none"
    report_delay: float = 5.0
    own_limits: bool = False
    is_enforced: bool = True

    @property
    def end_seconds(self) -> float:
        """When the run is over."""
        return self.active_seconds + self.quiet_seconds


def draw_scenario(seed: int) -> Scenario:
    """The scenario of a seed."""
    dice = Dice(seed)
    chance = dice.stream("scenario")
    budgets = draw_budgets(dice.stream("budgets"))
    return Scenario(
        seed=seed,
        start_at=chance.choice(STARTS),
        rates=_rates(chance),
        delivery=_delivery(chance),
        excursions=_excursions(chance),
        budgets=budgets,
        limits={name: chance.choice([0.7, 0.96, 1.005, 1.03, 1.3]) for name in sorted(budgets)},
        odd_bills=_odd_bills(chance),
        noise=chance.choice([0.0, 0.01, 0.03]),
        orders=_orders(dice.stream("orders"), sorted(budgets)),
        disturbances=_disturbances(dice.stream("disturbances")),
        agent_gaps=_gaps(dice.stream("gaps")),
        pause=_span(chance, 0.12),
        dry_run=_span(chance, 0.12),
        exemption=_exemption(chance),
        raised=(chance.uniform(1, 5.5) * HOUR, chance.choice(sorted(budgets)))
        if chance.random() < 0.2
        else None,
        voids=chance.choice(["none", "none", "jobs", "both"]),
        report_delay=chance.choice([1.0, 5.0, 60.0]),
        own_limits=chance.random() < 0.4,
        is_enforced=chance.random() > 0.06,
    )


def draw_budgets(chance: Random) -> dict[str, dict[str, Any]]:
    """Definitions; an allocation's limit and the bills' limits follow from what has been used when the day begins."""
    refuse = chance.random() < 0.3
    unit = chance.choice(["DAILY", "MONTHLY", "QUARTERLY", "ANNUALLY", "CUSTOM"])
    phys = {
        "account": "phys",
        "owner": "ada",
        "hold": {"refuse": refuse},
        "allocation": {"time_unit": "MONTHLY"},
    }
    if chance.random() < 0.4:
        phys["allocation"] = {"time_unit": "MONTHLY", "bill": "bill"}
    if chance.random() < 0.4:
        phys["allocation"] = {**phys["allocation"], "credits": 4000}  # type: ignore[dict-item]
    found: dict[str, dict[str, Any]] = {"phys": phys}
    found["bio"] = {"account": "bio", "owner": "dan", "allocation": {"time_unit": unit}}
    if chance.random() < 0.6:
        second = chance.choice(["DAILY", "QUARTERLY"])
        found["phys2"] = {"account": "phys", "owner": "ada", "allocation": {"time_unit": second}}
    if chance.random() < 0.6:
        hold = {
            "level": "partition",
            "accept_collateral": True,
            "partition_state": chance.choice(["DOWN", "DRAIN"]),
        }
        found["cluster"] = {"aws_budget": "bill", "partitions": ["gpu"], "hold": hold, "owner": "eve"}
    if chance.random() < 0.4:
        hold = {"level": "nodes", "accept_collateral": True}
        found["nodes"] = {"aws_budget": "bill", "partitions": ["gpu2"], "hold": hold, "owner": "eve"}
    if "cluster" in found and chance.random() < 0.4:
        found["gpu-too"] = {**found["cluster"], "aws_budget": "daily"}
    return found


def _rates(chance: Random) -> FaultRates:
    if chance.random() < 0.2:
        return FaultRates()
    start = chance.uniform(0, 5.5) * HOUR
    return FaultRates(
        crash=chance.choice([0.0, 0.001, 0.005]),
        throttle=chance.choice([0.0, 0.01, 0.05]),
        lost_answer=chance.choice([0.0, 0.01]),
        slow=chance.choice([0.0, 0.02, 0.1]),
        storm=(start, start + chance.uniform(300, 3000)) if chance.random() < 0.2 else None,
    )


def _delivery(chance: Random) -> Delivery:
    return Delivery(
        loss=chance.choice([0.0, 0.1, 0.5, 1.0]),
        copies=chance.choice([0.0, 0.3, 0.6]),
        mean_delay_seconds=chance.choice([1.0, 4.0, 25.0]),
        straggler=chance.choice([0.0, 0.1]),
        environments=chance.randint(2, 5),
        batch=chance.choice([1, 5]),
        is_sweep_lossy=chance.random() < 0.2,
    )


def _span(chance: Random, share: float) -> tuple[float, float] | None:
    start = chance.uniform(0, 4.5) * HOUR
    return (start, start + chance.uniform(0.3, 1.5) * HOUR) if chance.random() < share else None


def _excursions(chance: Random) -> tuple[tuple[float, float, float], ...]:
    if chance.random() < 0.7:
        return ()
    start = chance.uniform(0.5, 5) * HOUR
    return ((start, start + chance.uniform(300, 4000), chance.choice([-3600.0, -7200.0, -90.0, 60.0])),)


def _odd_bills(chance: Random) -> tuple[tuple[str, float, float], ...]:
    if chance.random() < 0.4:
        return ()
    start = chance.uniform(0, 3.5) * HOUR
    return ((chance.choice(ODD_BILLS), start, start + chance.uniform(0.5, 2.5) * HOUR),)


def _orders(chance: Random, names: list[str]) -> tuple[tuple[float, str, str, float | None], ...]:
    """(when, action, budget, hours until it ends)."""
    actions = ["HoldBudget", "ReleaseBudget", "ReleaseBudget", "ApproveBudget"]
    return tuple(
        (
            chance.uniform(0.2, 5.8) * HOUR,
            chance.choice(actions),
            chance.choice(names),
            chance.choice([None, None, 1.5]),
        )
        for _ in range(chance.choice([0, 1, 2, 4]))
    )


def _disturbances(chance: Random) -> tuple[tuple[float, str], ...]:
    kinds = [
        "reconfigure",
        "restart",
        "someone UP",
        "limit undone",
        "admin partition",
        "admin drain",
        "admin limit",
    ]
    return tuple(
        (chance.uniform(0.2, 6) * HOUR, chance.choice(kinds)) for _ in range(chance.choice([0, 4, 10]))
    )


def _gaps(chance: Random) -> tuple[tuple[str, float, float], ...]:
    """The agent is killed, has no network, lost its state directory, or slurmctld hangs: (what, from, to)."""
    found = []
    for _ in range(chance.choice([0, 0, 1, 2])):
        start = chance.uniform(0.2, 5.3) * HOUR
        kind = chance.choice(["killed", "network", "hung", "reinstalled"])
        found.append((kind, start, start + chance.choice([45.0, 400.0, 3000.0])))
    return tuple(found)


def _exemption(chance: Random) -> tuple[float, float, str, str] | None:
    """(granted, ends, kind, name)."""
    if chance.random() > 0.25:
        return None
    start = chance.uniform(0, 4) * HOUR
    kind, name = chance.choice(
        [("account", "phys-a"), ("account", "bio"), ("person", "bob"), ("account", "phys")]
    )
    return (start, start + chance.uniform(0.5, 2.5) * HOUR, kind, name)


PARTS: Mapping[str, Mapping[str, Any]] = {
    "crashes, throttles, slow calls": {"rates": FaultRates()},
    "loss, copies, delays of events": {"delivery": Delivery()},
    "clock excursions": {"excursions": ()},
    "odd bills": {"odd_bills": ()},
    "noise of the bill": {"noise": 0.0},
    "orders": {"orders": ()},
    "disturbances of Slurm": {"disturbances": ()},
    "the agent's gaps": {"agent_gaps": ()},
    "pause": {"pause": None},
    "dry-run phase": {"dry_run": None},
    "exemption": {"exemption": None},
    "a raised limit": {"raised": None},
    "QOS that void limits": {"voids": "none"},
    "limits of one's own": {"own_limits": False},
    "missing enforcement": {"is_enforced": True},
}


def parts(scenario: Scenario) -> Mapping[str, Mapping[str, Any]]:
    """What shrinking tries to leave out: faults first, then budgets."""
    fewer = {n: {"budgets": {k: v for k, v in scenario.budgets.items() if k != n}} for n in scenario.budgets}
    return {**PARTS, **{f"budget {name}": change for name, change in fewer.items()}}


def crash_scenario() -> Scenario:
    """A short day without other faults, in which two budgets on one account are held and one is released by hand."""
    budgets = {
        "phys": {"account": "phys", "owner": "ada", "allocation": {"time_unit": "MONTHLY"}},
        "phys2": {"account": "phys", "owner": "ada", "allocation": {"time_unit": "DAILY"}},
    }
    return Scenario(
        seed=2,
        start_at=datetime(2026, 9, 15, 22, 50, tzinfo=UTC),
        active_seconds=1900.0,
        quiet_seconds=1.2 * HOUR,
        budgets=budgets,
        limits={"phys": 1.1, "phys2": 1.1},
        orders=((1250.0, "ReleaseBudget", "phys", None),),
    )


def with_crash(scenario: Scenario, call: int, is_after: bool) -> Scenario:
    """The process that makes the n-th call dies there."""
    return replace(scenario, rates=FaultRates(crash_at_call=call, crash_after_call=is_after))
