"""What people are told, and how often."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from proctor.domain.actions import NotifyOperators, NotifyPerson
from proctor.domain.decision import Mode, Verdict
from proctor.domain.ledger import PersonLedger
from session_limits.decide import decide
from session_limits.snapshot import Path, Situation
from tests.fakes.snapshots import by_subject, entry, ledger_of, policy, sessions_of, situation, snapshot
from tests.fakes.values import NOW, person, role_arn, session

ADA = person("ada")
FIVE = sessions_of("ada", 5)
MINUTE = timedelta(minutes=1)


def told(
    here: Situation, subject: str, now: datetime = NOW, path: Path = Path.SWEEP, **fields: Any
) -> Verdict:
    return by_subject(decide(snapshot(here, policies=[policy(**fields)], now=now, path=path)))[subject]


def text_of(verdict: Verdict) -> str:
    assert isinstance(verdict.action, NotifyPerson | NotifyOperators)
    return verdict.action.text


def test_the_person_is_told_rule_count_victims_and_how_to_appeal() -> None:
    verdict = told(situation(ADA, FIVE), "notice#ada", appeal="Mail help@uni.example.")

    assert isinstance(verdict.action, NotifyPerson)
    assert verdict.action.email == "ada@uni.example"
    text = text_of(verdict)
    assert "Rule cap: 5 in use on alpha, 3 allowed (default)" in text
    assert "ada@uni.example-e, ada@uni.example-d" in text
    assert "If this was wrong: Mail help@uni.example." in text
    assert "i-0123456789abcdef0" in text


def test_the_operators_are_told_too_and_what_to_do_next() -> None:
    verdict = told(situation(ADA, FIVE), "operators#ada")

    assert isinstance(verdict.action, NotifyOperators)
    assert verdict.action.next_steps == ("proctor why person ada",)
    assert "2 session(s) on alpha ended" in verdict.action.headline


def test_a_message_about_ends_hangs_on_their_taking_effect() -> None:
    assert told(situation(ADA, FIVE), "notice#ada").requires == (
        "session#ada@uni.example-d",
        "session#ada@uni.example-e",
    )


def test_a_person_without_an_address_is_told_in_vain_and_that_is_recorded() -> None:
    verdict = told(situation(person(email=None), FIVE), "notice#ada")

    assert isinstance(verdict.action, NotifyPerson)
    assert verdict.action.email is None


def test_an_owner_nobody_knows_has_the_operators_told_only() -> None:
    verdicts = by_subject(
        decide(snapshot(situation(None, FIVE[:1]), policies=[policy(unmapped_response="end")]))
    )

    kinds = {type(v.action) for v in verdicts.values()}
    assert NotifyOperators in kinds
    assert NotifyPerson not in kinds


def test_one_message_for_all_ends_of_a_person_at_once() -> None:
    foreign = replace(FIVE[0], document_name="Own-Document")
    verdict = told(situation(ADA, [foreign, *FIVE[1:]]), "notice#ada", document_response="end")

    assert "2 session(s) on alpha ended" in text_of(verdict)
    assert "not in the allowed list" in text_of(verdict)
    assert "over the cap" in text_of(verdict)


@pytest.mark.parametrize(
    ("minutes", "is_same_incident", "step"),
    [
        pytest.param(0, True, "part-0", id="the first message"),
        pytest.param(14, True, "part-0", id="within a quarter of an hour nothing new is said"),
        pytest.param(15, True, "part-1", id="an update after a quarter of an hour"),
        pytest.param(59, True, "part-3", id="the last update of the incident"),
        pytest.param(60, False, "part-0", id="a new incident after an hour"),
        pytest.param(-5, False, "part-0", id="a clock set back opens a new incident"),
    ],
)
def test_one_message_per_incident_and_quarter_of_an_hour(
    minutes: int, is_same_incident: bool, step: str
) -> None:
    known = ledger_of(FIVE, incident_at=NOW)
    verdict = told(situation(ADA, FIVE, known), "notice#ada", now=NOW + minutes * MINUTE)

    opened_at = NOW if is_same_incident else NOW + minutes * MINUTE
    assert (verdict.episode, verdict.step) == (opened_at.isoformat(), step)


def test_the_policy_says_how_long_an_incident_lasts() -> None:
    known = ledger_of(FIVE, incident_at=NOW - 30 * MINUTE)

    assert told(situation(ADA, FIVE, known), "notice#ada", incident_minutes=30).episode == NOW.isoformat()


@pytest.mark.parametrize(
    ("rules", "mode"),
    [
        ({}, Mode.APPLY),
        ({"notice": "off"}, Mode.OFF),
        ({"notice": "dry_run"}, Mode.DRY_RUN),
        ({"cap": "dry_run"}, Mode.DRY_RUN),
    ],
)
def test_a_message_goes_no_further_than_its_rule_and_what_it_tells_of(
    rules: dict[str, str], mode: Mode
) -> None:
    assert told(situation(ADA, FIVE), "notice#ada", rules=rules).mode is mode


def test_an_end_in_dry_run_beside_a_real_one_keeps_nobody_from_being_told_of_the_real_one() -> None:
    foreign = replace(FIVE[0], document_name="Own-Document")
    verdict = told(
        situation(ADA, [foreign, *FIVE[1:]]),
        "notice#ada",
        document_response="end",
        rules={"document": "dry_run"},
    )

    assert verdict.mode is Mode.APPLY
    assert "session#ada@uni.example-a" not in verdict.requires
    assert "2 session(s)" in text_of(verdict)


def test_what_is_left_alone_is_reported_once_a_day_for_each_cause() -> None:
    nobodys = [session(f"x1-{n}", owner_arn=role_arn("x1")) for n in range(3)]
    here = situation(None, nobodys)
    first = told(here, f"report#{here.holder}#unmapped_owner")
    later = told(here, f"report#{here.holder}#unmapped_owner", now=NOW + timedelta(hours=13))
    next_day = told(here, f"report#{here.holder}#unmapped_owner", now=NOW + timedelta(hours=14))

    assert first.episode == later.episode == "2026-09-01"
    assert next_day.episode == "2026-09-02"
    assert "proctor why session" in first.action.next_steps[0]  # type: ignore[union-attr]


def test_a_report_that_failed_comes_again_with_the_next_look() -> None:
    """The claim keeps it from being sent twice; the ledger knowing the reason must not keep it from being sent at all."""
    here = situation(person(run_as="root"), FIVE[:1])
    memory = decide(snapshot(here)).cases[0].memory
    assert memory is not None
    assert isinstance(memory.data, PersonLedger)

    again = told(replace(here, ledger=memory.data), "report#ada#unmapped_run_as")
    assert again.is_known
    assert again.action is not None


def gone(decided: timedelta, seen: timedelta = timedelta(hours=1)) -> PersonLedger:
    """A ledger with one session that we ended `decided` ago, over the cap."""
    at = NOW - decided
    ended = entry(
        seen_at=NOW - seen, reason="over_cap", intent_until=at + 2 * MINUTE, intent_token="token-0", weight=0
    )
    return PersonLedger(
        holder="ada", rev=5, entries={"ada@uni.example-z": ended}, incident_at=at - 13 * MINUTE
    )


def test_an_end_whose_evaluator_died_is_told_of_by_the_sweep_under_the_claim_of_the_first_telling() -> None:
    verdict = told(situation(ADA, FIVE[:1], gone(3 * MINUTE)), "notice#ada")

    assert (verdict.episode, verdict.step) == ((NOW - 16 * MINUTE).isoformat(), "part-0")
    assert "ada@uni.example-z: ended: over cap" in text_of(verdict)
    assert verdict.requires == ("session#ada@uni.example-z",)


@pytest.mark.parametrize(
    ("decided", "path"),
    [
        pytest.param(timedelta(seconds=119), Path.SWEEP, id="its evaluator may still be at it"),
        pytest.param(15 * MINUTE, Path.SWEEP, id="a quarter of an hour is enough"),
        pytest.param(3 * MINUTE, Path.EVENT, id="events leave it to the sweep"),
    ],
)
def test_when_nothing_is_told_again(decided: timedelta, path: Path) -> None:
    here = situation(ADA, FIVE[:1], gone(decided))

    assert "notice#ada" not in by_subject(decide(snapshot(here, path=path)))


def test_a_session_that_lives_on_is_not_told_of_as_gone() -> None:
    ledger = gone(3 * MINUTE)
    alive = replace(ledger, entries={FIVE[0].session_id: ledger.entries["ada@uni.example-z"]})

    assert "notice#ada" not in by_subject(decide(snapshot(situation(ADA, FIVE[:1], alive))))
