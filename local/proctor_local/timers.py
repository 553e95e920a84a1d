"""Things that happen a little later, on one thread: delayed events, ends that take time."""

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable

_log = logging.getLogger("proctor.timers")


class Timers:
    """One thread with a heap of due functions. An error in a function is logged, not fatal."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._stopped = self._is_running = False
        self._thread = threading.Thread(target=self._run, name="proctor-timers", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; what is not yet due is dropped."""
        with self._changed:
            self._stopped = True
            self._due.clear()
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(timeout=2)

    def after(self, seconds: float, function: Callable[[], None]) -> None:
        """Call ``function`` once, ``seconds`` from now."""
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + seconds, next(self._order), function))
            self._changed.notify()

    def clear(self) -> None:
        """Forget everything that is not yet due."""
        with self._changed:
            self._due.clear()

    def pending(self) -> int:
        """How many functions wait."""
        with self._changed:
            return len(self._due)

    def due(self) -> int:
        """How many functions are due by now, or at work."""
        now = time.monotonic()
        with self._changed:
            return sum(at <= now for at, _, _ in self._due) + self._is_running

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._stopped:
                    return
                wait = self._due[0][0] - time.monotonic() if self._due else None
                if wait is None or wait > 0:
                    self._changed.wait(wait)
                    continue
                function = heapq.heappop(self._due)[2]
                self._is_running = True
            try:
                function()
            except Exception:  # noqa: BLE001  (the thread must outlive any one step)
                _log.exception("a delayed step failed")
            finally:
                with self._changed:
                    self._is_running = False
