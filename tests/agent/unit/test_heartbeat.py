"""When the agent says that it lives: every minute, at once when something came or went, and soon after Slurm's first read."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from proctor.domain.agent_protocol import Role
from proctor_agent.heartbeat import Pulse
from proctor_agent.outbox import Kind, Outbox
from proctor_agent.settings import AgentSettings
from tests.agent.unit.values import FakeClock

NOW = datetime(2026, 11, 30, 18, 6, tzinfo=UTC)
SETTINGS = AgentSettings(
    "alpha", Role.CONTROLLER, "ip-10-0-0-1", "i-0123456789abcdef0", "us-west-2", "t", "q"
)


@dataclass
class Desk:
    """A pulse and what it put into the outbox."""

    clock: FakeClock = field(default_factory=FakeClock)
    outbox: Outbox = field(default_factory=Outbox)

    def __post_init__(self) -> None:
        self.pulse = Pulse(SETTINGS, self.outbox, self.clock)

    def beats(self, read_at: datetime | None = None, problems: tuple[str, ...] = ()) -> bool:
        self.pulse.beat(
            is_acting=True, slurm_version="", intents_read_at=None, slurm_read_at=read_at, problems=problems
        )
        parcel = self.outbox.take(0)
        return parcel is not None and parcel.kind is Kind.HEARTBEAT


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_at_once_and_then_every_minute(desk: Desk) -> None:
    assert desk.beats()
    assert not desk.beats()
    desk.clock.advance(57.9)
    assert not desk.beats()
    desk.clock.advance(2.1)
    assert desk.beats()


def test_five_seconds_after_the_first_read_and_not_after_the_next(desk: Desk) -> None:
    assert desk.beats()
    desk.clock.advance(1)
    assert not desk.beats(NOW)
    desk.clock.advance(4.9)
    assert not desk.beats(NOW)
    desk.clock.advance(0.1)
    assert desk.beats(NOW)
    desk.clock.advance(6)
    assert not desk.beats(NOW)


def test_at_once_when_a_problem_comes_and_goes(desk: Desk) -> None:
    assert desk.beats()
    assert desk.beats(problems=("slurm: no answer",))
    assert not desk.beats(problems=("slurm: still none",))
    assert desk.beats()
