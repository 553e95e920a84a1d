"""What happens in Slurm: jobs wait and run, somebody undoes a hold, the agent dies, a new period begins."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from proctor_local.budget_week import acts, cast
from proctor_local.budget_week.agent import Agent
from proctor_local.budget_week.book import APPLIED_WITHIN, REHELD_WITHIN
from proctor_local.budget_week.university import University
from proctor_slurm import SlurmStack

_LONG = 600


@dataclass(slots=True)
class Cluster:
    """The Slurm side of a university, with the jobs by a name for each."""

    university: University
    slurm: SlurmStack
    agent: Agent
    jobs: dict[str, int] = field(default_factory=dict)

    def submits(self, what: str, account: str, partition: str, seconds: int = _LONG, nodes: int = 1) -> int:
        """Somebody of a department submits a job."""
        who = self.university.submitter(account)
        job_id = self.slurm.jobs.submit(
            account=account, partition=partition, login_name=who, seconds=seconds, nodes=nodes
        )
        self.jobs[what] = job_id
        self.university.log.say(who or account, f"submits job {job_id} of {account} to {partition}: {what}")
        return job_id

    def state(self, what: str) -> str:
        """A job's state."""
        return self.slurm.jobs.look(self.jobs[what]).state

    def shows(self, what: str) -> None:
        """Print a job as squeue does."""
        job = self.slurm.jobs.look(self.jobs[what])
        self.university.log.say("squeue", f"job {job.job_id} ({what}) {job.state} {job.reason}", "quiet")

    def runs(self, what: str, seconds: float = 10.0) -> None:
        """A job is running, or soon is."""
        is_so = self.university.happens(lambda: self.state(what) == "RUNNING", seconds)
        self.shows(what)
        self.university.book.expect(f"job {what!r} runs", is_so)

    def is_limited(self, account: str) -> bool:
        """Whether slurmctld enforces a limit of no job on an account."""
        shown = self.slurm.try_run(
            "scontrol", "-o", "show", "assoc_mgr", f"accounts={account}", "flags=assoc"
        ).stdout
        rows = [line for line in shown.splitlines() if f"Account={account} " in line and "UserName= " in line]
        return any("GrpJobs=0(" in line for line in rows)

    def partition_state(self, partition: str) -> str:
        """UP, DOWN, ..."""
        line = self.slurm.try_run("scontrol", "-o", "show", "partition", partition).stdout
        return next((w.partition("=")[2] for w in line.split() if w.startswith("State=")), "")

    def is_down(self) -> bool:
        """Whether optics' partition is held."""
        return self.partition_state(cast.VISION) == "DOWN"

    def explains(self, kind: str, name: str, words: str) -> None:
        """`proctor why` gives the reason."""
        answer = self.university.proctor("why", kind, name)
        self.university.book.expect(f"why {kind} {name} names {words}", words in answer)

    def node_seconds(self, account: str) -> int:
        """What the agent has reported of an account's use."""
        return sum(
            int(r["node_seconds"]) for r in self.university.observed("usage") if r["account"] == account
        )

    def has_overspent(self) -> bool:
        """Whether optics' reported use costs more than it has."""
        return self.node_seconds(cast.OPTICS) * float(cast.PRICE) / 3600 > float(cast.OPTICS_LIMIT)


def at_work(cluster: Cluster) -> None:
    """Three departments compute."""
    cluster.submits("the corpus", cast.LINGUISTICS, cast.H100)
    cluster.submits("the lens", cast.OPTICS, cast.VISION, nodes=2)
    for what in ("the corpus", "the lens"):
        cluster.runs(what)


def is_held(cluster: Cluster, began: float) -> None:
    """New jobs of the department wait; its running job goes on; nobody else is delayed."""
    book = cluster.university.book
    book.measure(
        "hold in force in Slurm after AWS had the figure",
        APPLIED_WITHIN,
        lambda: cluster.is_limited(cast.LINGUISTICS),
        began,
    )
    cluster.submits("the dictionary", cast.LINGUISTICS, cast.H100)
    cluster.submits("a child account's job", cast.TRANSLATION, cast.H100)
    since = time.monotonic()
    cluster.submits("the telescope", cast.PHYSICS, cast.H100, seconds=20)
    book.measure(
        "start of an innocent's job", 5.0, lambda: cluster.state("the telescope") == "RUNNING", since
    )
    for what in ("the dictionary", "a child account's job", "the corpus"):
        cluster.shows(what)
    book.expect("new jobs of the department wait", cluster.state("the dictionary") == "PENDING")
    book.expect("so do those of its child account", cluster.state("a child account's job") == "PENDING")
    book.expect("its running job goes on", cluster.state("the corpus") == "RUNNING")
    acts.members_are_told(cluster.university)
    cluster.explains("account", cast.LINGUISTICS, "the limit is reached")


