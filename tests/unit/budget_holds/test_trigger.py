"""Every sample in events/budget_holds parses; hostile and odd ones are refused with the field's name."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from budget_holds.snapshot import Order, OrderKind
from budget_holds.trigger import (
    BudgetMessage,
    Manual,
    ObservedChange,
    Trigger,
    parse,
)
from proctor.domain.errors import InvalidInputError
from proctor.domain.triggers import NoEvent, PolicyChanged, Sweep

EVENTS = Path(__file__).parents[3] / "events" / "budget_holds"


def sample(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((EVENTS / name).read_text(encoding="utf-8"))
    return loaded


@pytest.mark.parametrize(
    ("name", "trigger"),
    [
        ("budgets_actual.json", BudgetMessage("hyperpod-alpha", "123456789012")),
        ("budgets_forecasted.json", BudgetMessage("test", "123456789012")),
        ("budgets_daily.json", BudgetMessage("daily-cap", "123456789012")),
        ("budgets_euro.json", BudgetMessage("Lehrstuhl für Informatik", "123456789012")),
        ("sweep.json", Sweep()),
        ("observed_changed.json", ObservedChange("alpha", "usage")),
        ("observed_jobs_changed.json", NoEvent("Observed jobs")),
        ("policy_changed.json", PolicyChanged("/proctor/alpha/budget_holds")),
        ("budget_changed.json", PolicyChanged("/proctor/alpha/budget_holds/lab1")),
    ],
)
def test_samples(name: str, trigger: Trigger) -> None:
    assert parse(sample(name)) == trigger


def test_manual_samples() -> None:
    scope = parse(sample("manual.json"))
    assert isinstance(scope, Manual)
    assert (scope.scope_kind, scope.scope_id, scope.is_dry_run, scope.orders) == ("account", "lab1", True, ())
    held = parse(sample("manual_hold.json"))
    assert isinstance(held, Manual)
    until = datetime(2026, 9, 20, tzinfo=UTC)
    assert held.orders == (
        Order(kind=OrderKind.HOLD, budget="lab1", by="operator@uni.example", until_at=until),
    )
    for name, kind in [
        ("manual_release.json", OrderKind.RELEASE),
        ("manual_approve.json", OrderKind.APPROVE),
    ]:
        found = parse(sample(name))
        assert isinstance(found, Manual)
        assert [o.kind for o in found.orders] == [kind]


def test_every_sample_is_tested() -> None:
    for path in EVENTS.glob("*.json"):
        raw = json.loads(path.read_text(encoding="utf-8"))
        for one in [json.loads(r["body"]) for r in raw["Records"]] if "Records" in raw else [raw]:
            parse(one)


def test_the_definitions_parameter_names_its_budget() -> None:
    changed = PolicyChanged("/proctor/alpha/budget_holds/lab1")
    assert (changed.cluster, changed.definition) == ("alpha", "lab1")
    assert PolicyChanged("/proctor/alpha/budget_holds").definition is None


def message(text: str) -> dict[str, Any]:
    return {"Type": "Notification", "Message": text}


def written(name: str, operation: str = "Update") -> dict[str, Any]:
    detail = {"operation": operation, "name": name}
    return {"source": "aws.ssm", "detail-type": "Parameter Store Change", "detail": detail}


GOOD = "AWS Account 123456789012\r\n\r\nBudget Name: a b-c \r\nBudgeted Amount: 1.000,00 EUR\r\n"


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"source": "aws.ec2", "detail-type": "x"},
        {"Type": "SubscriptionConfirmation", "Message": GOOD},
        message(""),
        message("Budget Name: a\n"),
        message("AWS Account 123456789012\n"),
        message("AWS Account 123456789012\nBudget Name: a\nBudget Name: b\n"),
        message("AWS Account 123456789012\nAWS Account 210987654321\nBudget Name: a\n"),
        message("AWS Account 12345\nBudget Name: a\n"),
        message(f"AWS Account 123456789012\nBudget Name: {'a' * 101}\n"),
        message("AWS Account 123456789012 and more\nBudget Name: a\n"),
        {"source": "proctor.observed", "detail": {"cluster": "../x", "kind": "usage"}},
        {"source": "proctor.observed", "detail": {"cluster": "alpha"}},
        written("/proctor/a/session_limits"),
        written("/proctor/a/budget_holds/b/c"),
        written("/proctor/a/budget_holds/"),
    ],
)
def test_what_can_not_be_used_is_refused(event: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        parse(event)


def test_amounts_in_any_format_are_not_read() -> None:
    assert parse(message(GOOD)) == BudgetMessage("a b-c", "123456789012")


MANUAL = {"source": "proctor.manual", "requested_by": "o", "justification": "j"}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"scope": {"kind": "person", "id": "ada"}},
        {"scope": {"kind": "all"}, "actions": [{"action": "HoldBudget", "budget": "b"}]},
        {"actions": [{"action": "TerminateSession", "session_id": "x"}]},
        {"actions": [{"action": "HoldBudget", "budget": "b", "unti": "2026-01-01T00:00:00Z"}]},
        {"actions": [{"action": "HoldBudget", "budget": "b", "until": "2026-01-01T00:00:00"}]},
        {"actions": [{"action": "ApproveBudget", "budget": "b", "until": "2026-01-01T00:00:00Z"}]},
        {"actions": [{"action": "HoldBudget", "budget": "b"}, {"action": "ReleaseBudget", "budget": "b"}]},
        {"scope": {"kind": "all"}, "dryrun": False},
        {"scope": {"kind": "all"}, "requested_by": "ops\nSubject: hello"},
        {"scope": {"kind": "all"}, "justification": "one line\u2028and another"},
    ],
)
def test_odd_requests_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        parse({**MANUAL, **fields})


@pytest.mark.parametrize("operation", ["LabelParameterVersion", "Delete"])
def test_labels_and_deletions_ask_for_nothing(operation: str) -> None:
    assert parse(written("proctor/a/budget_holds", operation)) == NoEvent(operation)
