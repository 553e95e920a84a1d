"""What one seed stands for: which faults, how people and events behave, which policies. Each part can be switched off."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from tests.simulation.core.dice import Dice
from tests.simulation.core.faults import FaultRates
from tests.simulation.core.queueing import Delivery

CLUSTERS = {"alpha": "abcdef012345", "beta": "bcdef0123456"}
"""Governed clusters and their ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """All knobs of one run. Times in seconds of true time since the start."""

    seed: int
    active_seconds: float = 600.0
    quiet_seconds: float = 720.0
    rates: FaultRates = field(default_factory=FaultRates)
    delivery: Delivery = field(default_factory=Delivery)
    clock_steps: tuple[tuple[float, float], ...] = ()
    skew_seconds: float = 0.0
    listing_lag_seconds: float = 0.0
    page_width: int = 200
    empty_page: float = 0.0
    deaf: float = 0.0
    terminating_seconds: float = 0.0
    is_still: bool = False
    is_played_twice: bool = False
    without: frozenset[str] = frozenset()
    is_dry_run: bool = False
    dry_run_seconds: float = 0.0
    policy_changes: int = 0
    pause: tuple[float, float] | None = None
    small_budget: bool = False
    manual_requests: int = 0
    stores: str = "adapters"
    policies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def end_seconds(self) -> float:
        """When the run is over."""
        return self.active_seconds + self.quiet_seconds


def draw_scenario(seed: int) -> Scenario:
    """The scenario of a seed."""
    dice = Dice(seed)
    chance = dice.stream("scenario")
    is_still = chance.random() < 0.2
    scenario = Scenario(
        seed=seed,
        rates=_rates(chance),
        delivery=_delivery(chance),
        clock_steps=_clock_steps(chance),
        skew_seconds=chance.choice([0.0, 0.0, 1.5]),
        listing_lag_seconds=chance.choice([0.0, 0.0, 0.4, 8.0]),
        page_width=chance.choice([3, 8, 200]),
        empty_page=chance.choice([0.0, 0.3]),
        deaf=chance.choice([0.0, 0.0, 0.0, 0.2]),
        terminating_seconds=chance.choice([0.0, 2.0, 45.0]),
        is_dry_run=chance.random() < 0.04,
        policies={cluster: draw_policy(chance) for cluster in CLUSTERS},
        stores=chance.choice(["adapters", "fakes"]),
    )
    if is_still:
        # With one order everywhere it doesn't matter in which order sessions come and go, so the end can be foretold.
        order = chance.choice(["newest", "oldest"])
        policies = {c: {**p, "victim_order": order} for c, p in scenario.policies.items()}
        return replace(
            scenario, is_still=True, is_played_twice=seed % 2 == 0, is_dry_run=False, policies=policies
        )
    return replace(
        scenario,
        dry_run_seconds=chance.choice([0.0, 0.0, 0.0, 200.0]),
        policy_changes=chance.choice([0, 0, 1, 3]),
        pause=(150.0, 150.0 + chance.uniform(60, 300)) if chance.random() < 0.12 else None,
        small_budget=chance.random() < 0.1,
        manual_requests=chance.choice([0, 0, 5]),
    )


def draw_policy(chance: Random) -> dict[str, Any]:
    """One valid policy."""
    cap = chance.choice([1, 2, 2, 3])
    policy: dict[str, Any] = {
        "mode": "apply",
        "cap": {"max_sessions": cap},
        "victim_order": chance.choice(["newest", "oldest"]),
        "group_caps": [{"group": "pi", "max_sessions": cap + chance.randint(1, 2)}],
        "node_groups": [{"instance_group": "controller", "allowed_groups": ["admins"]}],
        "trusted_roles": ["AWSReservedSSO_*"],
        "break_glass_roles": ["BreakGlass*"],
        "protected_people": ["vip"],
        "guardrails": {"max_share_percent": 100},
        "reconnects": {"back_off_after": chance.choice([1, 3])},
    }
    if chance.random() < 0.4:
        policy["cap"]["all_clusters"] = cap + chance.randint(0, 1)
        policy["group_caps"][0]["all_clusters"] = cap + 2
    if chance.random() < 0.2:
        policy["unmapped_response"] = "end"
    return policy


def _rates(chance: Random) -> FaultRates:
    if chance.random() < 0.15:
        return FaultRates()
    start = chance.uniform(0, 500)
    return FaultRates(
        crash=chance.choice([0.0, 0.004, 0.02]),
        throttle=chance.choice([0.0, 0.01, 0.05]),
        lost_answer=chance.choice([0.0, 0.01]),
        slow=chance.choice([0.0, 0.02, 0.1]),
        storm=(start, start + chance.uniform(20, 120)) if chance.random() < 0.2 else None,
    )


def _delivery(chance: Random) -> Delivery:
    return Delivery(
        loss=chance.choice([0.0, 0.05, 0.4]),
        copies=chance.choice([0.0, 0.2, 0.5]),
        mean_delay_seconds=chance.choice([1.0, 4.0, 25.0]),
        straggler=chance.choice([0.0, 0.05]),
        environments=chance.randint(2, 5),
        batch=chance.choice([1, 5, 10]),
        is_sweep_lossy=chance.random() < 0.2,
    )


def _clock_steps(chance: Random) -> tuple[tuple[float, float], ...]:
    if chance.random() < 0.6:
        return ()
    return tuple(
        (chance.uniform(60, 590), chance.choice([-3600.0, -3600.0, -90.0, -20.0, 40.0, 600.0]))
        for _ in range(chance.randint(1, 2))
    )


PARTS: Mapping[str, Mapping[str, Any]] = {
    "crashes, throttles, slow calls": {"rates": FaultRates()},
    "loss, copies, delays of events": {"delivery": Delivery()},
    "clock steps": {"clock_steps": ()},
    "clock skew": {"skew_seconds": 0.0},
    "listing lag": {"listing_lag_seconds": 0.0},
    "paging": {"page_width": 200, "empty_page": 0.0},
    "deaf TerminateSession": {"deaf": 0.0},
    "slow Terminating": {"terminating_seconds": 0.0},
    "dry-run phase": {"dry_run_seconds": 0.0},
    "policy changes": {"policy_changes": 0},
    "pause": {"pause": None},
    "small budgets": {"small_budget": False},
    "manual requests": {"manual_requests": 0},
}
"""What shrinking tries to leave out, one after another."""