def partition_is_held(cluster: Cluster) -> datetime:
    """Optics' day costs more than it has: its partition goes DOWN. When its day ends."""
    university, book = cluster.university, cluster.university.book
    university.log.title(
        f"Wednesday: optics has {cast.OPTICS_LIMIT} USD a day; its job really runs, at {cast.PRICE} USD a node-hour"
    )
    ends_at = acts.border()
    university.define(cast.OPTICS, cast.optics_budget(ends_at))
    university.log.note(f"Its day ends at {ends_at:%H:%M:%S} UTC, so that you need not wait until midnight.")
    university.look(cast.OPTICS)
    since = time.monotonic()
    lift = ("sacctmgr", "-i", "-Q", "modify", "account", cast.LINGUISTICS, "set", "GrpJobs=-1")
    cluster.slurm.run(*lift)
    university.log.say("somebody", f"$ {' '.join(lift)}")
    university.happens(lambda: not cluster.is_limited(cast.LINGUISTICS), 2)
    book.measure(
        "held again after sacctmgr", REHELD_WITHIN, lambda: cluster.is_limited(cast.LINGUISTICS), since
    )
    book.expect("the agent reports optics' use", university.happens(cluster.has_overspent, 15))
    university.log.say(
        "agent", f"has looked again: optics has used {cluster.node_seconds(cast.OPTICS)} node-seconds"
    )
    since = time.monotonic()
    book.measure("partition held after its use was reported", APPLIED_WITHIN, cluster.is_down, since)
    cluster.explains("job", str(cluster.jobs["the dictionary"]), "the limit is reached")
    cluster.submits("the prism", cast.OPTICS, cast.VISION)
    cluster.shows("the prism")
    book.expect("optics' new job waits", cluster.state("the prism") == "PENDING")
    book.expect("optics' running job goes on", cluster.state("the lens") == "RUNNING")
    return ends_at


def undone(cluster: Cluster) -> None:
    """A reconfiguration forgets partition states, and somebody sets the partition UP: it is held again."""
    university = cluster.university
    university.log.title("Somebody undoes the hold: it comes back")
    for who, argv in (
        ("HyperPod", ("scontrol", "reconfigure")),
        ("news", ("scontrol", "update", f"PartitionName={cast.VISION}", "State=UP")),
    ):
        university.book.expect("the partition is held before", cluster.is_down())
        since = time.monotonic()
        cluster.slurm.run(*argv)
        university.log.say(who, f"$ {' '.join(argv)}")
        university.book.expect("that undoes it", university.happens(lambda: not cluster.is_down(), 2))
        university.book.measure(
            f"held again after {' '.join(argv[:2])}", REHELD_WITHIN, cluster.is_down, since
        )
    if cluster.state("the prism") == "RUNNING":
        university.log.note("The prism slipped through while the hold was undone. Running jobs go on.")
    cluster.submits("the mirror", cast.OPTICS, cast.VISION)
    cluster.shows("the mirror")
    university.book.expect("optics' next job waits", cluster.state("the mirror") == "PENDING")
    cluster.explains("partition", cast.VISION, "DOWN")


def released_by_hand(cluster: Cluster) -> None:
    """The job that waited starts."""
    since = time.monotonic()
    acts.released_by_hand(cluster.university)
    cluster.university.book.measure(
        "start of the waiting job after the release",
        REHELD_WITHIN,
        lambda: cluster.state("the dictionary") == "RUNNING",
        since,
    )
    acts.stays_released(cluster.university)
    cluster.university.book.expect("no limit came back", not cluster.is_limited(cast.LINGUISTICS))


def new_period(cluster: Cluster, ends_at: datetime) -> None:
    """The day ends: AWS and Slurm say nothing of it, the schedule releases."""
    university = cluster.university
    university.log.title("A new day: no message tells of it, the schedule releases the rest")
    with university.log.waiting("until the day of optics ends"):
        time.sleep(max(0.0, (ends_at - datetime.now(UTC)).total_seconds()))
    since = time.monotonic()
    university.log.say("schedule", "sweep, fired by hand here: it comes every 10 minutes")
    university.holds.sweep()
    university.book.measure(
        "partition up after the sweep of the new period",
        REHELD_WITHIN,
        lambda: cluster.partition_state(cast.VISION) == "UP",
        since,
    )
    cluster.runs("the mirror")


def nobody_was_hurt(cluster: Cluster) -> None:
    """No running job was ended by a hold."""
    cluster.university.book.expect(
        "the job that ran all the time still runs", cluster.state("the corpus") == "RUNNING"
    )
