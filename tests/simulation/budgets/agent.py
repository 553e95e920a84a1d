"""The agent on the controller: its own lanes, reconciler, intent book and records, over a simulated Slurm and a disk in memory.

It looks when there may be something to see: within 5 s of a change, and every ten minutes. Reports arrive late or, without a
network, when it is back.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from proctor.domain.agent_protocol import IntentResult, Report, controller_pk
from proctor_agent.holds.reconciler import Mode, Reconciler
from proctor_agent.holds.view import AccountingCache
from proctor_agent.lane import Duty, Lane, Shared
from proctor_agent.slurm.reads import SlurmReads
from proctor_agent.state.files import StateFiles
from proctor_agent.state.intents import IntentBook
from proctor_agent.state.records import Records
from tests.fakes.slurm_side import FakeIntentStore
from tests.fakes.taps import ProcessDiedError
from tests.simulation.budgets.commands import SimulatedCommands, Watch
from tests.simulation.budgets.scenario import CLUSTER
from tests.simulation.budgets.slurm import SimulatedSlurm
from tests.simulation.core.scheduler import Scheduler
from tests.simulation.core.story import Story

if TYPE_CHECKING:
    from proctor_agent.outbox import Outbox

LOOK_WITHIN_SECONDS = 5.0
_REGULAR_SECONDS = 600.0
_FORGET_AFTER_SECONDS = 60.0
_PARTITIONS = frozenset({"partition"})
_OTHERS = frozenset({"account", "partition_qos"}), frozenset({"reservation", "node"})


class MemoryFiles(StateFiles):
    """The state directory, in memory; it outlives the process."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def read(self, name: str) -> Any:
        return json.loads(self.texts[name]) if name in self.texts else None

    def write(self, name: str, value: Any) -> bool:
        self.texts[name] = json.dumps(value)
        return True


@dataclass
class SimulatedAgent:
    """One process after another on one disk. `results` is what the control plane has heard, by sort key."""

    scheduler: Scheduler
    slurm: SimulatedSlurm
    intents: FakeIntentStore
    story: Story
    chance: random.Random
    clock_at: Callable[[], datetime]
    watch: Watch
    report_delay: float
    files: MemoryFiles = field(default_factory=MemoryFiles)
    results: dict[str, IntentResult] = field(default_factory=dict)
    is_alive: bool = True
    is_connected: bool = True
    changed: Callable[[], None] = lambda: None
    _is_looking: bool = False
    _looks_again: bool = False
    _spool: list[Report] = field(default_factory=list)
    _forgot: float = 0.0
    life: int = 0
    _merged: int = -1

    def start(self) -> None:
        """A new process: what it knows comes from its disk."""
        self.is_alive = True
        self.life += 1
        self._merged = -1
        self._is_looking = self._looks_again = False
        self.book = IntentBook(self.files, controller_pk(CLUSTER))
        records = Records(self.files)
        commands = SimulatedCommands(self.slurm, self._pauses(self.life), self.watch)
        reads = SlurmReads(commands)
        shared = Shared(self.book, records, cast("Outbox", self), self, frozenset({"ip-10-0-0-1"}))
        self._caches = (AccountingCache(reads), AccountingCache(reads))

        def lane(duty: Duty, cache: AccountingCache) -> Lane:
            return Lane(duty, shared, reads, cache, Reconciler(commands, reads, cache, records, self, Mode()))

        duties = (Duty("partitions", _PARTITIONS), Duty("limits and nodes", *_OTHERS))
        self._lanes = [lane(duty, cache) for duty, cache in zip(duties, self._caches, strict=True)]
        self.look_soon()

    def kill(self) -> None:
        """kill -9."""
        self.is_alive = False
        self.story.tell("agent", "is killed")

    def regular(self) -> None:
        """The look that comes anyway."""
        self.look_soon()
        self.scheduler.after(_REGULAR_SECONDS, self.regular)

    def look_soon(self) -> None:
        """Something may have changed: look within five seconds."""
        self.scheduler.after(
            self.chance.uniform(0.2, LOOK_WITHIN_SECONDS), lambda: self.scheduler.spawn(self._look)
        )

    def put_event(self, report: Report) -> None:
        """The outbox: sent when there is a network."""
        self._spool.append(report)
        for result in report.results:
            self.story.tell(
                "agent", f"reports {result.sk} rev {result.rev}: {result.outcome.value} {result.detail}"
            )
        self.flush()

    def flush(self) -> None:
        """Send what waits."""
        if not self.is_connected:
            return
        sent, self._spool = self._spool, []
        for report in sent:
            delay = self.chance.uniform(0.1, self.report_delay)
            self.scheduler.after(delay, lambda report=report: self._arrive(report))  # type: ignore[misc]

    def now(self) -> datetime:
        """Clock: the controller's."""
        return self.clock_at()

    def monotonic(self) -> float:
        """Clock: seconds since the start, never 0."""
        return self.scheduler.now + 1.0

    def jitter(self, seconds: float) -> float:
        """Clock: chance."""
        return self.chance.uniform(0, seconds)

    def sleep(self, seconds: float) -> None:
        """Clock: wait."""
        self.scheduler.sleep(seconds)

    def _arrive(self, report: Report) -> None:
        """agent_reports keeps the newest of each subject; a report that comes after a later one changes nothing."""
        for result in report.results:
            known = self.results.get(result.sk)
            if known is None or known.at <= result.at:
                self.results[result.sk] = result
        self.changed()

    def _pauses(self, generation: int) -> Callable[[str], None]:
        def pause(what: str) -> None:
            self.scheduler.sleep(self.chance.uniform(0.005, 0.05))
            if not self.is_alive or generation != self.life:
                raise ProcessDiedError(what)

        return pause

    def _look(self) -> None:
        if not self.is_alive:
            return
        if self._is_looking:
            self._looks_again = True
            return
        self._is_looking, generation = True, self.life
        try:
            self._step()
        except ProcessDiedError as died:
            self.story.tell("agent", f"dies {died}")
            return
        if generation == self.life:
            self._is_looking = False
            if self._looks_again or any(lane.problem for lane in self._lanes):
                self._looks_again = False
                self.look_soon()

    def _step(self) -> None:
        if self.scheduler.now - self._forgot > _FORGET_AFTER_SECONDS:
            self._forgot = self.scheduler.now
            for cache in self._caches:
                cache.forget()
        if self.is_connected and self._merged != len(self.intents.written):
            # An unchanged table is not read again: reading costs a tenth of a run, and changes nothing.
            self._merged = len(self.intents.written)
            self.book.merge([i.to_item() for i in self.intents.items.values()], self.now())
        for lane in self._lanes:
            lane.look_soon()
            lane.step()
