import json
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from proctor.domain.decision import OutcomeStatus
from proctor.runtime.telemetry import LambdaTelemetry
from tests.adapters.values import SUBJECT, outcome, run, verdict
from tests.fakes.records import FakeTelemetry

if TYPE_CHECKING:
    from proctor.ports import Telemetry

type Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Lines:
    """What was printed since the last look, one object a line."""

    def read() -> list[dict[str, Any]]:
        return [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]

    return read


_NUMBERS = count()


def new() -> LambdaTelemetry:
    """Of a service of its own, made inside the test: powertools keeps one logger per name, with the output of its first use."""
    return LambdaTelemetry(f"function_{next(_NUMBERS)}")


def metrics(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Metric → value of the one metrics line."""
    (line,) = [item for item in found if "_aws" in item]
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "Proctor"
    assert directive["Dimensions"] == [["service"]]
    return {metric["Name"]: line[metric["Name"]] for metric in directive["Metrics"]}


def test_it_is_the_port() -> None:
    ports: list[type[Telemetry]] = [LambdaTelemetry, FakeTelemetry]

    assert len(ports) == 2


def test_an_outcome_is_one_line_and_one_count(lines: Lines) -> None:
    telemetry = new()
    telemetry.outcome(outcome(), run(actor="ops (claimed)"))
    telemetry.flush()

    found = lines()
    line = found[0]
    assert (line["level"], line["message"]) == ("INFO", "because of over_cap")
    assert line["subject"] == SUBJECT
    assert (line["outcome"], line["action"], line["actor"]) == (
        "applied",
        "TerminateSession",
        "ops (claimed)",
    )
    assert metrics(found) == {"OutcomeApplied": [1.0]}


@pytest.mark.parametrize("status", OutcomeStatus)
def test_what_a_person_should_look_at_is_a_warning(status: OutcomeStatus, lines: Lines) -> None:
    telemetry = new()
    telemetry.outcome(outcome(status=status), run())

    is_warning = lines()[0]["level"] == "WARNING"
    assert is_warning is (status.value in ("unconfirmed", "failed", "withheld", "contended"))


def test_a_line_holds_neither_inputs_nor_action_arguments(lines: Lines) -> None:
    telemetry = new()
    telemetry.outcome(outcome(inputs={"email": "ada@private.example"}), run())

    (line,) = lines()
    assert "private.example" not in json.dumps(line)


@pytest.mark.parametrize("times", [1, 99, 100, 101, 250])
def test_counts_are_printed_once_as_one_sum(times: int, lines: Lines) -> None:
    telemetry = new()
    for _ in range(times):
        telemetry.outcome(outcome(), run())
    telemetry.count("RecordRetried", 3)
    telemetry.flush()

    assert metrics(lines()) == {"OutcomeApplied": [float(times)], "RecordRetried": [3.0]}


def test_nothing_is_printed_without_counts_and_none_twice(lines: Lines) -> None:
    telemetry = new()
    telemetry.flush()
    assert lines() == []

    telemetry.count("X")
    telemetry.flush()
    lines()
    telemetry.flush()
    assert lines() == []


@pytest.mark.parametrize(
    ("reason", "detail", "metric"),
    [
        ("breach_without_event", "", "BreachWithoutEvent"),
        ("policy_refused", "", "PolicyRefused"),
        (
            "over_cap",
            "TerminalError: undeliverable: the address is suppressed or refused",
            "NoticeUndeliverable",
        ),
    ],
)
def test_what_has_an_alarm_has_a_metric(reason: str, detail: str, metric: str, lines: Lines) -> None:
    telemetry = new()
    given = outcome(reason, OutcomeStatus.NONE)
    telemetry.outcome(type(given)(verdict(reason), OutcomeStatus.NONE, detail), run())
    telemetry.flush()

    assert metrics(lines()) == {metric: [1.0]}


def test_a_warning_keeps_its_fields_apart(lines: Lines) -> None:
    telemetry = new()
    telemetry.warn("record parked", error="InvalidInputError", level="low", service="x")

    (line,) = lines()
    assert (line["level"], line["message"]) == ("WARNING", "record parked")
    assert line["fields"] == {"error": "InvalidInputError", "level": "low", "service": "x"}
