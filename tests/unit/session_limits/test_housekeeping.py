"""Proctor about itself: a broken event path, policy versions, clusters without a policy, what is out of scope."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from proctor.domain.actions import LabelPolicyVersion, NotifyOperators
from proctor.domain.decision import Decision, Mode
from proctor.domain.ledger import PersonLedger, SeenBy
from proctor.domain.policy import PolicyDraft
from session_limits.decide import decide
from session_limits.snapshot import Path, Situation
from tests.fakes.snapshots import by_subject, entry, policy, sessions_of, situation, snapshot
from tests.fakes.values import NOW, person

ADA = person("ada")
FOUR = sessions_of("ada", 4)
NEWEST = FOUR[3].session_id
MINUTE = timedelta(minutes=1)


def unseen(seen_by: SeenBy = SeenBy.SWEEP, **fields: Any) -> Situation:
    """Ada, one over the cap; her newest session came to be known by `seen_by`."""
    entries = {s.session_id: entry() for s in FOUR[:3]} | {NEWEST: entry(seen_by=seen_by)}
    return situation(ADA, FOUR, PersonLedger(holder="ada", rev=1, entries=entries, **fields))


def unannounced_after(decision: Decision) -> dict[str, datetime]:
    memory = decision.cases[0].memory
    assert memory is not None
    assert isinstance(memory.data, PersonLedger)
    return dict(memory.data.unannounced)


def test_a_breach_that_only_the_sweep_saw_is_remembered() -> None:
    new = situation(ADA, FOUR, PersonLedger(holder="ada", rev=1, entries={}))

    assert unannounced_after(decide(snapshot(unseen()))) == {NEWEST: NOW}
    assert unannounced_after(decide(snapshot(new))) == {NEWEST: NOW}


def test_a_breach_that_stays_is_dated_by_its_first_sight() -> None:
    before = {NEWEST: NOW - 4 * MINUTE}

    assert unannounced_after(decide(snapshot(unseen(unannounced=before)))) == before


def test_in_dry_run_a_breach_without_an_event_is_remembered_too() -> None:
    assert unannounced_after(decide(snapshot(unseen(), policies=[policy(mode="dry_run")]))) == {NEWEST: NOW}
    off = decide(snapshot(unseen(), policies=[policy(mode="off")]))
    assert unannounced_after(off) == {}


@pytest.mark.parametrize(
    ("here", "path", "first_sweep"),
    [
        pytest.param(unseen(SeenBy.EVENT), Path.SWEEP, None, id="an event told of it"),
        pytest.param(unseen(), Path.EVENT, None, id="an evaluation by event is no sweep"),
        pytest.param(unseen(), Path.SWEEP, NOW, id="it is from before the first sweep"),
        pytest.param(unseen(), Path.SWEEP, FOUR[3].started_at, id="it started with the first sweep"),
    ],
)
def test_what_is_no_breach_without_an_event(
    here: Situation, path: Path, first_sweep: datetime | None
) -> None:
    first = {"alpha": first_sweep} if first_sweep else None

    assert unannounced_after(decide(snapshot(here, path=path, first_sweeps=first))) == {}


def test_an_end_for_another_reason_is_no_breach_of_the_cap() -> None:
    here = situation(person(is_disabled=True), FOUR, PersonLedger(holder="ada", rev=1))

    assert unannounced_after(decide(snapshot(here))) == {}


def alarm(unannounced: dict[str, datetime], entries: Any = None, path: Path = Path.SWEEP) -> Any:
    ledger = PersonLedger(holder="ada", rev=1, entries=entries or {}, unannounced=unannounced)
    empty = Situation(holder="ada", person=None, sessions=(), ledger=ledger, is_complete=True)
    return by_subject(decide(snapshot(empty, path=path))).get("event_path")


def test_ten_minutes_later_the_event_path_is_known_to_be_broken() -> None:
    verdict = alarm({NEWEST: NOW - 10 * MINUTE, "other": NOW - MINUTE})

    assert verdict is not None
    assert verdict.reason == "breach_without_event"
    assert verdict.is_housekeeping
    assert verdict.mode is Mode.APPLY
    assert isinstance(verdict.action, NotifyOperators)
    assert NEWEST in verdict.action.text
    assert "other" not in verdict.action.text
    assert any("CloudTrail" in step for step in verdict.action.next_steps)


@pytest.mark.parametrize(
    ("unannounced", "entries", "path"),
    [
        pytest.param({NEWEST: NOW - 9 * MINUTE}, {}, Path.SWEEP, id="an event may be nine minutes late"),
        pytest.param(
            {NEWEST: NOW - 11 * MINUTE},
            {NEWEST: entry(seen_by=SeenBy.EVENT)},
            Path.SWEEP,
            id="its event came late",
        ),
        pytest.param({NEWEST: NOW - 11 * MINUTE}, {}, Path.EVENT, id="only the sweep may say so"),
        pytest.param({NEWEST: NOW + 11 * MINUTE}, {}, Path.SWEEP, id="a clock set back is no evidence"),
    ],
)
def test_when_there_is_no_alarm(unannounced: dict[str, datetime], entries: Any, path: Path) -> None:
    assert alarm(unannounced, entries, path) is None


def test_a_breach_that_lives_on_unannounced_raises_the_alarm_too() -> None:
    assert alarm({NEWEST: NOW - 11 * MINUTE}, {NEWEST: entry(seen_by=SeenBy.SWEEP)}) is not None


def test_an_alarm_is_raised_once_an_hour() -> None:
    assert alarm({NEWEST: NOW - 10 * MINUTE}).episode == "2026-09-01T10"


def test_the_overdue_are_forgotten_once_the_alarm_is_raised_and_those_announced_late_without_one() -> None:
    known = PersonLedger(
        holder="ada",
        rev=1,
        entries={"late": entry(seen_by=SeenBy.EVENT)},
        unannounced={"late": NOW - MINUTE, "overdue": NOW - 10 * MINUTE, "waiting": NOW - 9 * MINUTE},
    )
    empty = Situation(holder="ada", person=None, sessions=(), ledger=known, is_complete=True)

    assert unannounced_after(decide(snapshot(empty))) == {"waiting": NOW - 9 * MINUTE}


def test_an_event_within_the_cap_still_clears_its_session_of_being_unannounced() -> None:
    known = PersonLedger(
        holder="ada", rev=4, entries={FOUR[0].session_id: entry()}, unannounced={FOUR[0].session_id: NOW}
    )
    here = situation(ADA, FOUR[:1], known, is_complete=False)

    assert unannounced_after(decide(snapshot(here, path=Path.EVENT))) == {}


def test_the_policy_says_how_late_an_event_may_be() -> None:
    ledger = PersonLedger(holder="ada", rev=1, unannounced={"x": NOW - 12 * MINUTE})
    empty = Situation(holder="ada", person=None, sessions=(), ledger=ledger, is_complete=True)
    patient = decide(snapshot(empty, policies=[policy(event_grace_minutes=15)]))

    assert "event_path" not in by_subject(patient)


def draft(version: int = 8, error: str | None = None, *, is_in_force: bool = False) -> PolicyDraft:
    return PolicyDraft("alpha", "/proctor/alpha/session_limits", version, is_in_force, error)


def test_a_valid_new_version_is_labelled_even_in_dry_run() -> None:
    taken = snapshot(drafts=(draft(),), bound=Mode.DRY_RUN, path=Path.EVENT)
    verdict = by_subject(decide(taken))["policy#alpha"]

    assert verdict.action == LabelPolicyVersion(
        subject="policy#alpha", cluster="alpha", parameter_name="/proctor/alpha/session_limits", version=8
    )
    assert verdict.reason == "policy_valid"
    assert verdict.mode_under(Mode.DRY_RUN) is Mode.APPLY
    assert verdict.episode == "version-8"


def test_a_refused_version_is_told_with_field_and_what_stays_in_force() -> None:
    verdict = by_subject(decide(snapshot(drafts=(draft(error="mode: 'on' is not usable; use off"),))))[
        "policy#alpha"
    ]

    assert verdict.reason == "policy_refused"
    assert isinstance(verdict.action, NotifyOperators)
    assert "version 8 is refused" in verdict.action.headline
    assert verdict.action.text == "mode: 'on' is not usable; use off. The version in force stays in force."


def test_a_version_in_force_needs_nothing() -> None:
    assert by_subject(decide(snapshot(drafts=(draft(is_in_force=True),)))) == {}


def test_a_cluster_without_a_policy_is_told_of_by_the_sweep_once_a_day() -> None:
    verdict = by_subject(decide(snapshot(ungoverned=("beta",))))["policy#beta"]

    assert (verdict.reason, verdict.episode) == ("no_policy", "2026-09-01")
    assert isinstance(verdict.action, NotifyOperators)
    assert "write /proctor/beta/session_limits" in verdict.action.next_steps[0]


def test_events_say_nothing_about_a_cluster_without_a_policy() -> None:
    assert by_subject(decide(snapshot(ungoverned=("beta",), path=Path.EVENT))) == {}


def test_a_cluster_whose_first_version_is_refused_is_told_of_once() -> None:
    refused = replace(draft(error="bad"), cluster="beta")

    assert by_subject(decide(snapshot(ungoverned=("beta",), drafts=(refused,))))["policy#beta"].reason == (
        "policy_refused"
    )


def test_what_is_not_ours_and_what_is_unknown_gets_a_verdict_and_no_act() -> None:
    verdicts = by_subject(
        decide(
            snapshot(
                not_ours=(("session#x-1", "its target is no node of a governed cluster"),),
                unknown_requests=("session#y-2",),
                path=Path.MANUAL,
            )
        )
    )

    assert {s: (v.reason, v.action, v.mode) for s, v in verdicts.items()} == {
        "session#x-1": ("not_ours", None, Mode.OFF),
        "session#y-2": ("unknown", None, Mode.OFF),
    }
