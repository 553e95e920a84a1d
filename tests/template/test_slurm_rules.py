"""Rules of agent_reports and budget_holds: what they take, and what they pass on."""

import json
from typing import Any

import pytest

from agent_reports.trigger import parse as parse_reports
from budget_holds.trigger import KINDS, ObservedChange
from budget_holds.trigger import parse as parse_holds
from proctor.domain.observed_rows import ANNOUNCED
from proctor.domain.triggers import PolicyChanged, Sweep
from tests.template.patterns import matches, render
from tests.template.samples import sample
from tests.template.stack import Stack


def catchers(stack: Stack, event: dict[str, Any]) -> list[str]:
    rules = stack.of_type("AWS::Events::Rule")
    return [
        name
        for name, rule in rules.items()
        if "EventPattern" in rule and matches(rule["EventPattern"], event)
    ]


def passed_on(stack: Stack, rule: str, event: dict[str, Any]) -> dict[str, Any]:
    (target,) = stack.properties(rule)["Targets"]
    return dict(json.loads(render(target["InputTransformer"], event)))


def written(name: str, operation: str = "Update") -> dict[str, Any]:
    return {
        "id": "x",
        "time": "2026-09-01T12:00:02Z",
        "source": "aws.ssm",
        "detail-type": "Parameter Store Change",
        "detail": {"operation": operation, "name": name, "type": "String"},
    }


def observed(kind: str, **change: Any) -> dict[str, Any]:
    event = {
        "source": "proctor.observed",
        "detail-type": "Observed Changed",
        "detail": {"cluster": "alpha", "kind": kind},
    }
    return {**event, **change}


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("/proctor/alpha/agent_reports", "AgentReportsPolicyRule"),
        ("proctor/alpha/agent_reports", "AgentReportsPolicyRule"),
        ("/proctor/alpha/budget_holds", "BudgetHoldsPolicyRule"),
        ("/proctor/alpha/budget_holds/physics", "BudgetHoldsPolicyRule"),
        ("proctor/alpha/budget_holds/physics", "BudgetHoldsPolicyRule"),
        ("/proctor/alpha/agent_reports_old", None),
        ("/proctor/alpha/budget_holds_old", None),
        ("/proctor/alpha/pause", None),
        ("/other/alpha/budget_holds", None),
    ],
)
def test_a_policy_goes_to_its_function(stack: Stack, name: str, rule: str | None) -> None:
    assert catchers(stack, written(name)) == ([rule] if rule else [])
    assert catchers(stack, written(name, "Delete")) == []
    assert catchers(stack, written(name, "LabelParameterVersion")) == []


def test_what_is_passed_on_of_a_policy_is_read_as_such(stack: Stack) -> None:
    reports = passed_on(stack, "AgentReportsPolicyRule", written("proctor/alpha/agent_reports"))
    assert parse_reports(reports) == PolicyChanged("/proctor/alpha/agent_reports")
    told = passed_on(stack, "AgentReportsPolicyRule", sample("policy_changed", "agent_reports"))
    assert parse_reports(told) == PolicyChanged("/proctor/alpha/agent_reports")
    holds = passed_on(stack, "BudgetHoldsPolicyRule", written("/proctor/alpha/budget_holds/physics"))
    found = parse_holds(holds)
    assert isinstance(found, PolicyChanged)
    assert (found.cluster, found.definition) == ("alpha", "physics")


@pytest.mark.parametrize("kind", ANNOUNCED)
def test_budget_holds_is_woken_by_the_kinds_that_it_reads(stack: Stack, kind: str) -> None:
    assert catchers(stack, observed(kind)) == (["BudgetHoldsObservedRule"] if kind in KINDS else [])
    if kind in KINDS:
        assert parse_holds(passed_on(stack, "BudgetHoldsObservedRule", observed(kind))) == ObservedChange(
            "alpha", kind
        )


@pytest.mark.parametrize(
    "change", [{"source": "proctor.replay"}, {"detail-type": "Proctor Outcome"}, {"detail": {}}]
)
def test_a_near_miss_of_a_change_is_refused(stack: Stack, change: dict[str, Any]) -> None:
    assert catchers(stack, observed("usage", **change)) == []


@pytest.mark.parametrize(
    ("rule", "rate"),
    [("AgentReportsSweepRule", "rate(1 minute)"), ("BudgetHoldsSweepRule", "rate(10 minutes)")],
)
def test_sweeps_are_constants_at_their_pace(stack: Stack, rule: str, rate: str) -> None:
    properties = stack.properties(rule)
    (target,) = properties["Targets"]
    assert properties["ScheduleExpression"] == rate
    event = json.loads(target["Input"])
    assert isinstance(parse_reports(event), Sweep)
    assert isinstance(parse_holds(event), Sweep)


def test_changes_are_heard_on_the_bus_that_they_are_told_on(stack: Stack) -> None:
    assert stack.properties("BudgetHoldsObservedRule")["EventBusName"] == "default"
    # AWS's own events come on the default bus only.
    assert "EventBusName" not in stack.properties("BudgetHoldsPolicyRule")


def test_reports_reach_the_function_from_queues_of_each_role(stack: Stack) -> None:
    mappings = stack.of_type("AWS::Lambda::EventSourceMapping").values()
    function = stack.refs["AgentReportsFunction"]
    sources = {m["EventSourceArn"] for m in mappings if m["FunctionName"] == function}
    queues = ("ControllerReportsQueue", "NodeReportsQueue", "AgentReportsQueue")
    assert sources == {stack.arns[name] for name in queues}
