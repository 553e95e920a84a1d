"""What Slurm work costs: usage times rates, and what running and queued jobs may still cost. Pure arithmetic in Decimal.

A partition's price comes from the instance type that policy names for it (USD per node-hour), else from a price per GPU-hour. A
partition with neither has no rate: its use is left out and named, and whoever asks must not act on the sum.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import ClassVar

from proctor.domain.agent_protocol import ObservedJob, ObservedUsage
from proctor.domain.money import Money, check_amount
from proctor.domain.slurm_state import AccountTree

LEAST_PRICE = Decimal("0.0001")
"""Per hour; AWS's lowest list prices are above it."""

_SECONDS = Decimal(3600)
_GPU = re.compile(r"gpu(?::[A-Za-z0-9_.-]+)?[:=](\d+)")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?(?::(\d+))?")
_LIVE_STATES = frozenset({"RUNNING", "PENDING", "CONFIGURING", "SUSPENDED", "REQUEUED", "RESIZING"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Prices. `node_hour` maps an instance type to its price per node-hour, `partitions` a partition to its instance type.

    `gpu_hour` prices partitions that have no node price.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    currency: str = "USD"
    node_hour: Mapping[str, Decimal] = field(default_factory=dict)
    gpu_hour: Decimal | None = None
    partitions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """A price of zero or less would hide every spend."""
        Money(Decimal(0), self.currency)
        prices = {**self.node_hour, **({"gpu_hour": self.gpu_hour} if self.gpu_hour is not None else {})}
        for name, price in prices.items():
            check_amount(f"rates: {name}", price, least=LEAST_PRICE)
        for partition, instance_type in self.partitions.items():
            if instance_type not in self.node_hour:
                message = (
                    f"rates.partitions: {partition} names {instance_type}, which node_hour does not price"
                )
                raise ValueError(message)

    def price(self, partition: str, node_seconds: int, gpu_seconds: int) -> Decimal | None:
        """The cost of this use; None when the partition has no rate."""
        instance_type = self.partitions.get(partition)
        if instance_type is not None:
            return self.node_hour[instance_type] * node_seconds / _SECONDS
        if self.gpu_hour is not None:
            return self.gpu_hour * gpu_seconds / _SECONDS
        return None

    @property
    def dearest_node_hour(self) -> Decimal | None:
        """The highest list price of a node-hour."""
        return max(self.node_hour.values(), default=None)


@dataclass(frozen=True, slots=True)
class Metered:
    """A sum with the partitions that it lacks for want of a rate."""

    amount: Decimal
    unpriced: frozenset[str] = frozenset()

    def __add__(self, other: "Metered") -> "Metered":
        return Metered(self.amount + other.amount, self.unpriced | other.unpriced)


NOTHING = Metered(Decimal(0))


def metered(rows: Iterable[ObservedUsage], rates: Rates) -> Metered:
    """Usage times rates: whole seconds are added up first, so that nothing is rounded row by row."""
    seconds: dict[str, tuple[int, int]] = {}
    for row in rows:
        nodes, gpus = seconds.get(row.partition, (0, 0))
        seconds[row.partition] = (nodes + row.node_seconds, gpus + row.gpu_seconds)
    prices = {partition: rates.price(partition, *used) for partition, used in seconds.items()}
    amount = sum((cost for cost in prices.values() if cost is not None), Decimal(0))
    return Metered(amount, frozenset(name for name, cost in prices.items() if cost is None))


def committed(jobs: Iterable[ObservedJob], rates: Rates, now: datetime, end_at: datetime) -> Metered:
    """The most that running and queued jobs can still cost until `end_at`: a ceiling, not a forecast.

    A job without a time limit counts until `end_at`; a pending job in several partitions by its dearest one.
    """
    amount, unpriced = Decimal(0), set()
    left = end_at - now
    for job in jobs:
        if job.state not in _LIVE_STATES or left <= timedelta(0):
            continue
        seconds = int(_remaining(job, now, left).total_seconds()) * task_count(job.job_id)
        nodes = max(job.node_count, 1)
        costs = [
            (partition, rates.price(partition, seconds * nodes, seconds * nodes * gpus_per_node(job.gres)))
            for partition in job.partition.split(",")
        ]
        unpriced |= {partition for partition, cost in costs if cost is None}
        amount += max((cost for _, cost in costs if cost is not None), default=Decimal(0))
    return Metered(amount, frozenset(unpriced))


def _remaining(job: ObservedJob, now: datetime, left: timedelta) -> timedelta:
    if job.limit_minutes is None:
        return left
    whole = timedelta(minutes=job.limit_minutes)
    if job.state != "PENDING" and job.start_at is not None:
        whole -= now - job.start_at
    return min(max(whole, timedelta(0)), left)


def gpus_per_node(gres: str) -> int:
    """From squeue's TRES-per-node, e.g. `gres/gpu:8`, `gres:gpu:h100:4`, `gpu:1`; 0 without any."""
    return sum(int(found[1]) for found in _GPU.finditer(gres))


def task_count(job_id: str) -> int:
    """How many tasks a squeue line stands for: `12_[3-9]` is seven, `12_[1,4-8:2%2]` four, anything else one."""
    _, bracket, inside = job_id.partition("[")
    if not bracket:
        return 1
    count = 0
    for part in inside.rstrip("]").partition("%")[0].split(","):
        if found := _RANGE.fullmatch(part):
            first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
            count += max(0, (last - first) // max(step, 1) + 1)
    return max(count, 1)


class UsageIndex:
    """Usage rows by account, so that every budget costs what its own rows cost."""

    def __init__(self, rows: Iterable[ObservedUsage], rates: Rates) -> None:
        """Index once."""
        self._rows: dict[str, list[ObservedUsage]] = {}
        for row in rows:
            self._rows.setdefault(row.account, []).append(row)
        self._rates = rates
        self._totals: dict[tuple[datetime, datetime], Metered] = {}

    def of_accounts(self, accounts: Iterable[str], since: datetime, until: datetime) -> Metered:
        """Use of these accounts in hours that begin in [since, until)."""
        total = NOTHING
        for account in accounts:
            mine = [row for row in self._rows.get(account, ()) if since <= row.hour_at < until]
            total += metered(mine, self._rates)
        return total

    def of_all(self, since: datetime, until: datetime) -> Metered:
        """Use of the whole cluster; kept, since many allocations share one bill."""
        key = (since, until)
        if key not in self._totals:
            self._totals[key] = self.of_accounts(list(self._rows), since, until)
        return self._totals[key]


class JobIndex:
    """Jobs by account."""

    def __init__(self, jobs: Iterable[ObservedJob]) -> None:
        """Index once."""
        self._jobs: dict[str, list[ObservedJob]] = {}
        for job in jobs:
            self._jobs.setdefault(job.account, []).append(job)

    def of_accounts(self, accounts: Iterable[str]) -> list[ObservedJob]:
        """Jobs of these accounts."""
        return [job for account in accounts for job in self._jobs.get(account, ())]

    def all(self) -> list[ObservedJob]:
        """Every job."""
        return [job for jobs in self._jobs.values() for job in jobs]


@dataclass(frozen=True, slots=True)
class Books:
    """What the numbers of one cluster are computed from."""

    tree: AccountTree
    usage: UsageIndex
    jobs: JobIndex
