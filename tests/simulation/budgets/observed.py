"""What the control plane knows of Slurm: rows reported once a minute, use by the hour, results when they arrive."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal

from proctor.domain.agent_protocol import (
    ObservedAssociation,
    ObservedJob,
    ObservedLimits,
    ObservedPartition,
    ObservedQos,
    ObservedUsage,
)
from proctor.domain.slurm_state import SlurmView
from tests.fakes.budget_values import VERBS
from tests.simulation.budgets.agent import SimulatedAgent
from tests.simulation.budgets.scenario import HOUR, PRICE
from tests.simulation.budgets.slurm import FIELDS, NODE_COUNTS, NODE_SPANS, PARENTS, PEOPLE, SimulatedSlurm

_EVERY_SECONDS = 60.0

type Row = tuple[str, str, datetime]


@dataclass
class ObservedSlurm:
    """Implements the SlurmState port. `usage` is absolute by account, partition and hour: a later report replaces a row."""

    slurm: SimulatedSlurm
    agent: SimulatedAgent
    start_at: datetime
    now: Callable[[], float]
    usage: dict[Row, float] = field(default_factory=dict)
    _view: SlurmView | None = None
    _built: float = -1e9
    _seen_at: datetime | None = None
    _earlier: tuple[ObservedUsage, ...] = ()

    def spend_before(self, account: str, partition: str, hours_ago: int, node_hours: float) -> None:
        """Use of a full hour before the run."""
        hour = _hour(self.start_at) - timedelta(hours=hours_ago)
        self.usage[account, partition, hour] = node_hours * HOUR

    def view(self, cluster: str, *, usage_since: datetime | None) -> SlurmView:
        """As the table has it now."""
        self.look()
        view = self._view or SlurmView(cluster=cluster)
        rows = () if usage_since is None else tuple(r for r in view.usage if r.hour_at >= usage_since)
        return replace(view, usage=rows, seen_at=self._seen_at, results=dict(self.agent.results))

    def look(self) -> None:
        """A living agent with a network reports; at most once a minute, and a heartbeat with it."""
        now = self.now()
        if not (self.agent.is_alive and self.agent.is_connected) or self.slurm.is_hung:
            return
        self._seen_at = self.start_at + timedelta(seconds=now - now % 30.0)
        if now - self._built >= _EVERY_SECONDS:
            self._built = now
            self._view = self._build()

    def cost(self, since: datetime, until: datetime) -> Decimal:
        """The true cost of all hours that begin in a span."""
        self._meter()
        found = [s * PRICE[p] / HOUR for (_, p, hour), s in self.usage.items() if since <= hour < until]
        return Decimal(str(round(sum(found), 2)))

    def _meter(self) -> None:
        """The use of jobs, spread over the hours in which they ran."""
        now, met = self.now(), dict[Row, float]()
        for job in (*self.slurm.jobs, *self.slurm.done):
            if job.start is None:
                continue
            at, end = job.start, min(now, job.start + job.seconds)
            while at < end:
                hour_at = _hour(self.start_at + timedelta(seconds=at))
                until = min(end, (hour_at + timedelta(hours=1) - self.start_at).total_seconds())
                row = (job.account, job.partition, hour_at)
                met[row] = met.get(row, 0.0) + (until - at) * job.nodes
                at = until
        self.usage |= met

    def _build(self) -> SlurmView:
        self._meter()
        slurm = self.slurm
        enforce = ("associations", "limits", "qos") if slurm.is_enforced else ("associations",)
        return SlurmView(
            cluster="alpha",
            verbs=VERBS,
            node_count=16,
            partitions={
                n: ObservedPartition(n, state, NODE_SPANS[n], NODE_COUNTS[n], None, n == "dev")
                for n, state in slurm.states.items()
            },
            jobs=tuple(self._jobs()),
            associations=tuple(self._associations()),
            qos=tuple(
                ObservedQos(n, v["GrpJobs"], v["GrpSubmitJobs"], _tres(v), "") for n, v in slurm.qos.items()
            ),
            limits=ObservedLimits(
                slurm.is_enforced, enforce, "accounting_storage/slurmdbd", "24.11.5", "alpha"
            ),
            usage=tuple(
                ObservedUsage(account, partition, hour, int(seconds), int(seconds) * 8, 1)
                for (account, partition, hour), seconds in sorted(self.usage.items())
            ),
        )

    def _jobs(self) -> list[ObservedJob]:
        found = []
        for job in self.slurm.jobs:
            submit_at = self.start_at + timedelta(seconds=job.submit)
            start_at = None if job.start is None else self.start_at + timedelta(seconds=job.start)
            person, state = PEOPLE[job.account][0], "PENDING" if job.start is None else "RUNNING"
            limit = int(job.seconds // 60) + 1
            where = (job.partition, job.account, person, job.qos, job.nodes, "gres/gpu:8", "")
            found.append(ObservedJob(str(job.job_id), state, "None", *where, submit_at, start_at, limit))
        return found

    def _associations(self) -> list[ObservedAssociation]:
        found = []
        for name, parent in PARENTS.items():
            limits, qos = self.slurm.limits[name], self.slurm.usable[name]
            jobs, submit = limits[FIELDS[0]], limits[FIELDS[1]]
            found.append(ObservedAssociation(name, "", "", parent, jobs, submit, _tres(limits), qos))
            people = PEOPLE.get(name, ())
            found += [ObservedAssociation(name, p, "", parent, None, None, "", qos) for p in people]
        return found


def _tres(limits: dict[str, int | None]) -> str:
    node = limits["GrpTRES/node"]
    return "" if node is None else f"node={node}"


def _hour(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)
