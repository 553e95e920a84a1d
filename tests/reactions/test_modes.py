"""Dry-run, off, pause, guardrails, protected people: what keeps Proctor from acting, and what it still writes down."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from proctor.domain.decision import Mode, OutcomeStatus
from tests.fakes.events import event_of
from tests.fakes.values import CLUSTER
from tests.fakes.world import World
from tests.reactions.conftest import university

DRY = [
    pytest.param({"policy": {"mode": "dry_run"}}, id="the policy's mode"),
    pytest.param({"policy": {"rules": {"cap": "dry_run"}}}, id="the rule's mode"),
    pytest.param({"bound": Mode.DRY_RUN}, id="the stack's parameter"),
]


def over_the_cap(bound: Mode = Mode.APPLY, policy: dict[str, Any] | None = None) -> World:
    """Ada has three of two, and all events came."""
    world = university(**(policy or {}))
    world.bound = bound
    for _ in range(3):
        world.start_session("ada")
        world.clock.advance(seconds=1)
    return world


def writes_of(world: World) -> Counter[str]:
    reads = ("policies.", "exemptions.", "clusters.", "people.", "sessions.active", "sessions.find")
    return Counter(
        call for call in world.taps.journal if not call.startswith(reads) and call != "pause.paused_clusters"
    )


@pytest.mark.parametrize("dry", DRY)
def test_in_dry_run_nothing_is_claimed_done_or_sent_and_the_verdicts_are_the_same(
    dry: dict[str, Any],
) -> None:
    world, real = over_the_cap(**dry), over_the_cap()

    assert len(world.live("ada")) == 3
    done = writes_of(world)
    assert (
        not {"claims.put", "claims.settle", "sessions.terminate", "mail.send", "operators.publish"}
        & done.keys()
    )
    assert "counters.spend" not in done
    for subject, outcome in world.verdicts.latest.items():
        twin = real.verdicts.latest[subject]
        assert (outcome.verdict.reason, outcome.verdict.text) == (twin.verdict.reason, twin.verdict.text)
        assert outcome.status in (OutcomeStatus.DRY_RUN, OutcomeStatus.NONE)
    assert world.verdicts.latest.keys() == real.verdicts.latest.keys()


@pytest.mark.parametrize("dry", DRY)
def test_dry_run_says_a_thing_once_however_often_it_looks(dry: dict[str, Any]) -> None:
    world = over_the_cap(**dry)
    world.sweep()
    before = world.verdicts.writes, len(world.telemetry.outcomes), len(world.events.published)

    for _ in range(3):
        world.clock.advance(minutes=2)
        assert world.sweep() == []
    assert (world.verdicts.writes, len(world.telemetry.outcomes), len(world.events.published)) == before


def test_from_dry_run_to_apply_the_next_sweep_acts_and_tells() -> None:
    world = over_the_cap(policy={"mode": "dry_run"})
    world.write_policy({"mode": "apply", "cap": {"max_sessions": 2}})

    world.clock.advance(minutes=2)
    world.sweep()
    assert len(world.live("ada")) == 2
    assert len(world.mail.sent) == 1


def test_reports_held_back_in_dry_run_are_made_once_apply_is_on() -> None:
    world = university(mode="dry_run")
    world.people.remove("ada")
    world.start_session("ada")
    world.sweep()
    assert world.operators.published == []

    world.write_policy({"mode": "apply"})
    for _ in range(3):
        world.clock.advance(minutes=2)
        world.sweep()
    assert [n.headline for n in world.operators.published] == [
        f"Proctor: unmapped owner (owner:{next(iter(world.sessions.rows.values())).owner_arn})"
    ]


def test_off_means_that_nothing_is_ended_or_said() -> None:
    world = over_the_cap(policy={"mode": "off"})
    world.sweep()

    assert len(world.live("ada")) == 3
    assert {o.status for o in world.verdicts.latest.values()} == {OutcomeStatus.NONE}
    assert world.events.published == []


def withheld(world: World) -> dict[str, str]:
    return {
        subject: outcome.detail
        for subject, outcome in world.verdicts.latest.items()
        if outcome.status is OutcomeStatus.WITHHELD
    }


def test_a_paused_cluster_has_nothing_done_and_says_why() -> None:
    world = university()
    world.pause.paused[CLUSTER] = "maintenance until noon"
    for _ in range(3):
        world.start_session("ada")
    world.sweep()

    assert len(world.live("ada")) == 3
    details = withheld(world)
    assert details["session#ada@uni.example-0001"] == "paused: maintenance until noon"
    assert set(details) == {"session#ada@uni.example-0001", "notice#ada", "operators#ada"}
    assert world.mail.sent == []
    assert world.operators.published == []
    assert world.claims.audits == {}


def test_when_the_pause_ends_the_next_evaluation_acts_at_once() -> None:
    world = university()
    world.pause.paused[CLUSTER] = "maintenance"
    opened = [world.start_session("ada") for _ in range(3)]
    world.pause.paused.clear()

    world.deliver(event_of(opened[2]))
    assert len(world.live("ada")) == 2


def test_what_is_withheld_leaves_no_intent_no_eviction_and_no_alarm_behind() -> None:
    world = university()
    world.sweep()
    world.clock.advance(minutes=2)
    world.pause.paused[CLUSTER] = "maintenance"
    for _ in range(3):
        world.open_session("ada")
    for _ in range(8):
        world.clock.advance(minutes=2)
        world.sweep()

    ledger = world.ledger.get("ada")
    assert all(e.intent_token is None for e in ledger.entries.values())
    assert ledger.evicted_at == ()


def test_the_pause_of_one_cluster_holds_back_no_other() -> None:
    world = World(clusters={"alpha": "abcdef012345", "beta": "bcdefa012345"})
    world.add_person("ada")
    for cluster in ("alpha", "beta"):
        world.write_policy({"mode": "apply", "cap": {"max_sessions": 1}}, cluster)
    world.pause.paused["alpha"] = "maintenance"
    beta = "sagemaker-cluster:bcdefa012345_login-i-0123456789abcdef0"
    for target in (None, None, beta, beta):
        world.open_session("ada", target=target)
        world.clock.advance(seconds=1)
    world.sweep()

    assert len(world.live("ada")) == 3
    (ended,) = world.sessions.terminate_calls
    assert world.outcome(ended).verdict.cluster == "beta"
    intents = [sid for sid, e in world.ledger.get("ada").entries.items() if e.intent_token]
    assert intents == [ended]


def test_the_pause_is_read_only_when_something_would_be_done() -> None:
    world = university()
    world.start_session("ada")
    assert "pause.paused_clusters" not in world.taps.journal
    over_cap = over_the_cap()
    assert over_cap.taps.journal.count("pause.paused_clusters") == 1


def test_a_protected_person_is_never_ended_not_even_by_hand_or_by_break_glass() -> None:
    world = over_the_cap(policy={"protected_people": ["ada"]})
    world.sweep()
    world.caller_arn = "arn:aws:iam::123456789012:user/root-cause"
    newest = max(world.live("ada"))
    world.manual(
        actions=[{"action": "TerminateSession", "session_id": newest}],
        dry_run=False,
        break_glass={"lift": "session_ends", "caller_proof": "url"},
    )

    assert len(world.live("ada")) == 3
    assert withheld(world)[f"session#{newest}"] == "a protected subject"
    assert world.mail.sent == []
    assert all(e.intent_token is None for e in world.ledger.get("ada").entries.values())


def test_more_ends_in_one_run_than_plausible_are_all_withheld_and_counted() -> None:
    world = university(guardrails={"session_ends": {"per_run": 2}}, cap={"max_sessions": 1})
    for _ in range(4):
        world.open_session("ada")
    world.sweep()

    assert len(world.live("ada")) == 4
    assert world.telemetry.counts["GuardrailRefused"] == 1
    assert "3 session_ends in one run exceed the 2 that are plausible" in withheld(world).values()


def test_a_window_spends_its_budget_one_end_at_a_time() -> None:
    world = university(
        guardrails={"session_ends": {"per_window": 2, "window_minutes": 60}}, cap={"max_sessions": 1}
    )
    for _ in range(5):
        world.open_session("ada")
    world.sweep()
    assert len(world.live("ada")) == 3
    assert "2 session_ends in 60 minutes are already spent" in withheld(world).values()
    assert len(world.mail.sent) == 1

    world.clock.advance(minutes=61)
    world.sweep()
    assert len(world.live("ada")) == 1


def test_an_emptied_directory_ends_nobodys_work() -> None:
    """The share guard: more than half of all sessions would be ended because a directory says so."""
    world = university(unmapped_response="end")
    for n in range(12):
        world.add_person(f"p{n}")
        world.open_session(f"p{n}")
    world.people.rows.clear()
    world.sweep()

    assert len(world.live()) == 12
    assert "12 of 12 subjects would be hit (100 %, at most 50 %)" in withheld(world).values()
    assert world.telemetry.counts["GuardrailRefused"] == 1


def test_a_few_who_left_are_ended() -> None:
    world = university(unmapped_response="end")
    for n in range(12):
        world.add_person(f"p{n}")
        world.open_session(f"p{n}")
    for n in range(3):
        world.people.remove(f"p{n}")
    world.sweep()

    assert len(world.live()) == 9


def test_a_cap_says_nothing_of_the_directory_so_no_share_guard_stops_it() -> None:
    world = university(cap={"max_sessions": 1})
    for n in range(12):
        world.add_person(f"p{n}")
        for _ in range(2):
            world.open_session(f"p{n}")
    world.sweep()

    assert len(world.live()) == 12


def test_an_exemption_holds_until_its_end() -> None:
    world = university()
    world.exempt("ada", world.clock.now + timedelta(minutes=30), max_sessions=3)
    for _ in range(3):
        world.start_session("ada")
    world.sweep()
    assert len(world.live("ada")) == 3

    world.clock.advance(minutes=30)
    world.sweep()
    assert len(world.live("ada")) == 2
