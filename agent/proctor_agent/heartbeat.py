"""That the agent lives: every minute, with what is wrong in plain words."""

import sys
import threading
from collections.abc import Callable
from datetime import datetime

from proctor.domain.agent_protocol import VERBS, Heartbeat, Report
from proctor_agent import AGENT_VERSION
from proctor_agent.clock import Clock
from proctor_agent.outbox import Outbox
from proctor_agent.settings import AgentSettings

EVERY_SECONDS = 60.0
_AFTER_FIRST_READ_SECONDS = 5.0
"""By then the first snapshot is stored, before which nobody believes a heartbeat about Slurm."""


class Pulse:
    """Puts a heartbeat into the outbox when one is due."""

    def __init__(self, settings: AgentSettings, outbox: Outbox, clock: Clock) -> None:
        """The first one is due at once."""
        self._settings = settings
        self._outbox = outbox
        self._clock = clock
        self._started_at = clock.now()
        self._due_at = clock.monotonic()
        self._last_state: tuple[bool, frozenset[str]] | None = None
        self._has_read = False

    def beat(
        self,
        *,
        is_acting: bool,
        slurm_version: str,
        intents_read_at: datetime | None,
        slurm_read_at: datetime | None,
        problems: tuple[str, ...],
    ) -> None:
        """Send one when due, at once when a problem or the acting role came or went, soon after Slurm's first read."""
        now = self._clock.monotonic()
        if slurm_read_at is not None and not self._has_read:
            self._has_read = True
            self._due_at = min(self._due_at, now + _AFTER_FIRST_READ_SECONDS)
        state = (is_acting, frozenset(text.partition(":")[0] for text in problems))
        if now < self._due_at and state == self._last_state:
            return
        self._last_state = state
        self._due_at = now + EVERY_SECONDS - 2.0 + self._clock.jitter(2.0)
        spooled, dropped = self._outbox.counts()
        self._outbox.put_heartbeat(
            Report(
                sent_at=self._clock.now(),
                heartbeat=Heartbeat(
                    agent_version=AGENT_VERSION,
                    python_version=".".join(str(part) for part in sys.version_info[:3]),
                    slurm_version=slurm_version,
                    verbs=tuple(sorted(VERBS)) if self._settings.is_controller else (),
                    is_acting=is_acting,
                    is_dry_run=self._settings.is_dry_run,
                    started_at=self._started_at,
                    intents_read_at=intents_read_at,
                    slurm_read_at=slurm_read_at,
                    spooled_reports=spooled,
                    dropped_reports=dropped,
                    problems=problems,
                ),
            )
        )


def until(stop: threading.Event, seconds: float, work: Callable[[], None]) -> None:
    """Do the work now and then every `seconds`, until stopped."""
    while not stop.is_set():
        work()
        stop.wait(seconds)
