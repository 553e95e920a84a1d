"""`proctor invoke`: the request that is sent, and how outcomes and refusals end."""

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.domain.errors import ContendedError, DeniedError, InvalidInputError
from proctor_cli.caller import shortened
from proctor_cli.exits import Exit
from proctor_cli.invoke import exit_of_outcomes
from session_limits.trigger import Manual, parse
from tests.unit.cli.desk import Desk
from tests.unit.cli.holds_desk import HoldsDesk

WHY = ("--justification", "ticket 4711")


def _outcome(**more: Any) -> dict[str, Any]:
    return {
        "subject": "session#ada-1",
        "cluster": "gpu",
        "rule": "cap",
        "reason": "over_cap",
        "text": "over the cap",
        "action": "TerminateSession",
        "outcome": "dry_run",
        "detail": "",
        **more,
    }


def _sent(desk: Desk, *argv: str) -> dict[str, Any]:
    """The one request, which the function itself must be able to read."""
    desk.clients.fake_functions.answer = lambda _: {"outcomes": [_outcome()]}
    printed = desk.run("invoke", "session_limits", *argv, *WHY)
    assert (printed.exit, printed.err) == (0, "")
    (request,) = desk.clients.fake_functions.requests
    assert isinstance(parse(request), Manual)
    return request


def test_a_scope_is_a_dry_run_in_the_callers_name(desk: Desk) -> None:
    request = _sent(desk, "--scope", "person:ada")
    assert request == {
        "source": "proctor.manual",
        "requested_by": desk.clients.sts().get_caller_identity()["Arn"],
        "justification": "ticket 4711",
        "dry_run": True,
        "scope": {"kind": "person", "id": "ada"},
    }
    assert desk.clients.fake_functions.names == ["proctor-session-limits"]


def test_a_scope_id_may_hold_colons_and_all_needs_none(desk: Desk) -> None:
    assert _sent(desk, "--scope", "session:a:b@c-1")["scope"] == {"kind": "session", "id": "a:b@c-1"}
    desk.clients.fake_functions.requests.clear()
    assert _sent(desk, "--scope", "all")["scope"] == {"kind": "all"}


def test_ends_are_actions_and_apply_acts(desk: Desk) -> None:
    request = _sent(desk, "--end", "ada-1", "--end", "ada-2", "--apply")
    assert request["dry_run"] is False
    assert request["actions"] == [
        {"action": "TerminateSession", "session_id": "ada-1"},
        {"action": "TerminateSession", "session_id": "ada-2"},
    ]


@pytest.mark.parametrize("name", ["manual.json", "manual_end_session.json"])
def test_the_sample_requests_are_sent_as_dry_runs_in_the_callers_name(desk: Desk, name: str) -> None:
    file = Path(__file__).parents[3] / "events" / "session_limits" / name
    request = _sent(desk, "--event-file", str(file))
    sample = json.loads(file.read_text())
    assert request.get("scope") == sample.get("scope")
    assert request.get("actions") == sample.get("actions")
    assert request["dry_run"] is True
    assert request["requested_by"].startswith("arn:")
    assert request["justification"] == "ticket 4711"


def test_a_file_cannot_turn_apply_on_nor_bring_a_proof_along(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    proof = {"lift": "share", "caller_proof": "https://sts.us-east-1.amazonaws.com/?x"}
    request = {"source": "proctor.manual", "dry_run": False, "scope": {"kind": "all"}, "break_glass": proof}
    file.write_text(json.dumps(request))
    sent = _sent(desk, "--event-file", str(file))
    assert sent["dry_run"] is True
    assert "break_glass" not in sent


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "write one JSON object"),
        ("[]", 'use "proctor.manual"'),
        ('{"source": "aws.ssm"}', 'use "proctor.manual"'),
        ('{"source": "proctor.manual", "scoop": {}, "scope": {"kind": "all"}}', "scoop"),
        ('{"source": "proctor.manual", "scope": {"kind": "planet", "id": "x"}}', "scope.kind"),
        (
            '{"source": "proctor.manual", "actions": [{"action": "RebootClusterNode"}]}',
            "TerminateSession only",
        ),
        ('{"source": "proctor.manual"}', "give either scope or actions"),
    ],
)
def test_a_request_that_the_function_would_refuse_is_not_sent(
    desk: Desk, tmp_path: Path, content: str, told: str
) -> None:
    file = tmp_path / "request.json"
    file.write_text(content)
    printed = desk.run("invoke", "session_limits", "--event-file", str(file), *WHY)
    assert printed.exit == Exit.USAGE
    assert told in printed.err
    assert desk.clients.fake_functions.requests == []


