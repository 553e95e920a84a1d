"""What is true of one session before any counting."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from proctor.domain.actions import TerminateSession
from proctor.domain.decision import Mode, Verdict
from proctor.domain.identity import Person
from proctor.domain.sessions import Session, SessionStatus
from session_limits.decide import decide
from session_limits.snapshot import Path
from tests.fakes.snapshots import by_subject, ledger_of, policy, session_verdicts, situation, snapshot
from tests.fakes.values import NOW, cluster_target, person, role_arn, session

ADA = person("ada", groups=["students"])
HERS = session("ada@uni.example-a", started_at=NOW - timedelta(hours=1))
CONTROLLER = session("ada@uni.example-a", target=cluster_target("controller"))
ADMINS_ONLY = {"node_groups": [{"instance_group": "controller", "allowed_groups": ["admins"]}]}
OWN_DOCUMENT = replace(HERS, document_name="Own-Document")


def verdict(
    someone: Person | None,
    hers: Session = HERS,
    policy_fields: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Verdict:
    taken = snapshot(situation(someone, [hers]), policies=[policy(**policy_fields or {})], **fields)
    return session_verdicts(taken)[hers.session_id]


@pytest.mark.parametrize(
    ("someone", "hers", "fields", "reason", "ends"),
    [
        pytest.param(ADA, HERS, {}, "allowed", False, id="a known person's session"),
        pytest.param(None, HERS, {}, "unmapped_owner", False, id="an unmapped owner is reported"),
        pytest.param(
            None,
            HERS,
            {"unmapped_response": "end"},
            "unmapped_owner",
            True,
            id="an unmapped owner is ended if the policy says so",
        ),
        pytest.param(
            person(run_as="root"), HERS, {}, "unmapped_run_as", False, id="run as root is unmapped, reported"
        ),
        pytest.param(
            person(run_as="ssm-user"),
            HERS,
            {"unmapped_response": "end"},
            "unmapped_run_as",
            True,
            id="run as ssm-user is unmapped, ended if the policy says so",
        ),
        pytest.param(
            person(run_as="ada;id"), HERS, {}, "unmapped_run_as", False, id="a name that no agent can run"
        ),
        pytest.param(person(is_disabled=True), HERS, {}, "person_disabled", True, id="a disabled person"),
        pytest.param(
            person(is_disabled=True),
            HERS,
            {"disabled_response": "report"},
            "person_disabled",
            False,
            id="a disabled person may be reported only",
        ),
        pytest.param(
            ADA, CONTROLLER, ADMINS_ONLY, "node_group_not_allowed", True, id="a student on the controller"
        ),
        pytest.param(
            person(groups=["admins"]),
            CONTROLLER,
            ADMINS_ONLY,
            "allowed",
            False,
            id="an admin on the controller",
        ),
        pytest.param(ADA, HERS, ADMINS_ONLY, "allowed", False, id="a student on another node group"),
        pytest.param(
            ADA,
            CONTROLLER,
            {**ADMINS_ONLY, "node_group_response": "report"},
            "node_group_not_allowed",
            False,
            id="the controller may be reported only",
        ),
        pytest.param(
            person(groups=["admins"]),
            CONTROLLER,
            {"node_groups": [{"instance_group": "controller", "allowed_groups": []}]},
            "node_group_not_allowed",
            True,
            id="a node group open to nobody",
        ),
        pytest.param(
            ADA, OWN_DOCUMENT, {}, "document_not_allowed", False, id="a document outside the list is reported"
        ),
        pytest.param(
            ADA,
            OWN_DOCUMENT,
            {"document_response": "end"},
            "document_not_allowed",
            True,
            id="such a document is ended if the policy says so",
        ),
        pytest.param(
            ADA,
            OWN_DOCUMENT,
            {"own_shell_documents": ["Own-Document"]},
            "allowed",
            False,
            id="the site's own shell is allowed",
        ),
        pytest.param(
            ADA,
            OWN_DOCUMENT,
            {"allowed_documents": ["Own-Document"]},
            "allowed",
            False,
            id="a listed document",
        ),
        pytest.param(
            ADA,
            HERS,
            {"allowed_documents": []},
            "document_not_allowed",
            False,
            id="an empty list allows none",
        ),
    ],
)
def test_what_is_not_allowed_whatever_the_count(
    someone: Person | None, hers: Session, fields: Mapping[str, Any], reason: str, ends: bool
) -> None:
    found = verdict(someone, hers, fields)

    assert found.reason == reason
    assert isinstance(found.action, TerminateSession) is ends
    if isinstance(found.action, TerminateSession):
        assert found.action.cap is None
        assert found.action.session_id == hers.session_id


@pytest.mark.parametrize(
    ("someone", "fields", "reason"),
    [
        pytest.param(
            person(is_disabled=True, run_as="root"), {}, "person_disabled", id="disabled before unmapped"
        ),
        pytest.param(
            person(run_as="root"), ADMINS_ONLY, "unmapped_run_as", id="unmapped before the node group"
        ),
        pytest.param(
            ADA,
            {**ADMINS_ONLY, "allowed_documents": []},
            "node_group_not_allowed",
            id="the node group before the document",
        ),
        pytest.param(
            person(is_disabled=True, is_break_glass=True), {}, "break_glass", id="break-glass before all"
        ),
    ],
)
def test_of_several_faults_the_graver_one_is_named(
    someone: Person, fields: Mapping[str, Any], reason: str
) -> None:
    assert verdict(someone, CONTROLLER, fields).reason == reason


@pytest.mark.parametrize(
    "status", [SessionStatus.TERMINATING, SessionStatus.UNRECOGNISED, SessionStatus.FAILED]
)
def test_a_session_that_does_not_count_is_never_ended(status: SessionStatus) -> None:
    found = verdict(person(is_disabled=True), replace(HERS, status=status))

    assert (found.reason, found.action) == ("not_counted", None)
    assert status.value in found.text


def test_a_session_whose_end_is_under_way_is_left_to_whoever_ends_it() -> None:
    ledger = ledger_of([HERS])
    held = replace(
        ledger.entries[HERS.session_id], intent_until=NOW + timedelta(seconds=1), intent_token="other"
    )
    here = situation(person(is_disabled=True), [HERS], replace(ledger, entries={HERS.session_id: held}))

    assert session_verdicts(snapshot(here))[HERS.session_id].reason == "end_in_progress"
    later = snapshot(here, now=NOW + timedelta(seconds=1))
    assert session_verdicts(later)[HERS.session_id].reason == "person_disabled"


@pytest.mark.parametrize(
    ("someone", "hers", "fields"),
    [
        pytest.param(person(is_break_glass=True), HERS, {}, id="a break-glass person"),
        pytest.param(
            ADA,
            replace(session("ada@uni.example-a", owner_arn=role_arn("ada@uni.example", "BreakGlass-1"))),
            {"break_glass_roles": ["BreakGlass-*"]},
            id="a break-glass role",
        ),
    ],
)
def test_break_glass_is_never_evicted_and_reported_loudly(
    someone: Person, hers: Session, fields: Mapping[str, Any]
) -> None:
    policies = [policy(cap={"max_sessions": 1}, **fields)]
    others = [replace(hers, session_id=f"ada@uni.example-{n}") for n in range(3)]
    taken = snapshot(situation(someone, [hers, *others]), policies=policies)

    verdicts = session_verdicts(taken).values()
    reports = [v for s, v in by_subject(decide(taken)).items() if s.startswith("report#")]
    assert [v.reason for v in verdicts] == ["break_glass"] * 4
    assert all(v.action is None for v in verdicts)
    assert len(reports) == 4, "one message for each session"
    assert {v.episode for v in reports} == {hers.session_id, *(o.session_id for o in others)}


def test_not_even_a_request_by_hand_ends_break_glass() -> None:
    found = verdict(
        person(is_break_glass=True), path=Path.MANUAL, requested_ends=frozenset({HERS.session_id})
    )

    assert (found.reason, found.action) == ("break_glass", None)


def test_an_end_that_was_asked_for_says_by_whom() -> None:
    found = verdict(
        ADA, path=Path.MANUAL, requested_ends=frozenset({HERS.session_id}), requested_by="ops@uni.example"
    )

    assert (found.reason, found.rule, found.mode) == ("requested", "manual", Mode.APPLY)
    assert "ops@uni.example" in found.text
    assert found.action is not None


@pytest.mark.parametrize(
    ("rule", "someone", "hers", "fields"),
    [
        ("disabled", person(is_disabled=True), HERS, {}),
        ("unmapped", None, HERS, {"unmapped_response": "end"}),
        ("node_group", ADA, CONTROLLER, ADMINS_ONLY),
        ("document", ADA, OWN_DOCUMENT, {"document_response": "end"}),
    ],
)
@pytest.mark.parametrize("mode", ["off", "dry_run"])
def test_each_rule_can_be_narrowed_by_itself(
    rule: str, someone: Person | None, hers: Session, fields: Mapping[str, Any], mode: str
) -> None:
    assert verdict(someone, hers, fields).mode is Mode.APPLY
    assert verdict(someone, hers, {**fields, "rules": {rule: mode}}).mode.value == mode
    assert verdict(someone, hers, fields, bound=Mode.DRY_RUN).mode is Mode.DRY_RUN


def test_the_facts_behind_a_verdict_are_frozen_into_it() -> None:
    found = verdict(ADA, replace(HERS, idle_minutes=7))

    assert found.policy_version == 7
    assert found.inputs == {
        "holder": "ada",
        "target": "i-0123456789abcdef0",
        "instance_group": "login",
        "document": "SSM-SessionManagerRunShell",
        "status": "Connected",
        "started_at": "2026-09-01T09:00:00+00:00",
        "work": "unknown",
        "idle_minutes": 7,
        "ledger_rev": 3,
    }
