"""A client that reconnects at once: counted, fought no further on the event path, proposed to the operators."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from proctor.domain.actions import NotifyOperators
from proctor.domain.ledger import PersonLedger
from session_limits.decide import decide
from session_limits.snapshot import Path, Situation
from tests.fakes.snapshots import (
    by_subject,
    entry,
    ledger_of,
    policy,
    reasons,
    sessions_of,
    situation,
    snapshot,
)
from tests.fakes.values import NOW, iam_user_arn, person, session

ADA = person("ada")
OLD = sessions_of("ada", 3)
SECOND = timedelta(seconds=1)


def reconnect(bursts: int = 0, evicted_ago: int = 5, started_ago: int = 0, **ledger: Any) -> Situation:
    """Three sessions within the cap and a fourth that just started after an end of ours."""
    again = session("ada@uni.example-z", started_at=NOW - started_ago * SECOND)
    known = ledger_of(
        [*OLD, again],
        evicted_at=(NOW - evicted_ago * SECOND,),
        burst_at=tuple(NOW - (n + 1) * timedelta(minutes=1) for n in reversed(range(bursts))),
        **ledger,
    )
    return situation(ADA, [*OLD, again], known)


def bursts_after(here: Situation, path: Path = Path.EVENT) -> int:
    memory = decide(snapshot(here, path=path)).cases[0].memory
    assert memory is not None
    assert isinstance(memory.data, PersonLedger)
    return len(memory.data.burst_at)


@pytest.mark.parametrize(
    ("evicted_ago", "started_ago", "is_burst"),
    [
        pytest.param(59, 0, True, id="59 s after the end"),
        pytest.param(60, 0, False, id="a minute after it"),
        pytest.param(0, 0, True, id="in the same moment"),
        pytest.param(5, 10, False, id="it had started before the end"),
    ],
)
def test_a_burst_is_a_session_over_the_cap_that_starts_right_after_an_end_of_ours(
    evicted_ago: int, started_ago: int, is_burst: bool
) -> None:
    assert bursts_after(reconnect(evicted_ago=evicted_ago, started_ago=started_ago)) == int(is_burst)


def test_a_session_within_the_cap_is_no_burst_however_soon_it_starts() -> None:
    again = session("ada@uni.example-z", started_at=NOW)
    here = situation(ADA, [OLD[0], again], ledger_of([OLD[0], again], evicted_at=(NOW - SECOND,)))

    assert bursts_after(here) == 0


def test_a_session_is_counted_as_a_burst_once() -> None:
    here = reconnect()
    again = "ada@uni.example-z"
    known = replace(here.ledger, entries={**here.ledger.entries, again: entry(reason="backing_off")})

    assert bursts_after(replace(here, ledger=known)) == 0


@pytest.mark.parametrize(
    ("bursts", "path", "reason"),
    [
        pytest.param(0, Path.EVENT, "over_cap", id="the first reconnect is ended"),
        pytest.param(1, Path.EVENT, "over_cap", id="the second too"),
        pytest.param(2, Path.EVENT, "backing_off", id="the third is left to the sweep"),
        pytest.param(2, Path.SWEEP, "over_cap", id="which ends it"),
        pytest.param(9, Path.SWEEP, "over_cap", id="always"),
        pytest.param(9, Path.MANUAL, "over_cap", id="and so does a hand"),
    ],
)
def test_after_three_bursts_only_the_sweep_ends_sessions(bursts: int, path: Path, reason: str) -> None:
    found = reasons(snapshot(reconnect(bursts), path=path))

    assert found == {"a": "allowed", "b": "allowed", "c": "allowed", "z": reason}


def test_backing_off_ends_nobody_and_says_why() -> None:
    verdict = by_subject(decide(snapshot(reconnect(2), path=Path.EVENT)))["session#ada@uni.example-z"]

    assert verdict.action is None
    assert "3 reconnects at once, so the sweep will end it" in verdict.text


def test_bursts_before_the_window_are_forgotten() -> None:
    here = reconnect()
    old = replace(here.ledger, burst_at=tuple(NOW - timedelta(minutes=31 + n) for n in range(9)))

    assert reasons(snapshot(replace(here, ledger=old), path=Path.EVENT))["z"] == "over_cap"


def test_the_policy_says_when_to_back_off() -> None:
    stubborn = [policy(reconnects={"back_off_after": 5, "propose_after": 9})]

    assert reasons(snapshot(reconnect(3), path=Path.EVENT, policies=stubborn))["z"] == "over_cap"


def proposal(here: Situation, **fields: Any) -> NotifyOperators | None:
    verdicts = by_subject(decide(snapshot(here, path=Path.EVENT, policies=[policy(**fields)])))
    found = verdicts.get("loop#ada")
    if found is None:
        return None
    assert isinstance(found.action, NotifyOperators)
    assert found.reason == "reconnect_loop"
    return found.action


@pytest.mark.parametrize(("bursts", "is_proposed"), [(3, False), (4, True), (8, True)])
def test_after_five_bursts_an_iam_deny_is_proposed_to_the_operators(bursts: int, is_proposed: bool) -> None:
    assert (proposal(reconnect(bursts)) is not None) is is_proposed


def test_the_deny_is_shown_and_never_applied() -> None:
    decision = decide(snapshot(reconnect(4), path=Path.EVENT))
    action = proposal(reconnect(4))

    assert action is not None
    assert action.next_steps[0] == "talk to the person first"
    statement = json.loads(action.text[action.text.index("{") :])["Statement"]
    assert [s["Effect"] for s in statement] == ["Deny"]
    assert statement[0]["Condition"] == {"StringLike": {"aws:userid": ["*:ada@uni.example"]}}
    assert all(v.action is None or isinstance(v.action, NotifyOperators) for v in decision.verdicts)


def test_the_deny_names_an_iam_user_by_arn_since_no_user_id_holds_its_name() -> None:
    here = reconnect(4)
    arn = iam_user_arn("ada-legacy", "staff/")
    legacy = [replace(item, session=replace(item.session, owner_arn=arn)) for item in here.sessions[:1]]
    action = proposal(replace(here, sessions=(*legacy, *here.sessions[1:])))

    assert action is not None
    statements = json.loads(action.text[action.text.index("{") :])["Statement"]
    assert [s["Condition"] for s in statements] == [
        {"StringLike": {"aws:userid": ["*:ada@uni.example"]}},
        {"ArnEquals": {"aws:PrincipalArn": [arn]}},
    ]
