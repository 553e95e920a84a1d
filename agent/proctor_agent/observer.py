"""Looks at everything in Slurm once a minute and reports what changed; everything, when a snapshot is wished."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from proctor.domain.agent_protocol import ObservedPartition
from proctor_agent.clock import Clock
from proctor_agent.errors import SlurmError
from proctor_agent.holds.view import AccountingCache
from proctor_agent.outbox import Outbox
from proctor_agent.slurm import parse, usage
from proctor_agent.slurm.reads import SlurmReads
from proctor_agent.slurm.usage import HourUsage
from proctor_agent.tracker import Packer, Tracker

_SECTIONS = (
    "partitions", "nodes", "jobs", "reservations", "associations", "qos", "limits", "usage"
)  # fmt: skip
_EVERY_SECONDS = 60.0
_FULL_EVERY = timedelta(hours=1)
# Use of an hour still changes a little after it: sacct lags, and jobs end late.
_USAGE_SETTLES = timedelta(minutes=10)
_USAGE_BACKLOG_HOURS = 26
# squeue needs 8 KB of memory a job; above this the database is asked instead, which does not know the reason.
_MOST_SQUEUE_JOBS = 3_000
_Look = Callable[[Packer, bool], None]


class Observer:
    """Reports observed state; one section that can't be read does not stop the others."""

    def __init__(self, reads: SlurmReads, cache: AccountingCache, clock: Clock, outbox: Outbox) -> None:
        """Nothing has been seen yet; the first look is due at once."""
        self._reads = reads
        self._cache = cache
        self._clock = clock
        self._outbox = outbox
        self._trackers = {name: Tracker(name) for name in _SECTIONS}
        self._full_at: datetime | None = None
        self._due_at = 0.0
        self._backlog: list[datetime] = []
        self._hour_at: datetime | None = None
        self.problems: tuple[str, ...] = ()
        self.read_at: datetime | None = None
        self.on_snapshot: Callable[[], None] = _nothing

    def look_soon(self) -> None:
        """Make the next step look, whatever the time."""
        self._due_at = 0.0

    def step(self) -> None:
        """Look when it is due: every minute."""
        now = self._clock.monotonic()
        if now >= self._due_at:
            self._due_at = now + _EVERY_SECONDS
            self.run(is_full=self._outbox.take_snapshot_wish())

    def run(self, *, is_full: bool = False) -> bool:
        """One look at everything; True when every section could be read."""
        now = self._clock.now()
        if is_full:
            self._fill_backlog(now)
        is_full = is_full or self._full_at is None or now - self._full_at >= _FULL_EVERY
        self._cache.forget()
        packer = Packer(self._clock, self._outbox.put_state, f"{now:%Y%m%dT%H%M%SZ}" if is_full else "")
        problems = []
        for name, look in self._looks():
            try:
                look(packer, is_full)
            except SlurmError as error:  # noqa: PERF203 - each section stands alone
                problems.append(f"{name}: {error}"[:200])
        if is_full and problems:
            # Not everything was seen: without its last chunk the snapshot never counts as complete.
            packer.snapshot = ""
        packer.close()
        self.problems = tuple(problems)
        if not problems:
            self.read_at = now
        if is_full and not problems:
            self._full_at = now
            self.on_snapshot()
        elif is_full:
            self._outbox.ask_snapshot()
        return not problems

    def _looks(self) -> tuple[tuple[str, _Look], ...]:
        return (
            ("nodes", self._nodes),
            ("partitions", self._partitions),
            ("reservations", self._reservations),
            ("limits", self._limits),
            ("accounting", self._accounting),
            ("jobs", self._jobs),
        )

    def _offer(self, packer: Packer, section: str, rows: Iterable[tuple[str, Any]], *, is_full: bool) -> None:
        tracker = self._trackers[section]
        tracker.begin(is_full=is_full)
        for key, row in rows:
            if tracker.is_news(key, row):
                packer.add(section, row)
        for key in tracker.finish():
            packer.remove(section, key)

    def _partitions(self, packer: Packer, is_full: bool) -> None:  # noqa: FBT001
        self._offer(packer, "partitions", self._reads.partitions().items(), is_full=is_full)

    def _nodes(self, packer: Packer, is_full: bool) -> None:  # noqa: FBT001
        rows = ((row.name, row) for row in self._reads.nodes())
        self._offer(packer, "nodes", rows, is_full=is_full)

    def _reservations(self, packer: Packer, is_full: bool) -> None:  # noqa: FBT001
        self._offer(packer, "reservations", self._reads.reservations().items(), is_full=is_full)

    def _limits(self, packer: Packer, is_full: bool) -> None:  # noqa: FBT001
        row = self._cache.config().limits
        self._offer(packer, "limits", [(row.cluster_name, row)], is_full=is_full)

    def _accounting(self, packer: Packer, is_full: bool) -> None:  # noqa: FBT001
        if not self._has_database():
            return
        accounting = self._cache.accounting({})
        associations = (
            (f"{row.account}|{row.login_name}|{row.partition}", row) for row in accounting.associations
        )
        self._offer(packer, "associations", associations, is_full=is_full)
        self._offer(packer, "qos", ((row.name, row) for row in accounting.qos), is_full=is_full)

    def _jobs(self, packer: Packer, is_full: bool) -> None:  # noqa: FBT001
        """Jobs and use together: with many jobs one answer of the database serves both."""
        tracker = self._trackers["jobs"]
        tracker.begin(is_full=is_full)
        if not self._has_database():
            self._squeue_jobs(packer, tracker)
        else:
            is_many = (self._reads.submitted_jobs() or 0) > _MOST_SQUEUE_JOBS
            if not is_many:
                self._squeue_jobs(packer, tracker)
            self._usage(packer, tracker if is_many else None)
        for key in tracker.finish():
            packer.remove("jobs", key)

    def _squeue_jobs(self, packer: Packer, tracker: Tracker) -> None:
        # A row is built only when its line is new: most jobs do not change within a minute.
        for line in self._reads.job_lines():
            if tracker.is_news(line.partition("|")[0], line):
                row = parse.job(line)
                if row is not None:
                    packer.add("jobs", row)

    def _usage(self, packer: Packer, jobs: Tracker | None) -> None:
        now = self._clock.now()
        hour_at = now.replace(minute=0, second=0, microsecond=0)
        if self._hour_at is not None and self._hour_at != hour_at:
            self._backlog.append(self._hour_at)
        self._hour_at = hour_at
        self._hour(packer, hour_at, now, jobs)
        before = hour_at - timedelta(hours=1)
        if now - hour_at < _USAGE_SETTLES:
            self._hour(packer, before, now, None)
        elif self._backlog:
            # One old hour a minute: a day without a network is told again within half an hour.
            self._hour(packer, self._backlog.pop(), now, None)

    def _hour(self, packer: Packer, hour_at: datetime, now: datetime, jobs: Tracker | None) -> None:
        hour = HourUsage(hour_at, now)
        for parts in hour.count(self._reads.hour_lines(hour_at)):
            if jobs is None or not usage.is_present(parts):
                continue
            if jobs.is_news(parts[0], tuple(parts)):
                packer.add("jobs", usage.job(parts))
        tracker = self._trackers["usage"]
        for row in hour.rows():
            if tracker.is_news(f"{row.account}|{row.partition}|{hour_at:%Y%m%dT%H}", row):
                packer.add("usage", row)

    def _fill_backlog(self, now: datetime) -> None:
        hour_at = now.replace(minute=0, second=0, microsecond=0)
        self._backlog = [hour_at - timedelta(hours=back) for back in range(_USAGE_BACKLOG_HOURS, 0, -1)]
        self._trackers["usage"] = Tracker("usage")

    def _has_database(self) -> bool:
        return self._cache.config().limits.storage_type.endswith("slurmdbd")


class PartitionWatch:
    """Tells changes of partitions as soon as the look of every 5 s has seen them."""

    def __init__(self, clock: Clock, outbox: Outbox) -> None:
        """Nothing has been seen yet: the first offer tells all."""
        self._clock = clock
        self._outbox = outbox
        self._tracker = Tracker("partitions")

    def offer(self, partitions: Mapping[str, ObservedPartition]) -> None:
        """Report what is new or gone."""
        packer = Packer(self._clock, self._outbox.put_state)
        self._tracker.begin(is_full=False)
        for name, row in partitions.items():
            if self._tracker.is_news(name, row):
                packer.add("partitions", row)
        for name in self._tracker.finish():
            packer.remove("partitions", name)
        packer.close()


def _nothing() -> None:
    return
