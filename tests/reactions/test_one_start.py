"""One StartSession from event to outcome, and what it costs."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from proctor.domain.claims import ClaimState
from proctor.domain.decision import OutcomeStatus
from proctor.domain.errors import InvalidInputError
from proctor.domain.identity import Identity, IdentityKind
from session_limits.app import appliers
from tests.fakes.events import event_of
from tests.fakes.values import NODE, iam_user_arn, session
from tests.fakes.world import World

SAMPLES = Path(__file__).parents[2] / "events" / "session_limits"


def sample(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((SAMPLES / f"{name}.json").read_text())
    return loaded


def test_a_start_within_the_cap_is_allowed_with_one_ledger_write_and_no_listing(world: World) -> None:
    started = world.start_session("ada")

    assert world.outcome(started.session_id).verdict.reason == "allowed"
    assert world.live("ada") == {started.session_id}
    calls = Counter(world.taps.journal)
    assert calls["ledger.note_started"] == 1
    assert not [c for c in calls if c.startswith(("sessions.", "claims.", "ledger.swap", "mail."))]


def test_a_start_over_the_cap_is_ended_read_back_recorded_and_told(world: World) -> None:
    first, second = world.start_session("ada"), world.start_session("ada")
    world.clock.advance(seconds=30)
    third = world.start_session("ada")

    assert world.live("ada") == {first.session_id, second.session_id}
    assert world.sessions.terminate_calls == [third.session_id]
    outcome = world.outcome(third.session_id)
    assert (outcome.verdict.reason, outcome.status) == ("over_cap", OutcomeStatus.APPLIED)
    (audit,) = [
        a for a in world.claims.audits.values() if a.claim.key.subject == f"session#{third.session_id}"
    ]
    assert audit.claim.state is ClaimState.APPLIED
    assert audit.verdict.policy_version == 1
    assert audit.context.trigger == "StartSession"
    assert [m.email for m in world.mail.sent] == ["ada@uni.example"]
    assert len(world.operators.published) == 1
    assert {o.verdict.subject for o in world.events.published} == {
        f"session#{third.session_id}",
        "notice#ada",
        "operators#ada",
    }


def test_the_claim_is_written_before_the_act_and_the_session_is_read_again_between(world: World) -> None:
    for _ in range(3):
        world.start_session("ada")

    journal = world.taps.journal
    end = journal.index("sessions.terminate")
    assert journal.index("ledger.swap") < journal.index("claims.put") < end
    assert journal[journal.index("claims.put") : end] == [
        "claims.put",
        "sessions.find_active",
        "counters.spend",
    ]
    assert journal[end + 1 : end + 3] == ["sessions.find_active", "claims.settle"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("start_session", "allowed"),
        ("start_session_default_document", "allowed"),
        ("start_session_full_record", "allowed"),
        ("start_session_ssh", "allowed"),
        ("start_session_port_forward", "allowed"),
        ("start_session_iam_user", "unmapped_owner"),
        ("start_session_foreign_ec2", "not_ours"),
        ("resume_session", "allowed"),
    ],
)
def test_every_sample_of_a_session_gets_its_verdict(world: World, name: str, reason: str) -> None:
    event = sample(name)
    session_id = event["detail"]["responseElements"]["sessionId"]
    if name == "resume_session":
        world.sessions.open(session(session_id))

    assert world.deliver(event) == []
    assert world.outcome(session_id).verdict.reason == reason
    assert world.parking.parked == []


@pytest.mark.parametrize(
    "name",
    ["start_session_failed", "start_session_access_denied", "sweep", "policy_changed"],
)
def test_every_other_sample_is_done_without_a_session(world: World, name: str) -> None:
    assert world.deliver(sample(name)) == []
    assert world.parking.parked == []
    assert world.sessions.terminate_calls == []


def test_a_request_by_hand_in_a_queue_is_parked_since_a_queue_proves_nobodys_right(world: World) -> None:
    started = world.start_session("ada")
    assert world.deliver({**sample("manual_end_session"), "dry_run": False}) == []
    (parked,) = world.parking.parked
    assert "source: 'proctor.manual' is not usable; invoke the function" in parked.error
    assert started.session_id in world.live("ada")


@pytest.mark.parametrize("payload", [None, "x", [1]])
def test_a_payload_that_is_no_object_is_refused_in_one_line(world: World, payload: Any) -> None:
    with pytest.raises(InvalidInputError, match="send one JSON object"):
        world.evaluate(payload)


def test_two_ends_by_hand_in_one_quarter_of_an_hour_are_both_told(world: World) -> None:
    world.write_policy({"mode": "apply"})
    first, second = world.start_session("ada"), world.start_session("ada")
    for one in (first, second):
        action = {"action": "TerminateSession", "session_id": one.session_id}
        world.manual(dry_run=False, actions=[action])
        world.clock.advance(minutes=1)
    assert world.live("ada") == set()
    assert len(world.mail.sent) == 2


def test_the_sample_batch_has_its_broken_record_parked_and_the_rest_done(world: World) -> None:
    bodies = [record["body"] for record in sample("sqs_batch")["Records"]]

    assert world.deliver(*bodies) == []
    assert len(world.parking.parked) == 1
    assert world.outcome("ada@uni.example-t59j8gpq2ta8hniozstbnphqs8").verdict.reason == "allowed"


def test_one_person_is_counted_over_all_her_identities(world: World) -> None:
    both = [
        Identity(IdentityKind.ROLE_SESSION, "ada@uni.example"),
        Identity(IdentityKind.IAM_USER, "ada-legacy"),
    ]
    world.add_person("ada", identities=both)
    world.start_session("ada")
    world.start_session("ada", session_id="ada-legacy-01", owner_arn=iam_user_arn("ada-legacy"))
    world.clock.advance(seconds=1)
    third = world.start_session("ada", session_id="ada-legacy-02", owner_arn=iam_user_arn("ada-legacy"))

    assert world.outcome(third.session_id).verdict.reason == "over_cap"
    assert len(world.live()) == 2


def test_everything_else_in_the_account_is_never_counted_and_never_ended(world: World) -> None:
    for n in range(4):
        world.start_session("ada", session_id=f"ada@uni.example-f{n}", target="i-0fedcba9876543210")
    world.sweep()

    assert len(world.live("ada")) == 4
    assert world.outcome("ada@uni.example-f0").verdict.reason == "not_ours"
    assert world.ledger.items == {}


@pytest.mark.parametrize("is_extra", [True, False])
def test_a_bare_instance_is_ours_by_its_cluster_or_by_the_policy(is_extra: bool) -> None:
    world = World()
    world.add_person("ada")
    world.write_policy(
        {"mode": "apply", "cap": {"max_sessions": 1}, "extra_login_nodes": [NODE] if is_extra else []}
    )
    if not is_extra:
        world.add_node(NODE)
    world.start_session("ada", target=NODE)
    world.start_session("ada", target=NODE)

    assert len(world.live("ada")) == 1
    assert (world.cluster_api.node_listings == 0) is is_extra


def test_a_resume_over_the_cap_is_decided_by_what_lives(world: World) -> None:
    opened = []
    for _ in range(3):
        opened.append(world.open_session("ada"))
        world.clock.advance(seconds=10)

    world.deliver(event_of(opened[0], name="ResumeSession"))
    assert world.live("ada") == {opened[0].session_id, opened[1].session_id}


def test_a_resume_of_a_session_that_is_gone_ends_nobody(world: World) -> None:
    gone = world.open_session("ada")
    world.sessions.close(gone.session_id)

    assert world.deliver(event_of(gone, name="ResumeSession")) == []
    assert world.outcome(gone.session_id).verdict.reason == "not_ours"


def test_the_fakes_reach_no_further_than_the_function_itself(world: World) -> None:
    """The dict of appliers in app.py is the whole reach; the world's must be the same."""
    ports = world._ports()
    settings: Any = type("Settings", (), {"sender": "", "operators_topic_arn": ""})()

    assert appliers(ports, None, settings).keys() == world._appliers(ports).keys()  # type: ignore[arg-type]


def test_a_start_is_noted_with_its_weight_so_that_the_next_event_sees_it(world: World) -> None:
    world.write_policy({"mode": "apply", "cap": {"max_sessions": 2}, "weights": {"ssh": 2}})
    heavy = world.start_session("ada", document_name="AWS-StartSSHSession")
    world.clock.advance(seconds=1)
    world.start_session("ada")

    assert world.live("ada") == {heavy.session_id}
