"""Values of one small cluster with two departments, lab1 (with a child) and lab2, unless a test says otherwise."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from proctor.domain.agent_protocol import (
    ObservedAssociation,
    ObservedJob,
    ObservedLimits,
    ObservedPartition,
    ObservedQos,
    ObservedUsage,
)
from proctor.domain.budgets_period import TimeUnit
from proctor.domain.budgets_reading import BudgetReading
from proctor.domain.money import Money
from proctor.domain.slurm_state import SlurmView

CLUSTER = "alpha"
ACCOUNT_ID = "123456789012"
NOW = datetime(2026, 9, 15, 12, 0, tzinfo=UTC)
START = datetime(2026, 9, 1, tzinfo=UTC)
RATES: dict[str, Any] = {
    "node_hour": {"ml.p5.48xlarge": 100},
    "partitions": {"gpu": "ml.p5.48xlarge", "dev": "ml.p5.48xlarge"},
}
POLICY: dict[str, Any] = {"mode": "apply", "rates": RATES}
VERBS = frozenset({"SetPartitionState", "LimitAccount", "LimitPartitionQos", "ReserveNodes"})


def usd(amount: float | str) -> Money:
    """US dollars."""
    return Money(Decimal(str(amount)), "USD")


def reading(actual: float | str = 500, **fields: Any) -> BudgetReading:
    """The monthly AWS budget `bill` of 10,000 USD, as of an hour ago."""
    values: dict[str, Any] = {
        "name": "bill",
        "unit": TimeUnit.MONTHLY,
        "is_cost": True,
        "limit": usd(10000),
        "actual": usd(actual),
        "starts_at": datetime(2026, 1, 1, tzinfo=UTC),
        "ends_at": datetime(2087, 6, 15, tzinfo=UTC),
        "updated_at": NOW - timedelta(hours=1),
    }
    return BudgetReading(**{**values, **fields})


def association(
    account: str, login_name: str = "", parent: str = "root", **fields: Any
) -> ObservedAssociation:
    """One row of `sacctmgr show assoc`."""
    values: dict[str, Any] = {
        "partition": "",
        "grp_jobs": None,
        "grp_submit_jobs": None,
        "grp_tres": "",
        "qos": ("normal",),
    }
    return ObservedAssociation(account=account, login_name=login_name, parent=parent, **{**values, **fields})


ASSOCIATIONS = (
    association("root", parent=""),
    association("lab1"),
    association("lab1-vision", parent="lab1"),
    association("lab1-nlp", parent="lab1"),
    association("lab2"),
    association("lab1", "ada"),
    association("lab1-vision", "bob", parent="lab1"),
    association("lab1-nlp", "cyd", parent="lab1"),
    association("lab2", "dan"),
)


def usage(
    account: str, hours_of_node: float, at: datetime = START, partition: str = "gpu", gpus: int = 8
) -> ObservedUsage:
    """Use in one hour, in node-hours."""
    seconds = int(hours_of_node * 3600)
    return ObservedUsage(account, partition, at, seconds, seconds * gpus, 1)


def job(job_id: str = "1", **fields: Any) -> ObservedJob:
    """A pending job of bob in lab1-vision."""
    values: dict[str, Any] = {
        "state": "PENDING",
        "reason": "Priority",
        "partition": "gpu",
        "account": "lab1-vision",
        "login_name": "bob",
        "qos": "normal",
        "node_count": 1,
        "gres": "gres/gpu:8",
        "nodes": "",
        "submit_at": NOW,
        "start_at": None,
        "limit_minutes": 60,
    }
    return ObservedJob(job_id=job_id, **{**values, **fields})


def partition(name: str, nodes: int = 4, state: str = "UP", qos: str | None = None) -> ObservedPartition:
    """One partition."""
    return ObservedPartition(name, state, f"ip-10-0-0-[1-{nodes}]", nodes, qos, name == "dev")


def limits(*, bind: bool = True) -> ObservedLimits:
    """Whether limits bind."""
    enforce = ("associations", "limits", "qos", "safe") if bind else ()
    return ObservedLimits(bind, enforce, "accounting_storage/slurmdbd", "24.11.0", CLUSTER)


def slurm(seen_at: datetime | None = NOW, **fields: Any) -> SlurmView:
    """A living cluster of 4 nodes."""
    values: dict[str, Any] = {
        "cluster": CLUSTER,
        "verbs": VERBS,
        "node_count": 4,
        "partitions": {"gpu": partition("gpu"), "dev": partition("dev")},
        "associations": ASSOCIATIONS,
        "qos": (ObservedQos("normal", None, None, "", ""),),
        "limits": limits(),
    }
    return SlurmView(seen_at=seen_at, **{**values, **fields})


def spent(account: str, node_hours: float, at: datetime = START) -> Iterable[ObservedUsage]:
    """Use of four nodes at most, spread over hours from `at` on."""
    hour = at
    while node_hours > 0:
        yield usage(account, min(node_hours, 4), hour)
        node_hours -= 4
        hour += timedelta(hours=1)