@pytest.mark.parametrize("scope", ["ada", "person:", "account:123456789012", "persons:ada"])
def test_a_scope_that_is_none_is_a_usage_error(desk: Desk, scope: str) -> None:
    printed = desk.run("invoke", "session_limits", "--scope", scope, *WHY)
    assert printed.exit == Exit.USAGE
    assert desk.clients.fake_functions.requests == []


def test_an_empty_justification_is_refused(desk: Desk) -> None:
    printed = desk.run("invoke", "session_limits", "--scope", "all", "--justification", "")
    assert printed.exit == Exit.USAGE
    assert "justification" in printed.err


def test_break_glass_adds_a_proof_and_names_the_limit(desk: Desk) -> None:
    request = _sent(desk, "--scope", "all", "--apply", "--break-glass", "share")
    assert request["break_glass"]["lift"] == "share"
    assert request["break_glass"]["caller_proof"].startswith("https://sts.us-east-1.amazonaws.com/?")


def test_a_limit_that_does_not_exist_is_refused_before_a_proof_is_made(desk: Desk) -> None:
    printed = desk.run("invoke", "session_limits", "--scope", "all", "--break-glass", "cap", *WHY)
    assert printed.exit == Exit.USAGE
    assert "name one of notices, session_ends, share" in printed.err


def test_outcomes_are_a_table_with_details(desk: Desk) -> None:
    desk.clients.fake_functions.answer = lambda _: {
        "outcomes": [
            _outcome(),
            _outcome(subject="session#ada-2", outcome="withheld", detail="a protected subject"),
        ]
    }
    printed = desk.run("invoke", "session_limits", "--scope", "person:ada", *WHY)
    assert printed.exit == Exit.REFUSED
    lines = printed.out.splitlines()
    assert lines[0].split() == ["OUTCOME", "ACTION", "SUBJECT", "WHY"]
    assert lines[1] == "dry_run   TerminateSession  session#ada-1  over the cap"
    assert "session#ada-2: a protected subject" in lines
    assert lines[-1].startswith("This was a dry run; add --apply")


def test_nothing_in_scope_is_said(desk: Desk) -> None:
    printed = desk.run("invoke", "session_limits", "--scope", "person:ada", *WHY, "--apply")
    assert (printed.exit, printed.out) == (0, "Nothing in this scope.\n")


@pytest.mark.parametrize(
    ("found", "exit_code"),
    [
        ([], Exit.OK),
        (["applied", "none", "already_applied", "dry_run"], Exit.OK),
        (["applied", "failed", "withheld"], Exit.FAILED),
        (["unconfirmed"], Exit.FAILED),
        (["withheld", "contended"], Exit.REFUSED),
        (["contended", "applied"], Exit.TRY_LATER),
    ],
)
def test_the_worst_outcome_is_the_exit_code(found: list[str], exit_code: Exit) -> None:
    assert exit_of_outcomes([_outcome(outcome=name) for name in found]) is exit_code


