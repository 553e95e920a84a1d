"""Habits of Session Manager: pages before filters, an end that is accepted and not done, one that takes its time."""

from dataclasses import replace

import pytest

from proctor.domain.decision import OutcomeStatus
from proctor.domain.errors import ThrottledError
from proctor.domain.identity import Identity, IdentityKind
from proctor.domain.sessions import SessionStatus
from tests.fakes.events import event_of, ids
from tests.fakes.taps import FailAt
from tests.fakes.values import cluster_target, session
from tests.reactions.conftest import university


def test_pages_without_an_active_session_end_no_listing() -> None:
    world = university()
    world.sessions.page_size = 5
    for n in range(20):
        world.sessions.open(replace(session(f"a{n:02}-01"), status=SessionStatus.TERMINATED))
    opened = [world.open_session("ada") for _ in range(3)]
    world.sweep()

    assert len(world.live("ada") & ids(opened)) == 2
    assert world.sessions.pages_read > 5


def test_an_end_that_is_accepted_and_not_done_is_unconfirmed_and_tried_again() -> None:
    world = university()
    world.sessions.deaf.add("ada@uni.example-0001")
    for _ in range(3):
        world.open_session("ada")
    world.sweep()

    outcome = world.outcome("ada@uni.example-0001")
    assert outcome.status is OutcomeStatus.UNCONFIRMED
    assert len(world.waits) == 2, "three looks"
    assert world.ledger.get("ada").weight_in("alpha", world.clock.now) == 2, (
        "it may still end: nobody goes in its place"
    )
    assert len(world.live("ada")) == 3

    world.sessions.deaf.clear()
    world.clock.advance(minutes=2)
    world.sweep()
    assert len(world.live("ada")) == 2
    assert world.outcome("ada@uni.example-0001").status is OutcomeStatus.APPLIED


@pytest.mark.parametrize(("listings", "status"), [(1, OutcomeStatus.APPLIED), (9, OutcomeStatus.UNCONFIRMED)])
def test_an_end_that_takes_its_time_is_looked_at_three_times(listings: int, status: OutcomeStatus) -> None:
    world = university()
    world.sessions.slow["ada@uni.example-0001"] = listings
    for _ in range(3):
        world.open_session("ada")
    world.sweep()

    assert world.outcome("ada@uni.example-0001").status is status


def test_a_deaf_session_is_asked_five_times_and_then_a_person_has_to_look() -> None:
    world = university()
    world.sessions.deaf.add("ada@uni.example-0001")
    for _ in range(3):
        world.open_session("ada")
    for _ in range(10):
        world.sweep()
        world.clock.advance(minutes=2)

    assert world.sessions.terminate_calls == ["ada@uni.example-0001"] * 5
    assert world.outcome("ada@uni.example-0001").detail == "tried five times; a person has to look"


def test_an_unconfirmed_end_counts_again_when_its_lease_is_over() -> None:
    world = university()
    world.sessions.deaf.add("ada@uni.example-0001")
    for _ in range(3):
        world.open_session("ada")
    world.sweep()
    world.clock.advance(seconds=1)
    fourth = world.start_session("ada")

    assert fourth.session_id not in world.live("ada"), "the new one goes, not another old one"
    world.clock.advance(seconds=119)
    assert world.ledger.get("ada").weight_in("alpha", world.clock.now) == 3


def test_a_session_whose_end_was_refused_counts_while_it_rests() -> None:
    world = university()
    for _ in range(3):
        world.open_session("ada")
    world.taps.active.append(FailAt(lambda: ThrottledError("slow down"), name="sessions.terminate"))
    for _ in range(2):
        world.sweep()
        assert world.ledger.get("ada").weight_in("alpha", world.clock.now) == 3
        world.clock.advance(seconds=20)

    assert world.outcome("ada@uni.example-0001").detail == "tried less than a minute ago; resting"


def test_an_end_that_was_seen_too_late_is_no_failure() -> None:
    world = university()
    world.sessions.slow["ada@uni.example-0001"] = 9
    for _ in range(3):
        world.open_session("ada")
    world.sweep()
    world.sessions.close("ada@uni.example-0001")
    for _ in range(4):
        world.clock.advance(minutes=2)
        world.sweep()

    assert len(world.live("ada")) == 2
    assert world.sessions.terminate_calls == ["ada@uni.example-0001"]
    assert len(world.mail.sent) == 1


