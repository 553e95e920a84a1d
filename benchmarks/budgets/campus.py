"""A shared cluster with as many departments as budgets, two weeks into their period, as rows of Proctor's tables.

Every department has an account, an owner and three more people, and used the cluster in eight hours of each day. One
department in ten is over its limit, another is over a threshold; one budget in ten is AWS's, the others are allocations.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from proctor.domain.agent_protocol import (
    Heartbeat,
    ObservedAssociation,
    ObservedJob,
    ObservedLimits,
    ObservedPartition,
    ObservedQos,
    ObservedUsage,
    encode,
)
from proctor.domain.observed_rows import hour_key

CLUSTER, NODES, PARTITIONS, DAYS, HOURS_A_DAY, PEOPLE = "bench", 500, 10, 14, 8, 4
LIMIT, RATE = 10_000, 100
_WIDE = {"per_run": 10_000, "per_window": 10_000}
POLICY: dict[str, Any] = {
    "mode": "apply",
    "rates": {
        "node_hour": {"ml.p5.48xlarge": RATE},
        "partitions": {f"part-{n}": "ml.p5.48xlarge" for n in range(PARTITIONS)},
    },
    "guardrails": {"holds": _WIDE, "releases": _WIDE, "notices": _WIDE},
}


class Campus:
    """Everything of a cluster with `budgets` departments, as of `now`."""

    def __init__(self, budgets: int, now: datetime) -> None:
        """Take the number of budgets and the time."""
        self.budgets = budgets
        self.now = now
        self.start_at = now.replace(minute=0, second=0, microsecond=0) - timedelta(days=DAYS)

    def parameters(self) -> dict[str, str]:
        """Name → value: the policy, the pause, and a definition for each budget; all are in force in version 1."""
        prefix = f"/proctor/{CLUSTER}/budget_holds"
        found = {prefix: json.dumps(POLICY), f"/proctor/{CLUSTER}/pause": "off"}
        return found | {
            f"{prefix}/{account(n)}": json.dumps(self._definition(n)) for n in range(self.budgets)
        }

    def aws_budget(self, name: str) -> dict[str, Any]:
        """DescribeBudget's answer, with times as epoch seconds."""
        spent = share(int(name.removeprefix("aws-lab-"))) * LIMIT
        return {
            "BudgetName": name,
            "BudgetLimit": {"Amount": str(LIMIT), "Unit": "USD"},
            "CostTypes": {"IncludeCredit": False, "IncludeRefund": False},
            "TimeUnit": "CUSTOM",
            "TimePeriod": {"Start": self.start_at.timestamp(), "End": self._end_at.timestamp()},
            "CalculatedSpend": {"ActualSpend": {"Amount": f"{spent:.2f}", "Unit": "USD"}},
            "BudgetType": "COST",
            "LastUpdatedTime": (self.now - timedelta(hours=1)).timestamp(),
            "HealthStatus": {"Status": "HEALTHY"},
        }

    def people(self) -> Iterator[dict[str, Any]]:
        """Directory rows."""
        for n in range(self.budgets * PEOPLE):
            name = f"p{n:05d}"
            person = {"login_name": name, "identities": [], "email": f"{name}@uni.example"}
            yield {"key": f"person#{name}", "login_name": name, "person": json.dumps(person)}

    def observed(self) -> Iterator[dict[str, Any]]:
        """Rows of observed state, as agent_reports writes them."""
        common = {
            "observed_at": int(self.now.timestamp()),
            "sender": "i-0123456789abcdef0",
            "role": "controller",
            "node": "ip-10-0-0-1",
            "said": "1788256800000-0a0b0c0d#0000000000000001",
        }
        for section, key, row in self._rows():
            fields = row if isinstance(row, dict) else encode(row)
            yield {"scope": f"{CLUSTER}#{section}", "key": key, **fields, **common}

    @property
    def _end_at(self) -> datetime:
        return self.start_at + timedelta(days=30)

    def _definition(self, number: int) -> dict[str, Any]:
        own = {"account": account(number), "owner": f"p{number * PEOPLE:05d}"}
        if number % 10 == 9:
            return {"aws_budget": f"aws-{account(number)}", "is_only_account": True, **own}
        period = {
            "time_unit": "CUSTOM",
            "starts_at": self.start_at.isoformat(),
            "ends_at": self._end_at.isoformat(),
        }
        return {"allocation": {"limit": LIMIT, **period}, **own}

    def _rows(self) -> Iterator[tuple[str, str, Any]]:
        verbs = ("SetPartitionState", "LimitAccount", "LimitPartitionQos", "ReserveNodes")
        beat = Heartbeat(
            "1.0", "3.12", "24.11.5", verbs, True, False, self.start_at, self.now, self.now, 0, 0
        )
        yield "heartbeat", "i-0123456789abcdef0", beat
        enforce = ("associations", "limits", "qos")
        limits = ObservedLimits(True, enforce, "accounting_storage/slurmdbd", "24.11.5", CLUSTER)
        yield "limits", CLUSTER, limits
        yield "qos", "normal", ObservedQos("normal", None, None, "", "")
        for n in range(NODES):
            yield "nodes", f"ip-10-0-{n // 250}-{n % 250}", {"state": "idle"}
        for n in range(PARTITIONS):
            name = f"part-{n}"
            yield "partitions", name, ObservedPartition(name, "UP", f"ip-10-0-0-[{n}]", 50, None, n == 0)
        yield "associations", "root||", ObservedAssociation("root", "", "", "", None, None, "", ("normal",))
        for n in range(self.budgets):
            yield from self._department(n)

    def _department(self, number: int) -> Iterator[tuple[str, str, Any]]:
        name, partition = account(number), f"part-{number % PARTITIONS}"
        for login_name in ("", *(f"p{number * PEOPLE + k:05d}" for k in range(PEOPLE))):
            row = ObservedAssociation(name, login_name, "", "root", None, None, "", ("normal",))
            yield "associations", f"{name}|{login_name}|", row
        for k in range(PEOPLE):
            yield "jobs", str(number * PEOPLE + k), self._job(number, k, partition)
        seconds = int(share(number) * LIMIT / RATE * 3600 / (DAYS * HOURS_A_DAY))
        for day in range(DAYS):
            for hour in range(HOURS_A_DAY):
                at = self.start_at + timedelta(days=day, hours=8 + hour)
                row_of_use = ObservedUsage(name, partition, at, seconds, seconds * 8, 3)
                yield "usage", f"{hour_key(at)}|{name}|{partition}", row_of_use

    def _job(self, number: int, person: int, partition: str) -> ObservedJob:
        is_running = person == 0
        return ObservedJob(
            str(number * PEOPLE + person),
            "RUNNING" if is_running else "PENDING",
            "None" if is_running else "Priority",
            partition,
            account(number),
            f"p{number * PEOPLE + person:05d}",
            "normal",
            1,
            "gres/gpu:8",
            "ip-10-0-0-1" if is_running else "",
            self.now - timedelta(hours=2),
            self.now - timedelta(hours=1) if is_running else None,
            240,
        )


def account(number: int) -> str:
    """A department's account."""
    return f"lab-{number}"


def share(number: int) -> float:
    """How much of its limit a department has spent: one in ten all of it, another one over a threshold."""
    return {9: 1.02, 4: 1.05, 2: 0.82, 7: 0.92}.get(number % 20, 0.4)


def clock() -> datetime:
    """The present, once for a stub."""
    return datetime.now(UTC)
