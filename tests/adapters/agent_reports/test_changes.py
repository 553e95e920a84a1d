import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from proctor.adapters.observed_changes import EventBridgeChanges
from proctor.ports.agents import ChangeAnnouncer
from proctor.wire.observed_event import OBSERVED_CHANGED
from proctor.wire.parsing import parse
from tests.adapters.aws import CountedClients, ScriptedClients, json_error
from tests.fakes.agents import FakeChangeAnnouncer
from tests.fakes.records import FakeTelemetry
from tests.fakes.values import NOW


@dataclass
class Setting:
    """An announcer, another evaluator's, and what was told."""

    announcer: ChangeAnnouncer
    other: ChangeAnnouncer
    told: Callable[[], list[tuple[str, str]]]


class Bus(CountedClients):
    """Counts what is put; moto's bus keeps nothing to read back."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[dict[str, Any]] = []

    def _called(self, model: Any, params: Any = None, **more: Any) -> None:
        super()._called(model, **more)
        if model.name == "PutEvents":
            self.entries += json.loads(params["body"])["Entries"]


@pytest.fixture(params=["fake", "dynamodb"])
def here(request: pytest.FixtureRequest) -> Setting:
    if request.param == "fake":
        fake = FakeChangeAnnouncer()
        return Setting(fake, fake, lambda: fake.told)
    request.getfixturevalue("tables")
    bus = Bus()

    def announcer() -> EventBridgeChanges:
        return EventBridgeChanges(bus, "default", "observed", FakeTelemetry())

    def told() -> list[tuple[str, str]]:
        details = [json.loads(entry["Detail"]) for entry in bus.entries]
        return [(detail["cluster"], detail["kind"]) for detail in details]

    return Setting(announcer(), announcer(), told)


def test_the_first_change_is_told_at_once(here: Setting) -> None:
    here.announcer.announce("alpha", ["jobs", "usage"], NOW)
    assert here.told() == [("alpha", "jobs"), ("alpha", "usage")]


def test_another_one_within_ten_seconds_waits_whoever_sees_it(here: Setting) -> None:
    here.announcer.announce("alpha", ["jobs"], NOW)
    here.announcer.announce("alpha", ["jobs"], NOW + timedelta(seconds=1))
    here.other.announce("alpha", ["jobs"], NOW + timedelta(seconds=9))
    here.other.announce("beta", ["jobs"], NOW + timedelta(seconds=9))
    assert here.told() == [("alpha", "jobs"), ("beta", "jobs")]


def test_what_was_held_back_is_told_once_when_its_time_has_come(here: Setting) -> None:
    here.announcer.announce("alpha", ["jobs", "usage"], NOW)
    here.announcer.announce("alpha", ["jobs"], NOW + timedelta(seconds=1))
    here.other.announce("alpha", None, NOW + timedelta(seconds=5))
    assert len(here.told()) == 2
    for seconds in (20, 40):
        here.other.announce("alpha", None, NOW + timedelta(seconds=seconds))
    assert here.told() == [("alpha", "jobs"), ("alpha", "usage"), ("alpha", "jobs")]


def test_a_clock_set_back_does_not_silence_changes(here: Setting) -> None:
    here.announcer.announce("alpha", ["jobs"], NOW + timedelta(hours=1))
    here.other.announce("alpha", ["jobs"], NOW)
    assert len(here.told()) == 2


# The bus


def test_an_event_is_what_its_reader_expects(tables: CountedClients) -> None:
    bus = Bus()
    EventBridgeChanges(bus, "research", "observed", FakeTelemetry()).announce("alpha", ["usage"], NOW)
    (entry,) = bus.entries
    assert (entry["EventBusName"], entry["Source"], entry["DetailType"]) == (
        "research",
        "proctor.observed",
        "Observed Changed",
    )
    event = {
        "source": entry["Source"],
        "detail-type": entry["DetailType"],
        "detail": json.loads(entry["Detail"]),
    }
    assert parse(OBSERVED_CHANGED, event).detail.kind == "usage"


def test_calls(tables: CountedClients) -> None:
    changes = EventBridgeChanges(tables, "default", "observed", FakeTelemetry())
    changes.announce("alpha", ["jobs", "usage", "results"], NOW)
    assert tables.calls == ["UpdateItem"] * 3 + ["PutEvents"]
    tables.calls.clear()
    for seconds in range(1, 5):
        changes.announce("alpha", ["jobs"], NOW + timedelta(seconds=seconds))
    assert tables.calls == ["UpdateItem"] * 2


@pytest.mark.parametrize(
    "answer",
    [
        json_error("InternalException", status=500),
        json_error("AccessDeniedException"),
        {"FailedEntryCount": 1, "Entries": [{"ErrorCode": "ThrottlingException"}]},
    ],
)
def test_a_bus_that_refuses_is_tried_again_by_the_sweep(answer: Any) -> None:
    telemetry = FakeTelemetry()
    aws = ScriptedClients(UpdateItem={}, PutEvents=answer)
    EventBridgeChanges(aws, "default", "observed", telemetry).announce("alpha", ["jobs"], NOW)

    assert telemetry.counts["ChangeNotAnnounced"] == 1
    name, body = aws.sent[-1]
    assert (name, body["UpdateExpression"]) == ("UpdateItem", "SET is_pending = :yes")
