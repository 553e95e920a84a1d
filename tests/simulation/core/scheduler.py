"""Simulated time and a baton: many evaluators in threads, of which exactly one runs, in an order that the heap decides.

World events are plain callables and run inline in whichever thread holds the baton. An evaluator gives the baton up only in
`sleep`, so everything between two sleeps is one atomic step of the world. If the next one due is the evaluator itself, no
thread is switched.
"""

import heapq
import threading
from collections.abc import Callable

type Step = Callable[[], None]


class HaltError(BaseException):
    """The run is over: unwinds an evaluator that still sleeps. Nothing in Proctor may catch it."""


class _Worker(threading.Thread):
    """A thread that runs one job after another; kept between runs, since making threads costs more than switching them."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.gate = threading.Lock()
        self.gate.acquire()
        self.job: Step | None = None
        self.start()

    def run(self) -> None:
        while True:
            self.gate.acquire()
            job, self.job = self.job, None
            if job is not None:
                job()


_IDLE: list[_Worker] = []


class Actor:
    """Something that runs Proctor's own code and may sleep."""

    __slots__ = ("job", "worker")

    def __init__(self, job: Step) -> None:
        self.job = job
        self.worker: _Worker | None = None


class Scheduler:
    """A heap of (time, order of entry). `now` is true time in seconds since the start and never goes back."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Step | Actor]] = []
        self._entered = 0
        self._until = 0.0
        self._main = threading.Lock()
        self._main.acquire()
        self._current: Actor | None = None
        self._live: dict[Actor, None] = {}
        self._failure: BaseException | None = None
        self._is_halting = False

    def after(self, seconds: float, step: Step) -> None:
        """Run a step of the world in `seconds`; it may not sleep."""
        self._push(self.now + seconds, step)

    def spawn(self, job: Step) -> None:
        """Start an actor now."""
        actor = Actor(job)
        self._live[actor] = None
        self._push(self.now, actor)

    def sleep(self, seconds: float) -> None:
        """Called by the actor that runs: let the world go on for `seconds`."""
        me = self._current
        if me is None or me.worker is None:
            message = "only an actor may sleep"
            raise RuntimeError(message)
        self._push(self.now + seconds, me)
        chosen = self._next()
        if chosen is not me:
            self._resume(chosen)
            me.worker.gate.acquire()
        if self._is_halting:
            raise HaltError
        self._current = me

    def run(self, until: float) -> None:
        """Run to `until`. Raises what a step or an actor raised."""
        self._until = until
        chosen = self._next()
        if chosen is not None:
            self._resume(chosen)
            self._main.acquire()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def fail(self, failure: BaseException) -> None:
        """End the run with a failure at the next change of turns; the first one counts."""
        if self._failure is None:
            self._failure = failure

    def halt(self) -> None:
        """Unwind every actor that still sleeps."""
        self._is_halting = True
        for actor in list(self._live):
            if actor.worker is None:
                del self._live[actor]
                continue
            actor.worker.gate.release()
            self._main.acquire()

    def _push(self, at: float, entry: Step | Actor) -> None:
        self._entered += 1
        heapq.heappush(self._heap, (at, self._entered, entry))

    def _next(self) -> Actor | None:
        """Run the world's steps until an actor is due; None ends the run."""
        self._current = None
        while self._heap and self._failure is None and self._heap[0][0] <= self._until:
            at, _, entry = heapq.heappop(self._heap)
            self.now = at
            if isinstance(entry, Actor):
                return entry
            try:
                entry()
            except Exception as failure:  # noqa: BLE001 - must not unwind through the actor whose thread this is
                self.fail(failure)
        return None

    def _resume(self, actor: Actor | None) -> None:
        if actor is None:
            self._main.release()
            return
        if actor.worker is None:
            actor.worker = _IDLE.pop() if _IDLE else _Worker()
            actor.worker.job = lambda: self._live_through(actor)
        actor.worker.gate.release()

    def _live_through(self, actor: Actor) -> None:
        self._current = actor
        try:
            actor.job()
        except HaltError:
            pass
        except BaseException as failure:  # noqa: BLE001 - it ends the run, in the thread that waits for it
            self.fail(failure)
        del self._live[actor]
        if actor.worker is not None:
            _IDLE.append(actor.worker)
        self._resume(None if self._is_halting else self._next())
