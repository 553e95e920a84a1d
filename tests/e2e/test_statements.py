"""IAM mutation: each statement of each role is taken away in turn, on the live role, and some scenario must miss it."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

import pytest

from proctor_local.aws_client import text_of
from tests.e2e.scenarios import SCENARIOS
from tests.e2e.statements import MAPPING, TWINS, actions_of, covered, listed_in_docs, of_the_template
from tests.e2e.world import World

pytestmark = pytest.mark.stack


def test_every_statement_is_mapped_to_a_scenario_or_listed_with_the_reason() -> None:
    known = MAPPING.keys() | listed_in_docs().keys()
    assert MAPPING.keys().isdisjoint(listed_in_docs())
    assert {pair for pair in known if pair[0] in covered()} == {
        p for p in of_the_template() if p[0] in covered()
    }
    assert {*MAPPING.values(), *TWINS.values()} <= SCENARIOS.keys()
    assert {(role, sid) for role, sids in TWINS for sid in sids} <= listed_in_docs().keys()


def test_every_role_has_scenarios_or_is_listed_with_the_reason() -> None:
    listed = {role for role, sid in listed_in_docs() if sid == "*"}
    assert covered().isdisjoint(listed)
    assert covered() | listed == {role for role, _ in of_the_template()}


@pytest.mark.parametrize("name", sorted(set(MAPPING.values())))
def test_on_a_cold_stack_with_all_statements_nothing_is_missed(world: World, name: str) -> None:
    role = next(role for (role, _), scenario in MAPPING.items() if scenario == name)
    world.functions[role.removesuffix("Role")].recycle()
    world.local.clear_denials()
    world.is_mutant = True
    try:
        SCENARIOS[name](world)
    finally:
        world.is_mutant = False


@pytest.mark.parametrize(("role", "sid"), list(MAPPING))
def test_a_statement_taken_away_is_missed(world: World, role: str, sid: str) -> None:
    misses(world, role, (sid,), MAPPING[role, sid])


@pytest.mark.parametrize(("role", "sids"), list(TWINS))
def test_statements_that_grant_the_same_are_missed_together(
    world: World, role: str, sids: tuple[str, ...]
) -> None:
    first, *others = ({**of_the_template()[role, sid], "Sid": ""} for sid in sids)
    assert others == [first] * len(others)
    misses(world, role, sids, TWINS[role, sids])


def misses(world: World, role: str, sids: Sequence[str], name: str) -> None:
    """A scenario fails without these statements, and IAM refused one of their actions."""
    with without(world, role, sids):
        world.is_mutant = True
        try:
            SCENARIOS[name](world)
        except AssertionError as missed:
            why = str(missed)
        else:
            pytest.fail(f"{name} passes without {', '.join(sids)}")
        finally:
            world.is_mutant = False
        refused = world.refusals()
    actions = [action for sid in sids for action in actions_of(of_the_template()[role, sid])]
    assert any(action in text for action in actions for text in refused), (why, refused)


@contextmanager
def without(world: World, role: str, sids: Sequence[str]) -> Iterator[None]:
    """The live role without some statements, and a function that starts cold. Afterwards everything is as before."""
    name, policy, document = live_policy(world, role)
    function = world.functions[role.removesuffix("Role")]
    kept = [statement for statement in document["Statement"] if statement["Sid"] not in sids]
    assert len(kept) == len(document["Statement"]) - len(sids)
    try:
        put_policy(world, name, policy, {**document, "Statement": kept})
        function.purge()  # what waits for another try would be taken for work that goes on
        function.recycle()
        world.local.clear_denials()
        yield
    finally:
        put_policy(world, name, policy, document)
        function.purge()
        function.recycle()
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
