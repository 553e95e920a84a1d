"""What may go wrong at a port call: it is slow, throttled, answered into the void, or the process dies before or after it."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from botocore.exceptions import ClientError, ReadTimeoutError

from proctor.domain.errors import ThrottledError, TransientError
from tests.fakes.taps import PortCall, ProcessDiedError
from tests.simulation.core.scheduler import Scheduler

FUNCTION_TIMEOUT_SECONDS = 60.0
"""As in template.yaml; a lease is longer than that."""

_THROTTLE_CODES = (
    "ThrottlingException",
    "ProvisionedThroughputExceededException",
    "TooManyRequestsException",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRates:
    """Chances per port call; `storm` is a span of seconds in which most calls are throttled."""

    crash: float = 0.0
    throttle: float = 0.0
    lost_answer: float = 0.0
    slow: float = 0.0
    storm: tuple[float, float] | None = None
    crash_at_call: int | None = None
    crash_after_call: bool = False


class Fault(Enum):
    """What happens to one call."""

    NONE = "none"
    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "crash after"
    THROTTLE = "throttle"
    LOST_ANSWER = "answer lost"


@dataclass
class Faults:
    """Draws faults. `is_quiet` ends them all, so that the world can settle."""

    rates: FaultRates
    chance: random.Random
    scheduler: Scheduler
    is_quiet: bool = False
    calls: int = 0

    def draw(self) -> Fault:
        """The fate of the next call."""
        self.calls += 1
        rates = self.rates
        if rates.crash_at_call == self.calls:
            return Fault.CRASH_AFTER if rates.crash_after_call else Fault.CRASH_BEFORE
        dice = self.chance.random()
        if self.is_quiet:
            return Fault.NONE
        if rates.storm is not None and rates.storm[0] <= self.scheduler.now < rates.storm[1] and dice > 0.4:
            return Fault.THROTTLE
        for chance, fault in (
            (rates.crash / 2, Fault.CRASH_BEFORE),
            (rates.crash / 2, Fault.CRASH_AFTER),
            (rates.throttle, Fault.THROTTLE),
            (rates.lost_answer, Fault.LOST_ANSWER),
        ):
            if dice < chance:
                return fault
            dice -= chance
        return Fault.NONE

    def latency(self) -> float:
        """Seconds until the call takes effect: milliseconds, at times many seconds."""
        dice = self.chance.random()
        if not self.is_quiet and dice < self.rates.slow:
            return 1.0 + 14.0 * self.chance.random()
        return 0.004 + 0.06 * dice


@dataclass
class Gate:
    """Every port call of one invocation passes here: the only place where other evaluators get their turn."""

    faults: Faults
    scheduler: Scheduler
    tell: Callable[[str], None]
    deadline: float = field(init=False)
    is_crashed: bool = False

    def __post_init__(self) -> None:
        self.deadline = self.scheduler.now + FUNCTION_TIMEOUT_SECONDS

    def call[R](self, operation: str, effect: Callable[[], R]) -> R:
        """One AWS call: raises botocore's errors."""
        fault = self._enter(operation)
        if fault is Fault.THROTTLE:
            code = _THROTTLE_CODES[self.faults.calls % len(_THROTTLE_CODES)]
            raise ClientError({"Error": {"Code": code, "Message": "Rate exceeded"}}, operation)
        try:
            answer = effect()
        except ClientError:
            self._leave(operation, fault)
            if fault is Fault.LOST_ANSWER:
                raise ReadTimeoutError(endpoint_url=operation) from None
            raise
        self._leave(operation, fault)
        if fault is Fault.LOST_ANSWER:
            raise ReadTimeoutError(endpoint_url=operation)
        return answer

    def before(self, call: PortCall) -> None:
        """A call of a fake port, first half (as a tap of tests/fakes)."""
        self._port_fault = self._enter(call.name)
        if self._port_fault is Fault.THROTTLE:
            raise ThrottledError(f"{call.name}: Rate exceeded")

    def after(self, call: PortCall) -> None:
        """Second half."""
        self._leave(call.name, self._port_fault)
        if self._port_fault is Fault.LOST_ANSWER:
            raise TransientError(f"{call.name}: the answer was lost")

    _port_fault: Fault = Fault.NONE

    def sleep(self, seconds: float) -> None:
        """What Proctor waits, within the function's time-out."""
        self.scheduler.sleep(min(seconds, max(0.0, self.deadline - self.scheduler.now)))
        self._check_time(f"waiting {seconds:.1f} s")

    def _enter(self, operation: str) -> Fault:
        self.scheduler.sleep(self.faults.latency())
        self._check_time(operation)
        fault = self.faults.draw()
        if fault is Fault.CRASH_BEFORE:
            self._die(f"dies before {operation}")
        if fault is Fault.THROTTLE:
            self.tell(f"{operation} is throttled")
        return fault

    def _leave(self, operation: str, fault: Fault) -> None:
        if fault is Fault.CRASH_AFTER:
            self._die(f"dies after {operation}")
        if fault is Fault.LOST_ANSWER:
            self.tell(f"{operation} is done, its answer is lost")

    def _check_time(self, operation: str) -> None:
        if self.scheduler.now >= self.deadline:
            self._die(f"times out at {operation}")

    def _die(self, how: str) -> None:
        self.is_crashed = True
        self.tell(how)
        raise ProcessDiedError(how)
