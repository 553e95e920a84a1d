"""Rate limits of API actions, as an account meets them."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from proctor_local.emulator.calls import Action, ApiCall, ApiError
from proctor_local.settings import Settings


class Throttle:
    """A token bucket per action and account; the bucket holds one second's worth of calls."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._buckets: dict[tuple[str, str], tuple[float, float]] = {}
        self._lock = threading.Lock()

    def limited(self, actions: dict[str, Action]) -> dict[str, Action]:
        """The same actions, each asking here first."""
        return {
            name: replace(action, handler=self._guard(name, action.handler))
            for name, action in actions.items()
        }

    def take(self, action: str, account: str) -> None:
        """Use one call. Raises ApiError ThrottlingException when none is left."""
        with self._lock:
            forced = self._settings.throttle_next.get(action, 0)
            if forced:
                self._settings.throttle_next[action] = forced - 1
                raise ApiError("ThrottlingException", "Rate exceeded")
            rate = self._settings.calls_per_second.get(action)
            if not rate:
                return
            now = self._clock()
            tokens, last = self._buckets.get((action, account), (max(rate, 1.0), now))
            tokens = min(max(rate, 1.0), tokens + (now - last) * rate)
            if tokens < 1:
                self._buckets[(action, account)] = (tokens, now)
                raise ApiError("ThrottlingException", "Rate exceeded")
            self._buckets[(action, account)] = (tokens - 1, now)

    def reset(self) -> None:
        """Fill every bucket."""
        with self._lock:
            self._buckets.clear()

    def _guard(
        self, name: str, handler: Callable[[ApiCall], dict[str, object]]
    ) -> Callable[..., dict[str, object]]:
        def guarded(call: ApiCall) -> dict[str, object]:
            self.take(name, call.account)
            return handler(call)

        return guarded
