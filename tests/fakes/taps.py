"""A proxy around any port: something may happen before and after each call, which is one atomic step of the world."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, cast


@dataclass(frozen=True, slots=True)
class PortCall:
    """One call of a port, e.g. `sessions.terminate`. `number` counts all tapped calls of a world from 1."""

    port: str
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    number: int

    @property
    def name(self) -> str:
        """Port and method."""
        return f"{self.port}.{self.method}"


class Tap(Protocol):
    """Raise from `before` and the call doesn't happen; raise from `after` and it happened unnoticed."""

    def before(self, call: PortCall) -> None: ...

    def after(self, call: PortCall) -> None: ...


@dataclass
class Taps:
    """The taps of one world, in order; `journal` holds the names of all calls begun."""

    active: list[Tap] = field(default_factory=list)
    journal: list[str] = field(default_factory=list)

    def around[P](self, port: P, name: str) -> P:
        """The port with this world's taps on it."""
        return cast("P", _Tapped(port, name, self))

    def run(self, port: str, method: str, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """One call with its taps."""
        self.journal.append(f"{port}.{method}")
        step = PortCall(port, method, args, kwargs, len(self.journal))
        for tap in list(self.active):
            tap.before(step)
        answer = call(*args, **kwargs)
        for tap in list(self.active):
            tap.after(step)
        return answer


class _Tapped:
    def __init__(self, port: object, name: str, taps: Taps) -> None:
        self._port = port
        self._name = name
        self._taps = taps

    def __getattr__(self, method: str) -> Callable[..., Any]:
        call = getattr(self._port, method)

        def tapped(*args: Any, **kwargs: Any) -> Any:
            return self._taps.run(self._name, method, call, args, kwargs)

        return tapped


class ProcessDiedError(BaseException):
    """The evaluator's process is gone: nothing in Proctor may catch this."""


@dataclass
class FailAt:
    """Raise `error` at the n-th call (from 1) whose name matches, `after` it has happened or before. Once, or `times`."""

    error: Callable[[], BaseException]
    name: str | None = None
    nth: int = 1
    after_call: bool = False
    times: int | None = 1
    seen: int = 0

    def before(self, call: PortCall) -> None:
        if self.name in (None, call.name, call.port):
            self.seen += 1
            if not self.after_call:
                self._maybe()

    def after(self, call: PortCall) -> None:
        if self.after_call and self.name in (None, call.name, call.port):
            self._maybe()

    def _maybe(self) -> None:
        if self.seen < self.nth or (self.times is not None and self.seen >= self.nth + self.times):
            return
        raise self.error()
