"""What may wake session_limits. The samples of events/ are the very records that AWS sends."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.domain.errors import InvalidInputError
from proctor.domain.triggers import NoEvent, PolicyChanged, Sweep
from session_limits.trigger import Manual, SessionSeen, parse
from tests.fakes.events import event_of
from tests.fakes.values import cluster_target, role_arn, session
from tests.strategies import json_values

SAMPLES = Path(__file__).parents[3] / "events" / "session_limits"
MANUAL = {"source": "proctor.manual", "requested_by": "ops", "justification": "ticket"}


def sample(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((SAMPLES / f"{name}.json").read_text())
    return loaded


def changed(path: str, value: Any, event: dict[str, Any] | None = None) -> dict[str, Any]:
    """An event with one field replaced; `...` removes it."""
    found = copy.deepcopy(event if event is not None else event_of(session()))
    *parents, last = path.split(".")
    inner = found
    for name in parents:
        inner = inner[name]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return found


def test_a_start_names_session_owner_target_document_and_time() -> None:
    seen = parse(sample("start_session"))

    assert isinstance(seen, SessionSeen)
    assert seen.session_id == "ada@uni.example-t59j8gpq2ta8hniozstbnphqs8"
    assert seen.owner is not None
    assert seen.owner.name == "ada@uni.example"
    assert seen.target == cluster_target()
    assert seen.document_name == "SSM-SessionManagerRunShell"
    assert seen.started_at.utcoffset() is not None
    assert not seen.is_sweep


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("start_session_default_document", "SSM-SessionManagerRunShell"),
        ("start_session_ssh", "AWS-StartSSHSession"),
        ("start_session_port_forward", "AWS-StartPortForwardingSession"),
    ],
)
def test_the_document_is_the_default_one_unless_named(name: str, document: str) -> None:
    seen = parse(sample(name))

    assert isinstance(seen, SessionSeen)
    assert seen.document_name == document


@pytest.mark.parametrize("absent", ["", None, ...], ids=["an empty text", "null", "not there"])
@pytest.mark.parametrize("path", ["detail.requestParameters.documentName", "detail.errorCode"])
def test_empty_null_and_missing_all_mean_absent(path: str, absent: Any) -> None:
    seen = parse(changed(path, absent))

    assert isinstance(seen, SessionSeen)
    assert seen.document_name == "SSM-SessionManagerRunShell"


@pytest.mark.parametrize("name", ["start_session_failed", "start_session_access_denied"])
def test_a_call_that_failed_is_no_session(name: str) -> None:
    assert isinstance(parse(sample(name)), NoEvent)


def test_null_parameters_of_a_denied_call_are_no_error() -> None:
    denied = changed("detail.requestParameters", None)
    denied = changed("detail.responseElements", None, denied)
    denied = changed("detail.errorCode", "AccessDenied", denied)

    assert parse(denied) == NoEvent("StartSession")


def test_null_request_parameters_of_a_session_leave_its_target_unknown() -> None:
    seen = parse(changed("detail.requestParameters", None))

    assert isinstance(seen, SessionSeen)
    assert seen.target is None


def test_a_resume_names_only_the_session() -> None:
    seen = parse(sample("resume_session"))

    assert isinstance(seen, SessionSeen)
    assert (seen.name, seen.session_id, seen.target) == (
        "ResumeSession",
        "ada@uni.example-t59j8gpq2ta8hniozstbnphqs8",
        None,
    )


def test_a_resume_without_answer_is_known_by_its_request() -> None:
    resumed = event_of(session("ada@uni.example-77"), name="ResumeSession", responseElements=None)

    seen = parse(resumed)
    assert isinstance(seen, SessionSeen)
    assert seen.session_id == "ada@uni.example-77"


def test_an_owner_of_no_kind_that_a_person_can_have_is_kept_as_its_arn() -> None:
    seen = parse(changed("detail.userIdentity.arn", "arn:aws:iam::123456789012:root"))

    assert isinstance(seen, SessionSeen)
    assert (seen.owner_arn, seen.owner) == ("arn:aws:iam::123456789012:root", None)


@pytest.mark.parametrize(
    ("event", "field"),
    [
        pytest.param({}, "source and detail-type", id="nothing"),
        pytest.param({"source": "aws.ssm"}, "source and detail-type", id="no detail type"),
        pytest.param({"source": "proctor.schedule"}, "source and detail-type", id="a schedule of nothing"),
        pytest.param(
            {"source": ["aws.ssm"], "detail-type": {}}, "source and detail-type", id="a source that is a list"
        ),
        pytest.param(changed("detail", None), "detail", id="no detail"),
        pytest.param(changed("detail.eventName", "TerminateSession"), "detail.eventName", id="another call"),
        pytest.param(changed("detail.eventTime", "yesterday"), "detail.eventTime", id="no time"),
        pytest.param(
            changed("detail.eventTime", "2026-09-01T10:00:00"), "detail.eventTime", id="a time of no zone"
        ),
        pytest.param(
            changed("detail.responseElements", {}), "detail.responseElements.sessionId", id="no session id"
        ),
        pytest.param(changed("detail.userIdentity", None), "detail.userIdentity.arn", id="nobody"),
        pytest.param(
            changed("detail.responseElements.sessionId", "x" * 1025),
            "detail.responseElements.sessionId",
            id="an id of a thousand characters",
        ),
        pytest.param(
            {**MANUAL, "scope": {"kind": "account", "id": "x"}},
            "scope.kind",
            id="a scope of another function",
        ),
        pytest.param({**MANUAL, "scope": {"kind": "person"}, "dryrun": False}, "dryrun", id="a typo"),
        pytest.param(MANUAL, "document", id="neither scope nor actions"),
        pytest.param(
            {**MANUAL, "scope": {"kind": "all"}, "actions": [{"action": "TerminateSession"}]},
            "document",
            id="scope and actions",
        ),
        pytest.param(
            {**MANUAL, "actions": [{"action": "RebootClusterNode", "node": "n"}]},
            "actions[].action",
            id="an action that is not this function's",
        ),
        pytest.param(
            {**MANUAL, "actions": [{"action": "TerminateSession"}]}, "session_id", id="an end of nothing"
        ),
        pytest.param(
            {**MANUAL, "actions": [{"action": "TerminateSession", "session_id": "a", "force": True}]},
            "force",
            id="an argument too many",
        ),
        pytest.param({**MANUAL, "justification": "", "scope": {"kind": "all"}}, "justification", id="no why"),
        pytest.param(
            {
                "source": "aws.ssm",
                "detail-type": "Parameter Store Change",
                "detail": {"operation": "Update", "name": "/proctor/alpha/pause"},
            },
            "detail.name",
            id="a parameter of nobody's policy",
        ),
    ],
)
def test_an_event_that_cannot_be_used_is_refused_by_field(event: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse(event)

    assert caught.value.field == field


def test_the_sweep_is_a_sweep() -> None:
    assert parse(sample("sweep")) == Sweep()
    assert Sweep().is_sweep


@pytest.mark.parametrize("name", ["policy_changed", "policy_changed_without_slash"])
def test_a_policy_change_names_parameter_and_cluster(name: str) -> None:
    change = parse(sample(name))

    assert isinstance(change, PolicyChanged)
    assert change.parameter_name == "/proctor/alpha/session_limits"
    assert change.cluster == "alpha"


@pytest.mark.parametrize("operation", ["LabelParameterVersion", "Delete"])
def test_proctors_own_label_and_a_deletion_wake_nothing(operation: str) -> None:
    assert parse(changed("detail.operation", operation, sample("policy_changed"))) == NoEvent(operation)


def test_a_manual_request_is_a_dry_run_unless_it_says_otherwise() -> None:
    asked = parse({**MANUAL, "scope": {"kind": "person", "id": "ada"}})
    meant = parse(sample("manual_end_session"))

    assert isinstance(asked, Manual)
    assert (asked.is_dry_run, asked.scope_kind, asked.scope_id, asked.ends) == (True, "person", "ada", ())
    assert isinstance(meant, Manual)
    assert not meant.is_dry_run
    assert meant.ends == ("ada@uni.example-t59j8gpq2ta8hniozstbnphqs8",)


def test_break_glass_names_the_limit_and_the_proof() -> None:
    asked = parse(
        {**MANUAL, "scope": {"kind": "all"}, "break_glass": {"lift": "share", "caller_proof": "https://…"}}
    )

    assert isinstance(asked, Manual)
    assert (asked.lift, asked.caller_proof) == ("share", "https://…")


FIELDS = [
    "source",
    "detail-type",
    "detail",
    "detail.eventName",
    "detail.eventTime",
    "detail.errorCode",
    "detail.userIdentity",
    "detail.userIdentity.arn",
    "detail.requestParameters",
    "detail.requestParameters.target",
    "detail.requestParameters.documentName",
    "detail.responseElements",
    "detail.responseElements.sessionId",
]


@given(st.sampled_from(FIELDS), json_values)
def test_whatever_stands_in_a_field_it_is_read_or_refused_and_nothing_crashes(path: str, value: Any) -> None:
    event = changed(path, value, event_of(session(), errorCode="", userIdentity={"arn": role_arn("ada")}))
    try:
        trigger = parse(event)
    except InvalidInputError as error:
        assert error.fix  # noqa: PT017 - refusing is right, another error is not
    else:
        assert isinstance(trigger, SessionSeen | NoEvent)


@given(st.dictionaries(st.sampled_from(["source", "detail-type", "detail", "scope", "actions"]), json_values))
def test_any_object_is_read_or_refused(event: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        parse(event)
