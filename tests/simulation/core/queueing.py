"""EventBridge, SQS and Lambda's event source: events are lost, copied, late and out of order; a batch fails in part.

Each of at most `environments` copies of the function takes up to `batch` visible messages. A message that its invocation
does not confirm is visible again after the visibility timeout; the sixth delivery goes to the dead-letter queue.
"""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.core.scheduler import Scheduler
from tests.simulation.core.story import Story

VISIBILITY_SECONDS = 360.0
MAX_RECEIVES = 5

type Invoke = Callable[[int, list[dict[str, Any]]], set[str] | None]
"""Runs one batch in an environment: message ids that stay in the queue, or None when the process died."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How events travel. Chances per event; `copies` also makes SQS hand a message out twice."""

    loss: float = 0.0
    copies: float = 0.0
    mean_delay_seconds: float = 4.0
    straggler: float = 0.0
    environments: int = 3
    batch: int = 5
    is_sweep_lossy: bool = False


@dataclass
class _Message:
    name: str
    body: str
    visible_at: float
    received: int = 0


@dataclass
class Bus:
    """Rule, queue and event source mapping of one function."""

    delivery: Delivery
    chance: random.Random
    scheduler: Scheduler
    story: Story
    invoke: Invoke
    is_quiet: bool = False
    dead: list[str] = field(default_factory=list)
    lost: int = 0
    _messages: dict[str, _Message] = field(default_factory=dict)
    _busy: set[int] = field(default_factory=set)
    _named: int = 0

    def publish(self, event: Mapping[str, Any], *, is_schedule: bool = False) -> None:
        """An event reaches EventBridge now."""
        may_fail = not self.is_quiet and (not is_schedule or self.delivery.is_sweep_lossy)
        if may_fail and self.chance.random() < self.delivery.loss:
            self.lost += 1
            self.story.tell("EventBridge", f"loses {event.get('id', 'the schedule')}")
            return
        body = json.dumps(event)
        copies = 2 if may_fail and self.chance.random() < self.delivery.copies else 1
        for _ in range(copies):
            self._send(body, 0.2 if is_schedule else self._delay())

    def redrive(self) -> None:
        """An operator sends the dead-letter queue's messages back."""
        dead, self.dead = self.dead, []
        for body in dead:
            self._send(body, 0.1)

    def _delay(self) -> float:
        if not self.is_quiet and self.chance.random() < self.delivery.straggler:
            return 60.0 + 500.0 * self.chance.random()
        return 0.3 + self.chance.expovariate(1.0 / self.delivery.mean_delay_seconds)

    def _send(self, body: str, delay: float) -> None:
        self._named += 1
        message = _Message(f"m-{self._named}", body, self.scheduler.now + delay)
        self._messages[message.name] = message
        self.scheduler.after(delay, self._poll)

    def _poll(self) -> None:
        while free := [n for n in range(self.delivery.environments) if n not in self._busy]:
            taken = self._receive()
            if not taken:
                return
            environment = free[0]
            self._busy.add(environment)
            self.scheduler.spawn(lambda e=environment, t=taken: self._run(e, t))  # type: ignore[misc]

    def _receive(self) -> list[_Message]:
        visible = [m for m in self._messages.values() if m.visible_at <= self.scheduler.now + 1e-9]
        self.chance.shuffle(visible)
        taken: list[_Message] = []
        for message in visible[: self.chance.randint(1, self.delivery.batch)]:
            message.received += 1
            if message.received > MAX_RECEIVES:
                del self._messages[message.name]
                self.dead.append(message.body)
                continue
            taken.append(message)
            is_seen_twice = not self.is_quiet and self.chance.random() < self.delivery.copies / 4
            hidden = 0.05 if is_seen_twice else VISIBILITY_SECONDS
            message.visible_at = self.scheduler.now + hidden
            self.scheduler.after(hidden + 0.001, self._poll)
        if visible and not taken:
            self.scheduler.after(0.001, self._poll)
        return taken

    def _run(self, environment: int, taken: list[_Message]) -> None:
        records = [{"messageId": m.name, "body": m.body} for m in taken]
        try:
            failed = self.invoke(environment, records)
        finally:
            self._busy.discard(environment)
        for message in taken:
            if failed is not None and message.name not in failed:
                self._messages.pop(message.name, None)
        self.scheduler.after(0.0, self._poll)
