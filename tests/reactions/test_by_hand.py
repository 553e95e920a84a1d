"""Manual requests: the same path, a dry run unless it says otherwise."""

from typing import Any

import pytest

from proctor.domain.decision import Mode
from proctor.domain.errors import DeniedError, InvalidInputError, ThrottledError
from tests.fakes.taps import FailAt
from tests.fakes.values import NODE
from tests.fakes.world import World
from tests.reactions.conftest import university

PERSON = {"kind": "person", "id": "ada"}


def three_open(**policy: Any) -> World:
    world = university(**policy)
    for _ in range(3):
        world.open_session("ada")
        world.clock.advance(seconds=1)
    return world


def by_subject(outcomes: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    return {o["subject"]: (o["reason"], o["outcome"]) for o in outcomes}


def test_a_request_is_a_dry_run_unless_it_says_otherwise() -> None:
    world = three_open()

    outcomes = by_subject(world.manual(scope=PERSON))
    assert outcomes["session#ada@uni.example-0003"] == ("over_cap", "dry_run")
    assert outcomes["session#ada@uni.example-0001"] == ("allowed", "none")
    assert len(world.live("ada")) == 3
    assert world.claims.audits == {}


@pytest.mark.parametrize(
    "scope",
    [
        PERSON,
        {"kind": "session", "id": "ada@uni.example-0001"},
        {"kind": "node", "id": NODE},
        {"kind": "all"},
    ],
)
def test_every_scope_is_decided_by_the_rules(scope: dict[str, str]) -> None:
    world = three_open()

    outcomes = by_subject(world.manual(scope=scope, dry_run=False))
    assert outcomes["session#ada@uni.example-0003"] == ("over_cap", "applied")
    assert len(world.live("ada")) == 2


def test_who_asked_and_why_stands_in_the_audit() -> None:
    world = three_open()
    world.manual(scope=PERSON, dry_run=False)

    contexts = {(a.context.actor, a.context.justification) for a in world.claims.audits.values()}
    assert contexts == {("ops@uni.example (claimed)", "ticket 4711")}


def test_a_named_session_is_ended_within_the_cap_and_its_person_told() -> None:
    world = university()
    only = world.start_session("ada")
    outcomes = by_subject(
        world.manual(actions=[{"action": "TerminateSession", "session_id": only.session_id}], dry_run=False)
    )

    assert outcomes[f"session#{only.session_id}"] == ("requested", "applied")
    assert world.live("ada") == set()
    assert "asked for by ops@uni.example" in world.mail.sent[0].text


@pytest.mark.parametrize("is_dry_run", [True, False])
def test_an_id_nobody_knows_is_said_to_be_unknown_and_not_ended(world: World, is_dry_run: bool) -> None:
    action = {"action": "TerminateSession", "session_id": "ada@uni.example-zz"}
    outcomes = by_subject(world.manual(actions=[action], dry_run=is_dry_run))

    assert outcomes == {"session#ada@uni.example-zz": ("unknown", "none")}
    assert world.sessions.terminate_calls == []


def test_a_session_of_another_cluster_is_not_ended_by_name(world: World) -> None:
    foreign = world.open_session("ada", target="i-0fedcba9876543210")
    action = {"action": "TerminateSession", "session_id": foreign.session_id}

    assert by_subject(world.manual(actions=[action], dry_run=False)) == {
        f"session#{foreign.session_id}": ("unknown", "none")
    }
    assert world.sessions.terminate_calls == []


def test_the_stack_in_dry_run_bounds_a_request_that_means_it() -> None:
    world = three_open()
    world.bound = Mode.DRY_RUN

    assert ("over_cap", "dry_run") in by_subject(world.manual(scope=PERSON, dry_run=False)).values()
    assert len(world.live("ada")) == 3


def test_a_named_session_of_an_unmapped_owner_can_be_ended(world: World) -> None:
    world.people.remove("ada")
    only = world.open_session("ada")
    action = {"action": "TerminateSession", "session_id": only.session_id}

    world.manual(actions=[action], dry_run=False)
    assert world.live() == set()
    assert world.mail.sent == []


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"scope": PERSON, "dryrun": False}, id="a typo"),
        pytest.param({"scope": {"kind": "account", "id": "1"}}, id="a scope of another function"),
        pytest.param({"actions": [{"action": "DrainNode", "node": "x"}]}, id="an action of another function"),
        pytest.param({}, id="nothing asked"),
    ],
)
def test_a_request_that_cannot_be_used_is_refused_to_its_caller(world: World, fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        world.manual(**fields)
    assert world.parking.parked == []
    assert world.taps.journal == []


def test_an_error_of_a_port_reaches_the_caller() -> None:
    world = three_open()
    world.taps.active.append(FailAt(lambda: ThrottledError("slow down"), name="sessions.active_sessions"))

    with pytest.raises(ThrottledError):
        world.manual(scope=PERSON, dry_run=False)
    assert world.sessions.terminate_calls == []


def glass(lift: str) -> dict[str, Any]:
    return {"scope": PERSON, "dry_run": False, "break_glass": {"lift": lift, "caller_proof": "url"}}


def flooded() -> World:
    world = university(cap={"max_sessions": 1}, guardrails={"session_ends": {"per_run": 1}})
    for _ in range(3):
        world.open_session("ada")
    return world


def test_break_glass_without_a_valid_proof_is_denied_before_anything_is_read() -> None:
    world = flooded()

    with pytest.raises(DeniedError):
        world.manual(**glass("session_ends"))
    assert world.taps.journal == []


def test_break_glass_lifts_the_named_limit_in_the_proven_name() -> None:
    world = flooded()
    world.caller_arn = "arn:aws:iam::123456789012:user/root-cause"

    world.manual(**glass("notices"))
    assert len(world.live("ada")) == 3
    world.manual(**glass("session_ends"))
    assert len(world.live("ada")) == 1
    assert {a.context.actor for a in world.claims.audits.values()} == {world.caller_arn}


def test_break_glass_lifts_the_window_of_the_named_limit_too() -> None:
    world = university(cap={"max_sessions": 1}, guardrails={"session_ends": {"per_window": 1}})
    for _ in range(4):
        world.open_session("ada")
    world.caller_arn = "arn:aws:iam::123456789012:user/root-cause"

    world.manual(scope=PERSON, dry_run=False)
    assert len(world.live("ada")) == 3
    world.clock.advance(minutes=3)
    world.manual(**glass("session_ends"))
    assert len(world.live("ada")) == 1
