"""Each event in `events/` is one that the function reads, or refuses with a clear message."""

import json
from typing import Any

import pytest

from proctor.domain.errors import InvalidInputError
from proctor.domain.sessions import DocumentKind, document_kind, parse_target, split_session_id
from proctor.domain.triggers import NoEvent, PolicyChanged, Sweep
from session_limits.trigger import Manual, SessionSeen, parse
from tests.template.samples import EVENTS, names, sample
from tests.template.stack import ROOT

READ_AS: dict[str, type] = {
    "manual": Manual,
    "manual_end_session": Manual,
    "policy_changed": PolicyChanged,
    "policy_changed_without_slash": PolicyChanged,
    "resume_session": SessionSeen,
    "start_session": SessionSeen,
    "start_session_access_denied": NoEvent,
    "start_session_default_document": SessionSeen,
    "start_session_failed": NoEvent,
    "start_session_foreign_ec2": SessionSeen,
    "start_session_full_record": SessionSeen,
    "start_session_iam_user": SessionSeen,
    "start_session_port_forward": SessionSeen,
    "start_session_ssh": SessionSeen,
    "sweep": Sweep,
}


def test_each_function_has_samples_with_a_manual_one() -> None:
    functions = {path.parent.name for path in (ROOT / "functions").glob("*/app.py")}
    assert functions == {path.name for path in EVENTS.iterdir()}
    assert all("manual" in names(function) for function in functions)


def test_every_sample_is_in_the_table_or_is_the_batch() -> None:
    assert {*READ_AS, "sqs_batch"} == set(names("session_limits"))


@pytest.mark.parametrize(("name", "kind"), READ_AS.items())
def test_a_sample_is_read_as(name: str, kind: type) -> None:
    assert type(parse(sample(name))) is kind


@pytest.mark.parametrize(
    ("name", "owner", "is_hyperpod", "kind"),
    [
        ("start_session", "ada@uni.example", True, DocumentKind.SHELL),
        ("start_session_default_document", "ada@uni.example", True, DocumentKind.SHELL),
        ("start_session_iam_user", "grace", True, DocumentKind.SHELL),
        ("start_session_foreign_ec2", "ada@uni.example", False, DocumentKind.SHELL),
        ("start_session_ssh", "ada@uni.example", True, DocumentKind.SSH),
        ("start_session_port_forward", "ada@uni.example", True, DocumentKind.PORT_FORWARD),
    ],
)
def test_a_started_session_says_who_where_and_how(
    name: str, owner: str, is_hyperpod: bool, kind: DocumentKind
) -> None:
    trigger = parse(sample(name))
    assert isinstance(trigger, SessionSeen)
    assert trigger.owner is not None
    assert trigger.owner.name == owner == split_session_id(trigger.session_id)[0]
    target = parse_target(trigger.target)
    assert target is not None
    assert (target.cluster_id is not None) is is_hyperpod
    assert document_kind(trigger.document_name) is kind


def test_the_manual_samples_are_one_harmless_and_one_that_acts() -> None:
    asking, ending = parse(sample("manual")), parse(sample("manual_end_session"))
    assert isinstance(asking, Manual)
    assert isinstance(ending, Manual)
    assert (asking.is_dry_run, asking.scope_kind, asking.ends) == (True, "person", ())
    assert (ending.is_dry_run, ending.scope_kind) == (False, None)
    assert ending.ends == ("ada@uni.example-t59j8gpq2ta8hniozstbnphqs8",)


def test_a_batch_holds_two_events_and_one_that_is_no_json() -> None:
    bodies = [record["body"] for record in sample("sqs_batch")["Records"]]
    assert parse(json.loads(bodies[0])) == parse(sample("start_session"))
    with pytest.raises(ValueError, match="Unterminated string"):
        json.loads(bodies[1])
    assert parse(json.loads(bodies[2])) == Sweep()


@pytest.mark.parametrize(
    ("name", "change", "field"),
    [
        ("sweep", {"detail-type": "Sweeep"}, "source and detail-type"),
        ("start_session", {"source": "aws.ec2"}, "source and detail-type"),
        ("start_session", {"detail": {}}, "detail.eventName"),
        (
            "policy_changed",
            {"detail": {"operation": "Update", "name": "/proctor/alpha/pause"}},
            "detail.name",
        ),
        ("manual", {"dryrun": False}, "dryrun"),
        ("manual", {"scope": None}, "document"),
        ("manual_end_session", {"actions": [{"action": "RebootClusterNode"}]}, "actions[].action"),
    ],
)
def test_a_sample_with_a_mistake_is_refused_by_the_field(
    name: str, change: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInputError) as refused:
        parse(sample(name) | change)
    assert refused.value.field == field


def test_samples_name_only_example_people_and_accounts() -> None:
    for path in EVENTS.glob("*/*.json"):
        text = path.read_text(encoding="utf-8")
        assert text.replace("@uni.example", "").count("@") == 0, path.name
        assert json.loads(text).get("account", "123456789012") == "123456789012"
