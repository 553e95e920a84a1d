"""The functions under fuzz: how to make a handler on fakes, and how to see what it did. A new function adds one entry."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path
from typing import Any, Protocol, cast

from agent_reports.app import taken
from proctor.domain.agent_protocol import Role
from proctor.domain.decision import Outcome, RunContext
from proctor.runtime.handler import Wiring, handle
from proctor.runtime.reaction import Reaction
from tests.fakes import budget_values
from tests.fakes.agent_world import AgentWorld
from tests.fakes.agents import QUEUES
from tests.fakes.budget_world import BudgetWorld
from tests.fakes.records import FakeParkingLot, FakeTelemetry
from tests.fakes.world import World

EVENTS = Path(__file__).parents[2] / "events"


@dataclass(slots=True)
class Seen:
    """What became of the events so far. `evaluated` were well-formed and decided; `acted` counts harm to the innocent."""

    events: int = 0
    parked: int = 0
    evaluated: int = 0
    retried: int = 0
    crashed_records: int = 0
    crashed_batches: int = 0
    unexplained: int = 0
    acted: int = 0

    @property
    def lost(self) -> int:
        """Events that left no trace: neither parked, nor decided, nor kept in the queue."""
        return self.events - self.parked - self.evaluated - self.retried


class _OnFakes(Protocol):
    """What the worlds of all functions have."""

    telemetry: FakeTelemetry
    parking: FakeParkingLot


@dataclass
class Target:
    """One function on fakes. `harm` counts what hostile events did; `envelope` makes the handler's event from records."""

    name: str
    world: _OnFakes
    wiring: Wiring[Any, Any]
    harm: Callable[[], int]
    envelope: Callable[[list[dict[str, Any]]], Mapping[str, Any]] = lambda records: {"Records": records}
    samples: list[Any] = field(init=False)
    _evaluated: int = 0

    def __post_init__(self) -> None:
        """Count evaluations that came to their end."""
        plain = self.wiring.reaction
        self.wiring = replace(
            self.wiring, reaction=lambda: cast("Reaction[Any, Any]", _Counted(plain(), self))
        )
        self.samples = samples_of(self.name)

    def note_evaluated(self) -> None:
        """One more."""
        self._evaluated += 1

    def feed(self, bodies: list[str], seen: Seen) -> None:
        """Run one batch of bodies and add to `seen`."""
        counts, parked = self.world.telemetry.counts, self.world.parking.parked
        self._evaluated, crashes = 0, counts["RecordCrashed"]
        parked.clear()
        self.world.telemetry.warnings.clear()
        records = [{"messageId": str(n), "body": body} for n, body in enumerate(bodies)]
        seen.events += len(bodies)
        try:
            answer = handle(self.envelope(records), self.wiring)
        except Exception:  # noqa: BLE001 - whatever comes out is what is being looked for
            seen.crashed_batches += 1
            return
        seen.parked += len(parked)
        seen.unexplained += sum(1 for item in parked if not item.error)
        seen.crashed_records += counts["RecordCrashed"] - crashes
        seen.retried += len(answer["batchItemFailures"])
        seen.evaluated += self._evaluated
        seen.acted += self.harm()


@dataclass(frozen=True, slots=True)
class _Counted:
    """A reaction that says when it came to its end."""

    inner: Reaction[Any, Any]
    target: Target

    def run(self, trigger: Any, context: RunContext) -> tuple[Outcome, ...]:
        outcomes = self.inner.run(trigger, context)
        self.target.note_evaluated()
        return outcomes


def session_limits() -> Target:
    """One person exactly at the cap under a policy that acts: nothing hostile may end one of these sessions."""
    world = World()
    world.add_person("ada")
    world.write_policy({"mode": "apply", "cap": {"max_sessions": 2}})
    for _ in range(2):
        world.start_session("ada")
    innocent = set(world.live("ada"))
    return Target("session_limits", world, world.wiring(), lambda: len(innocent - world.live("ada")))


def budget_holds() -> Target:
    """A department within its allocation under a policy that acts: nothing hostile may hold it."""
    world = BudgetWorld()
    world.write_policy(budget_values.POLICY)
    return Target("budget_holds", world, world.wiring(), lambda: len(world.intents.held()))


def agent_reports() -> Target:
    """A controller that is enrolled: nothing hostile may replace its key or enrol another in its name."""
    world = AgentWorld()
    controller = world.controller()
    key = world.record(controller).key
    roles = {arn: role for role, arn in QUEUES.items()}
    queues = cycle(
        [QUEUES[Role.NODE], QUEUES[Role.CONTROLLER], "arn:aws:sqs:us-east-1:123456789012:elsewhere"]
    )

    def envelope(records: list[dict[str, Any]]) -> Mapping[str, Any]:
        return taken({"Records": [r | {"eventSourceARN": next(queues)} for r in records]}, roles)

    def harm() -> int:
        return 0 if world.record(controller).key == key else 1

    return Target("agent_reports", world, world.wiring(), harm, envelope)


def samples_of(function: str) -> list[Any]:
    """The function's real events, those inside queue envelopes included."""
    found: list[Any] = []
    for path in sorted((EVENTS / function).glob("*.json")):
        event = json.loads(path.read_text())
        records = event.get("Records", []) if isinstance(event, dict) else []
        found += [_body(r["body"]) for r in records if "body" in r] or [event]
    return [event for event in found if event is not None]


def _body(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


TARGETS: Mapping[str, Callable[[], Target]] = {
    "session_limits": session_limits,
    "budget_holds": budget_holds,
    "agent_reports": agent_reports,
}
