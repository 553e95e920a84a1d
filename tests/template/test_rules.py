"""Every rule takes its samples and refuses near-misses, and passes on only what the function reads."""

import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest

from proctor.domain.triggers import NoEvent
from session_limits.trigger import SessionSeen, parse
from tests.template.patterns import matches, render, variables
from tests.template.samples import names, sample
from tests.template.stack import Stack

START, RESUME, POLICY = "SessionLimitsStartRule", "SessionLimitsResumeRule", "SessionLimitsPolicyRule"
SWEEP = "SessionLimitsSweepRule"
FULL = "start_session_full_record"

CAUGHT_BY = {
    "start_session_full_record": START,
    "start_session_iam_user": START,
    "start_session_foreign_ec2": START,
    "start_session_default_document": START,
    "start_session_ssh": START,
    "start_session_port_forward": START,
    "start_session_failed": None,
    "start_session_access_denied": None,
    "resume_session": RESUME,
    "policy_changed": POLICY,
    "policy_changed_without_slash": POLICY,
}
NOT_FROM_THE_BUS = {"start_session", "sweep", "manual", "manual_end_session", "sqs_batch"}

NEAR_MISSES: list[tuple[str, dict[str, Any]]] = [
    (FULL, {"source": "aws.ec2"}),
    (FULL, {"source": "proctor.replay"}),
    (FULL, {"detail-type": "AWS Service Event via CloudTrail"}),
    (FULL, {"detail": {"eventSource": "ec2.amazonaws.com"}}),
    (FULL, {"detail": {"eventName": "TerminateSession"}}),
    (FULL, {"detail": {"eventName": "StartSessionX"}}),
    (FULL, {"detail": {"errorCode": "ThrottlingException"}}),
    (FULL, {"detail": {"responseElements": None}}),
    (FULL, {"detail": {"responseElements": {"tokenValue": "hidden"}}}),
    ("resume_session", {"detail": {"errorCode": "DoesNotExistException"}}),
    ("resume_session", {"detail": {"eventName": "TerminateSession"}}),
    ("resume_session", {"detail": {"eventSource": "athena.amazonaws.com"}}),
    ("policy_changed", {"source": "aws.secretsmanager"}),
    ("policy_changed", {"detail-type": "Parameter Store Policy Action"}),
    ("policy_changed", {"detail": {"operation": "Delete"}}),
    ("policy_changed", {"detail": {"operation": "LabelParameterVersion"}}),
    ("policy_changed", {"detail": {"name": "/proctor/alpha/pause"}}),
    ("policy_changed", {"detail": {"name": "/proctor/alpha/session_limits_old"}}),
    ("policy_changed", {"detail": {"name": "/other/proctor/alpha/session_limits"}}),
    ("policy_changed", {"detail": {"name": "/proctor/session_limits"}}),
]


def event_rules(stack: Stack) -> dict[str, dict[str, Any]]:
    return {name: rule for name, rule in stack.of_type("AWS::Events::Rule").items() if "EventPattern" in rule}


def catchers(stack: Stack, event: Mapping[str, Any]) -> list[str]:
    return [name for name, rule in event_rules(stack).items() if matches(rule["EventPattern"], event)]


def passed_on(stack: Stack, rule: str, event: Mapping[str, Any]) -> str:
    (target,) = stack.properties(rule)["Targets"]
    return render(target["InputTransformer"], event)


def changed(event: dict[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    made = copy.deepcopy(event)
    for name, value in change.items():
        if isinstance(value, dict) and isinstance(made.get(name), dict) and name == "detail":
            made[name] = made[name] | value
        else:
            made[name] = value
    return made


def test_every_sample_is_in_these_tables() -> None:
    assert CAUGHT_BY.keys() | NOT_FROM_THE_BUS == set(names("session_limits"))


@pytest.mark.parametrize(("name", "rule"), CAUGHT_BY.items())
def test_a_sample_is_caught_by_its_rule_alone(stack: Stack, name: str, rule: str | None) -> None:
    assert catchers(stack, sample(name)) == ([rule] if rule else [])


def test_every_rule_has_a_sample(stack: Stack) -> None:
    own = {name for name in event_rules(stack) if name.startswith("SessionLimits")}
    assert own == {rule for rule in CAUGHT_BY.values() if rule}


@pytest.mark.parametrize(("name", "change"), NEAR_MISSES)
def test_a_near_miss_is_refused(stack: Stack, name: str, change: dict[str, Any]) -> None:
    assert catchers(stack, sample(name)) == [CAUGHT_BY[name]]
    assert catchers(stack, changed(sample(name), change)) == []


def test_the_transformed_sample_is_what_the_rule_passes_on(stack: Stack) -> None:
    assert json.loads(passed_on(stack, START, sample(FULL))) == sample("start_session")


@pytest.mark.parametrize(("name", "rule"), [(n, r) for n, r in CAUGHT_BY.items() if r])
def test_the_function_reads_the_same_from_what_is_passed_on(stack: Stack, name: str, rule: str) -> None:
    assert parse(json.loads(passed_on(stack, rule, sample(name)))) == parse(sample(name))


def test_a_missing_document_name_means_the_default_document(stack: Stack) -> None:
    text = passed_on(stack, START, sample("start_session_default_document"))
    assert json.loads(text)["detail"]["requestParameters"]["documentName"] == ""
    trigger = parse(json.loads(text))
    assert isinstance(trigger, SessionSeen)
    assert trigger.document_name == "SSM-SessionManagerRunShell"


@pytest.mark.parametrize("place", ["requestParameters", "responseElements"])
def test_a_resume_is_read_with_its_session_in_either_place(stack: Stack, place: str) -> None:
    other = {"requestParameters", "responseElements"} - {place}
    event = changed(sample("resume_session"), {"detail": {other.pop(): None}})
    assert catchers(stack, event) == [RESUME]
    trigger = parse(json.loads(passed_on(stack, RESUME, event)))
    assert isinstance(trigger, SessionSeen)
    assert trigger.session_id == "ada@uni.example-t59j8gpq2ta8hniozstbnphqs8"


@pytest.mark.parametrize(("name", "rule"), [(n, r) for n, r in CAUGHT_BY.items() if r])
def test_no_token_address_or_key_is_passed_on(stack: Stack, name: str, rule: str) -> None:
    text = passed_on(stack, rule, sample(name))
    for secret in (
        "tokenValue",
        "hidden",
        "wss://",
        "cell-number",
        "198.51.100.7",
        "AKIA",
        "ASIA",
        "aws-cli",
    ):
        assert secret not in text


def test_each_variable_is_defined_used_and_in_quotes(stack: Stack) -> None:
    for rule in event_rules(stack).values():
        (target,) = rule["Targets"]
        transformer = target["InputTransformer"]
        used = variables(transformer)
        assert used == [f'"<{found[2:-2]}>"' for found in used]
        assert sorted(found[2:-2] for found in used) == sorted(transformer["InputPathsMap"])


def test_the_sweep_is_a_constant_at_the_given_pace(stack: Stack) -> None:
    rule = stack.properties(SWEEP)
    (target,) = rule["Targets"]
    assert rule["ScheduleExpression"] == "rate(2 minutes)"
    assert json.loads(target["Input"]) == sample("sweep")
    assert "EventPattern" not in rule


@pytest.mark.parametrize("name", ["start_session_failed", "start_session_access_denied"])
def test_a_failed_call_that_came_through_would_be_no_session(name: str) -> None:
    assert isinstance(parse(sample(name)), NoEvent)
