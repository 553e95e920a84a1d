import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from proctor.adapters.claims_table import DynamoClaims
from proctor.adapters.items import from_item
from proctor.domain.actions import NotifyPerson, Peer, TerminateSession
from proctor.domain.claims import ClaimState
from proctor.domain.errors import LostRaceError
from proctor.ports import ClaimStore
from tests.adapters.aws import CountedClients
from tests.adapters.retries import LossyClients, no_backoff
from tests.adapters.values import KEY, SUBJECT, claim, run, verdict
from tests.fakes.records import FakeClaimStore
from tests.fakes.values import NOW


@pytest.fixture(params=["fake", "dynamodb"])
def claims(request: pytest.FixtureRequest) -> ClaimStore:
    if request.param == "fake":
        return FakeClaimStore()
    return DynamoClaims(request.getfixturevalue("aws"), "claims")


def test_nothing_is_stored_at_first(claims: ClaimStore) -> None:
    assert claims.get(KEY) is None


def test_a_claim_reads_back_as_written(claims: ClaimStore) -> None:
    claims.put(claim(), verdict(), run(), replaces=None)

    assert claims.get(KEY) == claim()


def test_the_second_of_two_claims_loses(claims: ClaimStore) -> None:
    claims.put(claim("token-1"), verdict(), run(), replaces=None)

    with pytest.raises(LostRaceError):
        claims.put(claim("token-2"), verdict(), run(), replaces=None)

    assert claims.get(KEY) == claim("token-1")


def test_the_same_evaluator_claims_once_only(claims: ClaimStore) -> None:
    claims.put(claim(), verdict(), run(), replaces=None)

    with pytest.raises(LostRaceError):
        claims.put(claim(), verdict(), run(), replaces=None)


def test_a_takeover_replaces_what_was_read(claims: ClaimStore) -> None:
    claims.put(claim("token-1"), verdict(), run(), replaces=None)
    taken = claim("token-2", minutes=5, attempts=2)

    claims.put(taken, verdict(), run(5), replaces=claims.get(KEY))

    assert claims.get(KEY) == taken


def test_a_takeover_loses_against_one_that_came_first(claims: ClaimStore) -> None:
    claims.put(claim("token-1"), verdict(), run(), replaces=None)
    read = claims.get(KEY)
    claims.put(claim("token-2", 5, 2), verdict(), run(5), replaces=read)

    with pytest.raises(LostRaceError):
        claims.put(claim("token-3", 5, 2), verdict(), run(5), replaces=read)

    assert claims.get(KEY) == claim("token-2", 5, 2)


def test_a_takeover_loses_against_a_settlement(claims: ClaimStore) -> None:
    claims.put(claim("token-1"), verdict(), run(), replaces=None)
    read = claims.get(KEY)
    claims.settle(claim("token-1"), ClaimState.APPLIED, "", NOW)

    with pytest.raises(LostRaceError):
        claims.put(claim("token-2", 5, 2), verdict(), run(5), replaces=read)


def test_a_takeover_of_nothing_loses(claims: ClaimStore) -> None:
    with pytest.raises(LostRaceError):
        claims.put(claim("token-2"), verdict(), run(), replaces=claim("token-1"))


def test_the_holder_settles(claims: ClaimStore) -> None:
    claims.put(claim(), verdict(), run(), replaces=None)
    later = NOW + timedelta(seconds=3)

    claims.settle(claim(), ClaimState.UNCONFIRMED, "could not read back", later)

    assert claims.get(KEY) == replace(claim(), state=ClaimState.UNCONFIRMED, changed_at=later)


@pytest.mark.parametrize("state", [ClaimState.APPLIED, ClaimState.FAILED])
def test_nobody_else_settles(claims: ClaimStore, state: ClaimState) -> None:
    claims.put(claim("token-1"), verdict(), run(), replaces=None)

    with pytest.raises(LostRaceError):
        claims.settle(claim("token-2"), state, "", NOW)

    assert claims.get(KEY) == claim("token-1")


def test_a_settled_claim_is_not_settled_again(claims: ClaimStore) -> None:
    claims.put(claim(), verdict(), run(), replaces=None)
    claims.settle(claim(), ClaimState.FAILED, "", NOW)

    with pytest.raises(LostRaceError):
        claims.settle(claim(), ClaimState.FAILED, "", NOW)


def test_settling_what_was_never_claimed_loses(claims: ClaimStore) -> None:
    with pytest.raises(LostRaceError):
        claims.settle(claim(), ClaimState.APPLIED, "", NOW)


