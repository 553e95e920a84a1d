"""trigger → snapshot → decision → outcomes. Only the last arrow changes anything."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from proctor.domain.decision import Decision, Outcome, OutcomeStatus, RunContext
from proctor.domain.errors import ContendedError, NotYetError
from proctor.runtime.executor import LOST_RACE, Executor

ATTEMPTS = 6
"""Decisions about one subject before contention is reported (Teleport's semaphore gives up after as many)."""


class Trigger(Protocol):
    """What woke the function, already parsed."""

    @property
    def name(self) -> str:
        """Short name for records, e.g. `StartSession`."""
        ...

    @property
    def is_sweep(self) -> bool:
        """A sweep looks at everything and comes again by itself, so it never retries."""
        ...


@dataclass(frozen=True, slots=True)
class Reaction[T: Trigger, S]:
    """One function: how it observes, how it decides, and who carries it out.

    `pause_before` waits before attempt n (0-based), with jitter; it is given, so that tests and simulation own the clock.
    """

    observe: Callable[[T, RunContext], S]
    decide: Callable[[S], Decision]
    executor: Executor
    pause_before: Callable[[int], None]

    def run(self, trigger: T, context: RunContext) -> tuple[Outcome, ...]:
        """Evaluate once, and again after a lost race, or when what it needs is on its way.

        Raises ContendedError when every attempt lost, NotYetError when it did not come; TransientError and TerminalError as
        ports raise them.
        """
        attempts = 1 if trigger.is_sweep else ATTEMPTS
        for attempt in range(attempts):
            if attempt:
                self.pause_before(attempt)
            again = replace(context, attempt=attempt)
            try:
                snapshot = self.observe(trigger, again)
            except NotYetError:
                if attempt + 1 < attempts:
                    continue
                raise
            outcomes = self.executor.run(self.decide(snapshot), again)
            if trigger.is_sweep or not any(_lost(o) for o in outcomes):
                return outcomes
        message = f"{ATTEMPTS} decisions in a row lost the race; the queue brings it back"
        raise ContendedError(message)


def _lost(outcome: Outcome) -> bool:
    return outcome.status is OutcomeStatus.CONTENDED and outcome.detail == LOST_RACE