def test_the_people_directory_decides_whose_sessions_are_one_persons() -> None:
    world = university(cap={"max_sessions": 1})
    world.add_person("ada", identities=[Identity(IdentityKind.ROLE_SESSION, "ada@chem.example")])
    world.add_person("ada2", identities=[Identity(IdentityKind.ROLE_SESSION, "ada@phys.example")])
    one = world.start_session("ada", session_id="ada@chem.example-01")
    other = world.start_session("ada", session_id="ada@phys.example-01")

    assert world.live() == {one.session_id, other.session_id}


def test_a_cluster_that_was_made_again_under_its_name_has_another_id() -> None:
    world = university(cap={"max_sessions": 1})
    world.cluster_api.ids["alpha"] = "newnewnewnew"
    old, new = cluster_target(), cluster_target(cluster_id="newnewnewnew")
    for target in (old, old, new, new):
        world.start_session("ada", target=target)
        world.clock.advance(seconds=1)

    assert world.live("ada") == {f"ada@uni.example-000{n}" for n in (1, 2, 3)}


def test_a_deleted_cluster_has_nobody_ended() -> None:
    world = university(cap={"max_sessions": 1})
    world.cluster_api.ids.clear()
    for _ in range(3):
        world.start_session("ada")
    world.sweep()

    assert len(world.live("ada")) == 3


def test_a_listing_that_lags_behind_an_event_forgets_nobody() -> None:
    world = university()
    for _ in range(2):
        world.start_session("ada")
    world.clock.advance(seconds=1)
    unlisted = session("ada@uni.example-zz", started_at=world.clock.now)
    world.deliver(event_of(unlisted))
    assert len(world.live("ada")) == 2

    world.sessions.open(unlisted)
    world.clock.advance(minutes=2)
    world.sweep()
    assert world.live("ada") == {"ada@uni.example-0001", "ada@uni.example-0002"}
    assert world.ledger.get("ada").unannounced == {}, "an event told of it"


def test_a_closed_sessions_place_is_free_at_once_for_the_next_one() -> None:
    world = university()
    first = world.start_session("ada")
    world.start_session("ada")
    world.sessions.close(first.session_id)
    third = world.start_session("ada")

    assert third.session_id in world.live("ada")
    assert world.sessions.terminate_calls == []


@pytest.mark.parametrize("is_heard", [True, False])
def test_a_broken_event_path_raises_one_alarm_an_hour(is_heard: bool) -> None:
    world = university()
    world.sweep()
    world.clock.advance(minutes=2)
    for _ in range(3):
        opened = world.open_session("ada")
        if is_heard:
            world.deliver(event_of(opened))
    for _ in range(20):
        world.sweep()
        world.clock.advance(minutes=2)
        world.sessions.finish_terminating()

    alarms = [n for n in world.operators.published if "session events do not arrive" in n.headline]
    assert len(alarms) == (0 if is_heard else 1)
    assert len(world.live("ada")) == 2


def test_sessions_from_before_the_first_sweep_are_no_evidence_of_a_broken_path() -> None:
    world = university(mode="dry_run")
    for _ in range(3):
        world.open_session("ada")
    for _ in range(8):
        world.sweep()
        world.clock.advance(minutes=2)
    world.write_policy({"mode": "apply", "cap": {"max_sessions": 2}})
    for _ in range(12):
        world.sweep()
        world.clock.advance(minutes=2)

    assert len(world.live("ada")) == 2
    assert not [n for n in world.operators.published if "do not arrive" in n.headline]


def test_an_eviction_loop_is_left_to_the_sweep_after_three_bursts_and_proposed_once() -> None:
    world = university()
    for _ in range(2):
        world.start_session("ada")
    for n in range(12):
        world.clock.advance(seconds=5)
        world.start_session("ada")
        if n % 4 == 3:
            world.clock.advance(seconds=100)
            world.sweep()

    reasons = [world.outcome(f"ada@uni.example-{n:04x}").verdict.reason for n in range(3, 15)]
    assert "backing_off" in {o.verdict.reason for h in world.verdicts.history.values() for o in h} | set(
        reasons
    )
    loops = [n for n in world.operators.published if "reconnects at once" in n.headline]
    assert len(loops) == 1
    assert world.telemetry.counts["GuardrailRefused"] == 0
    world.clock.advance(minutes=3)
    world.sweep()
    assert len(world.live("ada")) == 2
