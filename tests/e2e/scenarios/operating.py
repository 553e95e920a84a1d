"""What operators do: policies, manual requests, the command line."""

import json
from typing import Any

from tests.e2e.catalogue import scenario
from tests.e2e.directory import BETA, POLICIES
from tests.e2e.world import World


@scenario
def a_valid_policy_is_put_in_force(world: World) -> None:
    version = world.stack.put_policy(BETA, {**POLICIES[BETA], "appeal": "Ask the operators."})
    world.wait(lambda: world.stack.version_in_force(BETA) == version, f"version {version} in force")
    world.expect_verdict(f"policy#{BETA}", "policy_valid", "applied")


@scenario
def a_bad_policy_is_refused_and_the_last_good_one_stays(world: World) -> None:
    before = world.stack.version_in_force(BETA)
    version = world.stack.put_policy(BETA, json.dumps({**POLICIES[BETA], "capp": {"max_sessions": 1}}))
    verdict = world.expect_verdict(f"policy#{BETA}", "policy_refused", "applied")
    assert "capp" in verdict["text"]
    world.expect_told(f"version {version} is refused")
    world.expect_alarm("policy-refused")
    assert world.stack.version_in_force(BETA) == before


@scenario
def a_manual_dry_run_says_what_would_happen(world: World) -> None:
    session_id = world.start(world.someone())
    world.settle()
    (outcome,) = _ends(world.stack.invoke(_end(session_id, is_dry_run=True)))
    assert (outcome["reason"], outcome["outcome"]) == ("requested", "dry_run")
    world.expect_kept(session_id)


@scenario
def a_session_is_ended_by_hand(world: World) -> None:
    ada = world.someone()
    session_id = world.start(ada)
    world.settle()
    (outcome,) = _ends(world.stack.invoke(_end(session_id, is_dry_run=False)))
    assert outcome["outcome"] == "applied"
    verdict = world.expect_ended(session_id, "requested")
    assert verdict["actor"] == "ops@uni.example (claimed)"


@scenario
def a_scope_is_decided_again_by_hand(world: World) -> None:
    ada = world.someone()
    world.local.settings(lose_next_records=4)
    *kept, newest = world.starts(ada, 4)
    request = _request(is_dry_run=False) | {"scope": {"kind": "person", "id": ada}}
    outcomes = _ends(world.stack.invoke(request))
    assert [(o["subject"], o["outcome"]) for o in outcomes] == [(f"session#{newest}", "applied")]
    world.expect_kept(*kept)


@scenario
def a_manual_request_with_a_typo_is_an_error_that_names_it(world: World) -> None:
    answer = world.stack.invoke(_request(is_dry_run=True) | {"scop": {"kind": "all"}})
    assert "errorType" in answer
    assert "scop" in answer["errorMessage"]


@scenario
def the_command_line_works_on_the_stack(world: World) -> None:
    ada = world.someone()
    session_id = world.start(ada)
    world.settle()
    assert "Needs attention" in world.stack.proctor("status", is_failure_fine=True)
    assert f"login_name   {ada}" in world.stack.proctor("why", "person", ada)
    answer = world.stack.proctor(
        "invoke", "session_limits", "--end", session_id, "--justification", "ticket 1", "--apply"
    )
    assert "applied" in answer
    world.expect_ended(session_id, "requested")


def _request(*, is_dry_run: bool) -> dict[str, Any]:
    return {
        "source": "proctor.manual",
        "requested_by": "ops@uni.example",
        "justification": "ticket 4711",
        "dry_run": is_dry_run,
    }


def _end(session_id: str, *, is_dry_run: bool) -> dict[str, Any]:
    action = {"action": "TerminateSession", "session_id": session_id}
    return _request(is_dry_run=is_dry_run) | {"actions": [action]}


def _ends(answer: dict[str, Any]) -> list[dict[str, Any]]:
    assert "outcomes" in answer, answer
    return [outcome for outcome in answer["outcomes"] if outcome["action"] == "TerminateSession"]
