"""A simulated Slurm: partitions, accounts with limits, QOS, reservations, nodes, and jobs that run, wait and end.

It follows what was tried on a real one: a partition state set by scontrol is forgotten at a reconfigure and a restart,
limits in slurmdbd are not.
A QOS that sets a field voids the account's limit of that field; nothing but its own end stops a running job.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

PARENTS = {"root": "", "phys": "root", "phys-a": "phys", "bio": "root", "chem": "root"}
PEOPLE = {"phys": ("ada",), "phys-a": ("bob",), "bio": ("dan",), "chem": ("eve",)}
NODE_SPANS = {"gpu": "ip-10-0-0-[1-8]", "gpu2": "ip-10-0-0-[9-16]", "dev": "ip-10-0-0-[1-16]"}
NODE_COUNTS = {"gpu": 8, "gpu2": 8, "dev": 16}
FIELDS = ("GrpJobs", "GrpSubmitJobs", "GrpTRES/node")


@dataclass
class Job:
    """One job; `start` None while it waits. Times in seconds since the start of the run."""

    job_id: int
    account: str
    partition: str
    qos: str
    nodes: int
    seconds: float
    submit: float
    start: float | None = None

    @property
    def end(self) -> float | None:
        """When it ends by itself."""
        return None if self.start is None else self.start + self.seconds


@dataclass
class SimulatedSlurm:
    """State of slurmctld and slurmdbd. `states` is what scontrol has set, `conf` what slurm.conf says."""

    is_enforced: bool = True
    conf: dict[str, str] = field(default_factory=lambda: dict.fromkeys(NODE_SPANS, "UP"))
    states: dict[str, str] = field(default_factory=lambda: dict.fromkeys(NODE_SPANS, "UP"))
    limits: dict[str, dict[str, int | None]] = field(
        default_factory=lambda: {name: dict.fromkeys(FIELDS) for name in PARENTS}
    )
    qos: dict[str, dict[str, int | None]] = field(default_factory=lambda: {"normal": dict.fromkeys(FIELDS)})
    usable: dict[str, tuple[str, ...]] = field(default_factory=lambda: dict.fromkeys(PARENTS, ("normal",)))
    reservations: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, tuple[str, str]] = field(default_factory=lambda: {"ip-10-0-0-3": ("idle", "")})
    jobs: list[Job] = field(default_factory=list)
    done: list[Job] = field(default_factory=list)
    is_hung: bool = False
    now: Callable[[], float] = lambda: 0.0

    def reconfigure(self) -> None:
        """`scontrol reconfigure`, or a restart without saved partition states."""
        self.states = dict(self.conf)

    def submit(self, account: str, partition: str, qos: str, nodes: int, seconds: float) -> Job | None:
        """A job is submitted; None when a limit refuses it."""
        if self.is_enforced and any(
            self.limits[name]["GrpSubmitJobs"] == 0 and self.qos[qos]["GrpSubmitJobs"] is None
            for name in above(account)
        ):
            return None
        job = Job(len(self.jobs) + len(self.done) + 1, account, partition, qos, nodes, seconds, self.now())
        self.jobs.append(job)
        self.schedule()
        return job

    def schedule(self) -> None:
        """End what is over, start what may start. Fake nodes are plenty: only holds make a job wait."""
        now = self.now()
        over = [job for job in self.jobs if job.end is not None and job.end <= now]
        if over:
            self.done += over
            self.jobs = [job for job in self.jobs if job.end is None or job.end > now]
        for job in self.jobs:
            if job.start is None and self.why_waiting(job.account, job.partition, job.qos) is None:
                job.start = now

    def why_waiting(self, account: str, partition: str, qos: str) -> str | None:
        """Why a job of this kind would not start now; None when it would."""
        if self.states[partition] in {"DOWN", "INACTIVE"}:
            return "PartitionDown"
        if self.states[partition] == "DRAIN":
            return "PartitionInactive"
        if NODE_SPANS[partition] in self.reservations.values():
            return "Reservation"
        if not self.is_enforced:
            return None
        for name in above(account):
            for limit in ("GrpJobs", "GrpTRES/node"):
                if self.qos[qos][limit] is None and self.limits[name][limit] == 0:
                    return "AssocGrpLimit"
        return None

    def is_account_closed(self, account: str) -> bool:
        """Whether no job of the account starts, under no QOS that it may use."""
        return self.is_enforced and all(
            any(
                self.qos[qos][f] is None and self.limits[name][f] == 0
                for name in above(account)
                for f in FIELDS[::2]
            )
            for qos in self.usable[account]
        )


def above(account: str) -> list[str]:
    """The account and those over it."""
    found = []
    while account:
        found.append(account)
        account = PARENTS[account]
    return found


def below(account: str) -> set[str]:
    """The account and those under it."""
    return {name for name in PARENTS if account in above(name)}
