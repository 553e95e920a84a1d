"""The agent beside slurmctld: two lanes of work, fed with the intents that were read."""

import threading
from collections.abc import Callable
from typing import Any

from proctor.domain.agent_protocol import IntentResult, Outcome
from proctor_agent.holds.reconciler import Mode, Reconciler
from proctor_agent.holds.view import AccountingCache
from proctor_agent.lane import Duty, Lane, Shared
from proctor_agent.observer import Observer, PartitionWatch
from proctor_agent.slurm.command import Commands
from proctor_agent.slurm.reads import SlurmReads

_FAST = frozenset({"partition"})
_SLOW_FAST = frozenset({"account", "partition_qos"})
_SLOW = frozenset({"reservation", "node"})
_JOIN_SECONDS = 5.0


class Controller:
    """Partition holds in the caller's thread; limits, reservations, nodes and the observation in another."""

    def __init__(self, commands: Commands, reads: SlurmReads, shared: Shared, mode: Mode) -> None:
        """Make both lanes."""
        self._shared = shared
        slow_cache, fast_cache = AccountingCache(reads), AccountingCache(reads)
        self.observer = Observer(reads, slow_cache, shared.clock, shared.outbox)
        self.reads = reads

        def reconciler(cache: AccountingCache) -> Reconciler:
            return Reconciler(commands, reads, cache, shared.records, shared.clock, mode)

        self.reconciler = reconciler(slow_cache)
        watch = PartitionWatch(shared.clock, shared.outbox)
        fast = Duty("partitions", _FAST, watch=watch)
        self.fast = Lane(fast, shared, reads, fast_cache, reconciler(fast_cache))
        slow = Duty("limits and nodes", _SLOW_FAST, _SLOW, self.observer)
        self.slow = Lane(slow, shared, reads, slow_cache, self.reconciler)
        self.observer.on_snapshot = self._resend_results

    def run(self, stop: threading.Event, before_step: Callable[[], None]) -> None:
        """Run both lanes until stopped."""
        other = threading.Thread(target=self.slow.run, args=(stop, lambda: None), name="slow", daemon=True)
        other.start()
        self.fast.run(stop, before_step)
        self.slow.wake.set()
        other.join(_JOIN_SECONDS)

    def take_intents(self, items: list[dict[str, Any]]) -> None:
        """A complete read of the intents; when anything changed, everything is looked at at once."""
        now = self._shared.clock.now()
        if self._shared.book.merge(items, now):
            self.fast.look_soon()
            self.slow.look_soon()
        refused = [
            IntentResult(item.sk, item.rev, Outcome.REFUSED, item.detail, "", None, now)
            for item in self._shared.book.refused
            if item.sk
        ]
        self.fast.refuse(refused)

    def step_once(self) -> None:
        """One step of each lane, in this thread."""
        self.fast.step()
        self.slow.step()

    def results(self) -> list[IntentResult]:
        """The latest outcome of every intent."""
        return sorted([*self.fast.results(), *self.slow.results()], key=lambda result: result.sk)

    def problems(self) -> tuple[str, ...]:
        """What is wrong with Slurm, one line each."""
        found = dict.fromkeys((self.fast.problem, self.slow.problem, *self.observer.problems))
        return tuple(text for text in found if text)

    def _resend_results(self) -> None:
        self.fast.resend_results()
        self.slow.resend_results()