# The table


def _row(aws: CountedClients) -> dict[str, Any]:
    answer = aws.dynamodb().get_item(TableName="claims", Key={"claim": {"S": str(KEY)}})
    return from_item(answer["Item"])


def test_each_step_costs_one_call(aws: CountedClients) -> None:
    claims = DynamoClaims(aws, "claims")
    claims.put(claim(), verdict(), run(), replaces=None)
    claims.settle(claim(), ClaimState.APPLIED, "", NOW)
    claims.get(KEY)

    assert aws.calls == ["PutItem", "UpdateItem", "GetItem"]


def test_the_record_is_the_audit(aws: CountedClients) -> None:
    claims = DynamoClaims(aws, "claims")
    context = run(actor="ops (claimed)", justification="ticket 4711")
    end = TerminateSession(subject=SUBJECT, session_id="s", holder="ada", peers=(Peer("t", 1),), cap=1)
    claims.put(claim(), verdict(action=end), context, replaces=None)
    claims.settle(claim(), ClaimState.APPLIED, "gone", NOW)

    row = _row(aws)
    assert (row["actor"], row["justification"], row["trigger"]) == ("ops (claimed)", "ticket 4711", "Sweep")
    assert (row["reason"], row["policy_version"], row["state"], row["detail"]) == (
        "over_cap",
        3,
        "applied",
        "gone",
    )
    assert json.loads(row["inputs"]) == {"holder": "ada"}
    assert json.loads(row["action"])["peers"] == [{"session_id": "t", "weight": 1}]
    assert datetime.fromtimestamp(row["expires_at"], UTC) == NOW + timedelta(days=400)


def test_the_audit_holds_no_address(aws: CountedClients) -> None:
    told = NotifyPerson(
        subject="person#ada", login_name="ada", email="ada@uni.example", headline="h", text="t"
    )
    DynamoClaims(aws, "claims").put(claim(), verdict(action=told), run(), replaces=None)

    action = json.loads(_row(aws)["action"])
    assert action["login_name"] == "ada"
    assert "email" not in action


def test_inputs_that_would_burst_the_item_are_kept_as_a_digest(aws: CountedClients) -> None:
    peers = tuple(Peer(f"session-{n}", 1) for n in range(5_000))
    end = TerminateSession(subject=SUBJECT, session_id="s", holder="ada", peers=peers)
    huge = verdict(action=end, inputs={"text": "x" * 500_000}, text="y" * 500_000)
    claims = DynamoClaims(aws, "claims")

    claims.put(claim(), huge, run(justification="z" * 500_000), replaces=None)
    claims.settle(claim(), ClaimState.FAILED, "d" * 500_000, NOW)

    row = _row(aws)
    assert json.loads(row["inputs"])["too_large_bytes"] > 500_000
    assert len(json.loads(row["action"])["sha256"]) == 64
    assert len(json.dumps(row)) < 100_000


def test_inputs_may_hold_times_and_sets(aws: CountedClients) -> None:
    given = verdict(inputs={"at": NOW, "groups": frozenset({"b", "a"})})
    DynamoClaims(aws, "claims").put(claim(), given, run(), replaces=None)

    assert json.loads(_row(aws)["inputs"]) == {"at": NOW.isoformat(), "groups": ["a", "b"]}


def test_a_write_whose_answer_was_lost_is_no_lost_race(
    aws: CountedClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    lossy = LossyClients()
    claims = DynamoClaims(lossy, "claims")
    with no_backoff(monkeypatch):
        claims.put(claim(), verdict(), run(), replaces=None)
        claims.settle(claim(), ClaimState.UNCONFIRMED, "", NOW)
        claims.put(claim("token-2", 5, 2), verdict(), run(5), replaces=claims.get(KEY))

    assert lossy.lost == ["PutItem", "UpdateItem", "PutItem"]
    assert claims.get(KEY) == claim("token-2", 5, 2)


def test_another_evaluators_write_is_never_taken_for_ones_own(
    aws: CountedClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    DynamoClaims(aws, "claims").put(claim("token-1"), verdict(), run(), replaces=None)
    lossy = LossyClients()
    with no_backoff(monkeypatch), pytest.raises(LostRaceError):
        DynamoClaims(lossy, "claims").put(claim("token-2"), verdict(), run(), replaces=None)
    with no_backoff(monkeypatch), pytest.raises(LostRaceError):
        DynamoClaims(lossy, "claims").settle(claim("token-2"), ClaimState.APPLIED, "", NOW)