def test_a_session_that_is_not_active_is_not_found() -> None:
    assert exit_of_outcomes([_outcome(outcome="none", reason="unknown")]) is Exit.NOT_FOUND


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [
        (DeniedError("break_glass.caller_proof: STS did not accept it"), Exit.REFUSED),
        (ContendedError("6 decisions in a row lost the race"), Exit.TRY_LATER),
        (InvalidInputError("scope.kind", "x", "fix"), Exit.FAILED),
        (ZeroDivisionError("boom"), Exit.FAILED),
    ],
)
def test_an_error_of_the_function_is_one_line_with_its_own_exit_code(
    desk: Desk, error: Exception, exit_code: Exit
) -> None:
    def refuse(_: dict[str, Any]) -> object:
        raise error

    desk.clients.fake_functions.answer = refuse
    printed = desk.run("invoke", "session_limits", "--scope", "all", *WHY)
    assert (printed.exit, printed.out) == (exit_code, "")
    assert printed.err.startswith(f"proctor: session_limits refused: {type(error).__name__}: ")
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        ("AccessDeniedException", Exit.REFUSED),
        ("TooManyRequestsException", Exit.TRY_LATER),
        ("ResourceNotFoundException", Exit.NOT_FOUND),
    ],
)
def test_an_error_of_lambda_has_its_exit_code(desk: Desk, code: str, exit_code: Exit) -> None:
    desk.clients.fake_functions.error_code = code
    printed = desk.run("invoke", "session_limits", "--scope", "all", *WHY)
    assert printed.exit == exit_code
    assert "lambda:InvokeFunction" in printed.err


def test_an_answer_without_outcomes_is_no_success(desk: Desk) -> None:
    desk.clients.fake_functions.answer = lambda _: {"hello": "world"}
    assert desk.run("invoke", "session_limits", "--scope", "all", *WHY).exit == Exit.FAILED


def test_a_long_arn_keeps_its_end() -> None:
    arn = "arn:aws:sts::123456789012:assumed-role/" + "R" * 64 + "/" + "s" * 64
    assert shortened("arn:x", 128) == "arn:x"
    assert len(shortened(arn, 128)) == 128
    assert shortened(arn, 128).endswith("/" + "s" * 64)


@pytest.mark.parametrize("scope", ["budget:nosuch", "account:nosuch", "partition:nosuch"])
@pytest.mark.parametrize("more", [[], ["--apply"]])
def test_a_named_thing_that_does_not_exist_is_not_found(
    slurm: HoldsDesk, scope: str, more: list[str]
) -> None:
    slurm.allocate("lab1", 5000, "lab1")
    printed = slurm.desk.run("invoke", "budget_holds", "--scope", scope, *more, *WHY)
    assert printed.exit == Exit.NOT_FOUND
    assert (
        f"proctor: {scope.replace(':', ' ')}: no budget definition in force is meant by that" in printed.err
    )
    printed = slurm.desk.run("invoke", "budget_holds", "--scope", scope, *more, *WHY, "--json")
    assert (printed.exit, json.loads(printed.err)["exit_code"]) == (Exit.NOT_FOUND, Exit.NOT_FOUND)
    assert printed.json["outcomes"]


def test_an_order_about_an_unknown_budget_is_not_found(slurm: HoldsDesk, tmp_path: Path) -> None:
    file = tmp_path / "order.json"
    action = {"action": "ReleaseBudget", "budget": "nosuch"}
    file.write_text(json.dumps({"source": "proctor.manual", "actions": [action]}))
    printed = slurm.desk.run("invoke", "budget_holds", "--event-file", str(file), *WHY)
    assert printed.exit == Exit.NOT_FOUND
    assert "budget nosuch: no budget definition in force is meant by that" in printed.err


def test_a_named_budget_that_exists_is_no_error(slurm: HoldsDesk) -> None:
    slurm.allocate("lab1", 5000, "lab1")
    for scope in ("budget:lab1", "account:lab1", "all"):
        printed = slurm.desk.run("invoke", "budget_holds", "--scope", scope, *WHY)
        assert (printed.exit, printed.err) == (Exit.OK, "")
