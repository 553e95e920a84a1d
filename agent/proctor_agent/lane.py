"""One lane of the controller's work: some kinds of intents, looked at again and again by one thread.

Partition holds have a lane of their own, so that a slow database or a long list never delays them.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from proctor.domain.agent_protocol import IntentResult, Outcome, Report, Undone, UndoneBy
from proctor_agent.clock import Clock
from proctor_agent.errors import SlurmError
from proctor_agent.holds.reconciler import PassOutcome, Reconciler
from proctor_agent.holds.view import AccountingCache, View
from proctor_agent.log_watch import LogWatch
from proctor_agent.observer import Observer, PartitionWatch
from proctor_agent.outbox import Outbox
from proctor_agent.slurm.reads import SlurmReads
from proctor_agent.state.intents import IntentBook
from proctor_agent.state.newcomers import Newcomers
from proctor_agent.state.records import Records

TICK_SECONDS = 1.0
LOOK_EVERY_SECONDS = 5.0
LOOK_AT_ALL_EVERY_SECONDS = 60.0
_MOST_RESULTS = 100


@dataclass(frozen=True)
class Duty:
    """What a lane looks after: kinds every 5 s, kinds every minute, and perhaps the observation."""

    name: str
    fast_kinds: frozenset[str]
    slow_kinds: frozenset[str] = frozenset()
    observer: Observer | None = None
    watch: PartitionWatch | None = None


@dataclass(frozen=True)
class Shared:
    """What the lanes have in common."""

    book: IntentBook
    records: Records
    outbox: Outbox
    clock: Clock
    host_names: frozenset[str]


class Lane:
    """One `step` a second: do what is due."""

    def __init__(
        self, duty: Duty, shared: Shared, reads: SlurmReads, cache: AccountingCache, reconciler: Reconciler
    ) -> None:
        """Everything is due at once."""
        self._duty = duty
        self._shared = shared
        self._reads = reads
        self._cache = cache
        self._reconciler = reconciler
        self._newcomers = Newcomers(shared.book, shared.records)
        self._log = LogWatch()
        self._latest: dict[str, IntentResult] = {}
        self._told: dict[str, IntentResult] = {}
        self._look_at = 0.0
        self._look_at_all_at = 0.0
        self._cause = UndoneBy.UNKNOWN
        self.read_at: datetime | None = None
        self.slurm_version = ""
        self.is_acting = False
        self.problem = ""
        self.wake = threading.Event()

    def run(self, stop: threading.Event, before_step: Callable[[], None]) -> None:
        """Step until stopped; `wake` makes a step at once."""
        while not stop.is_set():
            before_step()
            self.step()
            self.wake.wait(TICK_SECONDS)
            self.wake.clear()

    def look_soon(self) -> None:
        """Make the next step look at everything, whatever the time."""
        self._look_at_all_at = 0.0
        self._look_at = 0.0
        self.wake.set()

    def step(self) -> None:
        """Holds first, then the observation."""
        now = self._shared.clock.monotonic()
        cause = self._log.news()
        if cause is not None:
            self._cause = cause
            self._look_at = now
            if cause is not UndoneBy.UPDATE:
                self._cache.forget()
        if now >= self._look_at_all_at:
            self._look_at_all_at = now + LOOK_AT_ALL_EVERY_SECONDS
            self._look(self._duty.fast_kinds | self._duty.slow_kinds)
        elif now >= self._look_at:
            self._look(self._duty.fast_kinds)
        if self._duty.observer is not None and self.is_acting:
            self._duty.observer.step()

    def results(self) -> list[IntentResult]:
        """The latest outcome of every intent of this lane."""
        return [self._latest[sk] for sk in sorted(self._latest)]

    def resend_results(self) -> None:
        """Report every outcome again, with the next look."""
        self._told = {}

    def refuse(self, results: Iterable[IntentResult]) -> None:
        """Report intents that were not understood."""
        self._send(PassOutcome(results=list(results)), self._shared.clock.now())

    def _look(self, kinds: frozenset[str]) -> None:
        shared = self._shared
        self._look_at = shared.clock.monotonic() + LOOK_EVERY_SECONDS
        if not self._check_acting():
            self._newcomers.interrupt()
            return
        if shared.book.is_paused:
            return
        self._newcomers.note(self._duty.fast_kinds | self._duty.slow_kinds)
        due = [intent for intent in shared.book if intent.verb.kind in kinds]
        seen_at = shared.clock.now()
        view = View(self._reads, self._cache)
        if self._duty.watch is not None and not self._is_seen(view, self._duty.watch):
            return
        outcome = self._reconciler.run(due, view)
        self.problem = outcome.problem
        if outcome.has_failed:
            self._look_at = shared.clock.monotonic() + TICK_SECONDS
        else:
            self.read_at = seen_at
        self._send(outcome, seen_at)
        self._forget_gone(outcome.results)
        if outcome.undone and self._duty.observer is not None:
            self._duty.observer.look_soon()
        self._cause = UndoneBy.UNKNOWN
        # What was just written to Slurm's log is our own doing.
        self._log.news()

    def _is_seen(self, view: View, watch: PartitionWatch) -> bool:
        try:
            watch.offer(view.partitions())
        except SlurmError as error:
            self._fail(error)
            return False
        return True

    def _fail(self, error: SlurmError) -> None:
        self.problem = f"slurm: {error}"[:200]
        self._look_at = self._shared.clock.monotonic() + TICK_SECONDS

    def _check_acting(self) -> bool:
        """Whether this machine's slurmctld decides; unknown counts as no."""
        try:
            config = self._cache.config()
        except SlurmError as error:
            self._fail(error)
            return False
        self._log.follow(config.log_file)
        self.slurm_version = config.limits.slurm_version
        is_alone = len(config.controllers) <= 1
        self.is_acting = is_alone or self._reads.acting_controller() in self._shared.host_names
        return self.is_acting

    def _send(self, outcome: PassOutcome, seen_at: datetime) -> None:
        news = [result for result in outcome.results if self._is_news(result)]
        applied = {result.sk for result in outcome.results if result.outcome is Outcome.APPLIED}
        now = self._shared.clock.now()
        lost = tuple(
            Undone(sk, seen, self._cause, seen_at, now if sk in applied else None)
            for sk, seen in outcome.undone
        )
        for start in range(0, max(len(news), 1), _MOST_RESULTS):
            part = tuple(news[start : start + _MOST_RESULTS])
            if part or lost:
                self._shared.outbox.put_event(Report(sent_at=now, results=part, undone=lost))
                lost = ()

    def _is_news(self, result: IntentResult) -> bool:
        last = self._told.get(result.sk)
        self._told[result.sk] = result
        self._latest[result.sk] = result
        if last is None:
            return True
        return (last.rev, last.outcome, last.detail, last.field, last.previous) != (
            result.rev, result.outcome, result.detail, result.field, result.previous
        )  # fmt: skip

    def _forget_gone(self, results: list[IntentResult]) -> None:
        """Drop intents whose item is gone once their release or expiry has been carried out."""
        book, now = self._shared.book, self._shared.clock.now()
        for result in results:
            intent = book.get(result.sk)
            if intent is None or result.sk not in book.gone or result.outcome is not Outcome.RELEASED:
                continue
            if intent.is_expired(now) or not intent.is_held:
                book.forget(result.sk)
                self._shared.records.drop(result.sk)
                self._told.pop(result.sk, None)
                self._latest.pop(result.sk, None)
