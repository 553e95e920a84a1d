"""IAM mutation: each statement of each role is taken away in turn, on the live role, and some scenario must miss it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

import pytest

from proctor_local.aws_client import text_of
from tests.e2e.scenarios import SCENARIOS
from tests.e2e.statements import MAPPING, actions_of, covered, listed_in_docs, of_the_template
from tests.e2e.world import World

pytestmark = pytest.mark.stack


def test_every_statement_is_mapped_to_a_scenario_or_listed_with_the_reason() -> None:
    known = MAPPING.keys() | listed_in_docs().keys()
    assert MAPPING.keys().isdisjoint(listed_in_docs())
    assert {pair for pair in known if pair[0] in covered()} == {
        p for p in of_the_template() if p[0] in covered()
    }
    assert set(MAPPING.values()) <= SCENARIOS.keys()


def test_every_role_has_scenarios_or_is_listed_with_the_reason() -> None:
    listed = {role for role, sid in listed_in_docs() if sid == "*"}
    assert covered().isdisjoint(listed)
    assert covered() | listed == {role for role, _ in of_the_template()}


@pytest.mark.parametrize("name", sorted(set(MAPPING.values())))
def test_on_a_cold_stack_with_all_statements_nothing_is_missed(world: World, name: str) -> None:
    world.stack.recycle()
    world.local.clear_denials()
    world.is_mutant = True
    try:
        SCENARIOS[name](world)
    finally:
        world.is_mutant = False


@pytest.mark.parametrize(("role", "sid"), list(MAPPING))
def test_a_statement_taken_away_is_missed(world: World, role: str, sid: str) -> None:
    with without(world, role, sid):
        world.is_mutant = True
        try:
            SCENARIOS[MAPPING[role, sid]](world)
        except AssertionError as missed:
            why = str(missed)
        else:
            pytest.fail(f"{MAPPING[role, sid]} passes without {sid}")
        finally:
            world.is_mutant = False
        refused = world.refusals()
    assert any(action in text for action in actions_of(of_the_template()[role, sid]) for text in refused), (
        why,
        refused,
    )


@contextmanager
def without(world: World, role: str, sid: str) -> Iterator[None]:
    """The live role without one statement, and a function that starts cold. Afterwards everything is as before."""
    name, policy, document = live_policy(world, role)
    kept = [statement for statement in document["Statement"] if statement["Sid"] != sid]
    assert len(kept) == len(document["Statement"]) - 1
    put_policy(world, name, policy, {**document, "Statement": kept})
    world.stack.recycle()
    world.local.clear_denials()
    try:
        yield
    finally:
        put_policy(world, name, policy, document)
        world.stack.purge()
        world.stack.recycle()
        world.local.clear_denials()


def live_policy(world: World, role: str) -> tuple[str, str, dict[str, Any]]:
    """Name of the deployed role, of its one inline policy, and the policy."""
    root = world.local.aws()
    found = root.query(
        "cloudformation", "DescribeStackResource", StackName=world.stack.name, LogicalResourceId=role
    )
    name = text_of(found, "PhysicalResourceId")
    policies = root.query("iam", "ListRolePolicies", RoleName=name)
    (policy,) = [e.text or "" for e in policies.iter() if e.tag.rsplit("}", 1)[-1] == "member"]
    answer = root.query("iam", "GetRolePolicy", RoleName=name, PolicyName=policy)
    return name, policy, dict(json.loads(unquote(text_of(answer, "PolicyDocument"))))


def put_policy(world: World, name: str, policy: str, document: dict[str, Any]) -> None:
    root = world.local.aws()
    root.query("iam", "PutRolePolicy", RoleName=name, PolicyName=policy, PolicyDocument=json.dumps(document))
