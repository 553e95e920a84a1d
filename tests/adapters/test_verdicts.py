import json
from datetime import timedelta
from typing import Any

import pytest

from proctor.adapters.verdicts_table import DynamoVerdicts
from proctor.domain.decision import OutcomeStatus
from proctor.domain.errors import ThrottledError
from proctor.ports import VerdictStore
from tests.adapters.aws import CountedClients, ScriptedClients, json_error
from tests.adapters.retries import LossyClients, no_backoff
from tests.adapters.values import SUBJECT, outcome, run
from tests.fakes.records import FakeVerdictStore
from tests.fakes.values import NOW


class Stored:
    """A store, and what it holds on ada's session: reasons, newest first."""

    def __init__(self, store: VerdictStore) -> None:
        self.store = store

    def reasons(self) -> list[str]:
        if isinstance(self.store, FakeVerdictStore):
            past = [o.verdict.reason for o in self.store.history.get(SUBJECT, [])]
            return [self.store.latest[SUBJECT].verdict.reason, *reversed(past)]
        assert isinstance(self.store, DynamoVerdicts)
        return [row["reason"] for row in self.store.history(SUBJECT)]


@pytest.fixture(params=["fake", "dynamodb"])
def stored(request: pytest.FixtureRequest) -> Stored:
    if request.param == "fake":
        return Stored(FakeVerdictStore())
    return Stored(DynamoVerdicts(request.getfixturevalue("aws"), "verdicts"))


def test_a_new_verdict_is_the_latest(stored: Stored) -> None:
    stored.store.record(outcome("allowed"), run())

    assert stored.reasons() == ["allowed"]


@pytest.mark.parametrize(
    "change", [{}, {"inputs": {"holder": "ada", "ledger_rev": 7}}, {"text": "in other words"}]
)
def test_a_verdict_without_news_is_not_written_again(stored: Stored, change: dict[str, Any]) -> None:
    stored.store.record(outcome("allowed"), run())
    stored.store.record(outcome("allowed", **change), run(5))

    assert stored.reasons() == ["allowed"]


@pytest.mark.parametrize(
    "change",
    [
        {"reason": "over_cap"},
        {"policy_version": 4},
        {"rule": "document"},
        {"action": None},
        {"news": "another occurrence"},
        {"status": OutcomeStatus.FAILED},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_verdict_leaves_the_old_one_in_history(stored: Stored, change: dict[str, Any]) -> None:
    stored.store.record(outcome("allowed"), run())
    stored.store.record(outcome(**{"reason": "allowed", **change}), run(5))

    assert stored.reasons() == [change.get("reason", "allowed"), "allowed"]


def test_history_grows(stored: Stored) -> None:
    for minute, reason in enumerate(("allowed", "over_cap", "allowed", "allowed", "disabled")):
        stored.store.record(outcome(reason), run(minute))

    assert stored.reasons() == ["disabled", "allowed", "over_cap", "allowed"]


# The table


def test_calls(aws: CountedClients) -> None:
    verdicts = DynamoVerdicts(aws, "verdicts")
    for reason, cost in (
        ("allowed", ["PutItem"]),
        ("allowed", ["PutItem"]),
        ("over_cap", ["PutItem", "TransactWriteItems"]),
    ):
        aws.calls.clear()
        verdicts.record(outcome(reason), run(aws.count("PutItem")))
        assert aws.calls == cost


@pytest.mark.parametrize(
    ("minutes_of_the_first", "newest_first"),
    [(1, ["over_cap", "disabled", "allowed"]), (3, ["disabled", "over_cap", "allowed"])],
)
def test_of_two_that_supersede_at_once_the_newer_is_the_latest_and_none_is_lost(
    aws: CountedClients, minutes_of_the_first: int, newest_first: list[str]
) -> None:
    verdicts = DynamoVerdicts(aws, "verdicts")
    verdicts.record(outcome("allowed"), run())
    aws.meanwhile["TransactWriteItems"] = lambda: verdicts.record(
        outcome("disabled"), run(minutes_of_the_first)
    )

    verdicts.record(outcome("over_cap"), run(2))

    latest = verdicts.latest(SUBJECT)
    assert latest is not None
    assert latest["reason"] == newest_first[0]
    assert [row["reason"] for row in verdicts.history(SUBJECT)] == newest_first


def test_one_that_loses_every_race_steps_aside_into_history() -> None:
    aws = ScriptedClients(
        PutItem=[json_error("ConditionalCheckFailedException", Item=_item("allowed", "old")), {}],
        GetItem={"Item": _item("allowed", "old")},
        TransactWriteItems=json_error(
            "TransactionCanceledException", CancellationReasons=[{"Code": "ConditionalCheckFailed"}]
        ),
    )
    DynamoVerdicts(aws, "verdicts").record(outcome("over_cap"), run(1))

    assert aws.calls == [
        "PutItem",
        *("TransactWriteItems", "GetItem") * 2,
        "TransactWriteItems",
        "PutItem",
    ]


def test_a_late_verdict_goes_into_history(aws: CountedClients) -> None:
    verdicts = DynamoVerdicts(aws, "verdicts")
    verdicts.record(outcome("over_cap"), run(5))
    verdicts.record(outcome("allowed"), run(4))

    latest = verdicts.latest(SUBJECT)
    assert latest is not None
    assert latest["reason"] == "over_cap"
    assert [row["reason"] for row in verdicts.history(SUBJECT)] == ["over_cap", "allowed"]


def test_two_changes_of_one_moment_are_both_kept(aws: CountedClients) -> None:
    verdicts = DynamoVerdicts(aws, "verdicts")
    for reason in ("allowed", "over_cap", "disabled"):
        verdicts.record(outcome(reason), run())

    assert {row["reason"] for row in verdicts.history(SUBJECT)} == {"allowed", "over_cap", "disabled"}


def test_an_unknown_subject_has_neither_verdict_nor_history(aws: CountedClients) -> None:
    verdicts = DynamoVerdicts(aws, "verdicts")

    assert verdicts.latest("session#unknown") is None
    assert verdicts.history("session#unknown") == []


def test_a_row_fits_an_item_whatever_it_holds(aws: CountedClients) -> None:
    verdicts = DynamoVerdicts(aws, "verdicts")
    huge = outcome("over_cap", inputs={"peers": ["x" * 100] * 10_000}, text="t" * 1_000_000)
    verdicts.record(huge, run())

    row = verdicts.latest(SUBJECT)
    assert row is not None
    assert json.loads(row["inputs"])["too_large_bytes"] > 1_000_000
    assert len(json.dumps(row)) < 100_000


def test_a_lost_answer_writes_no_history(aws: CountedClients, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = DynamoVerdicts(LossyClients(), "verdicts")
    with no_backoff(monkeypatch):
        verdicts.record(outcome("allowed"), run())
        verdicts.record(outcome("over_cap"), run(1))

    assert [row["reason"] for row in verdicts.history(SUBJECT)] == ["over_cap", "allowed"]


def _item(reason: str, digest: str) -> dict[str, Any]:
    texts = {
        "subject": SUBJECT,
        "at": "latest",
        "reason": reason,
        "digest": digest,
        "decided_at": NOW.isoformat(),
    }
    return {name: {"S": text} for name, text in texts.items()}


def test_a_service_that_returns_no_old_item_is_asked_for_it() -> None:
    aws = ScriptedClients(
        PutItem=json_error("ConditionalCheckFailedException"),
        GetItem={"Item": _item("allowed", "old")},
        TransactWriteItems={},
    )
    DynamoVerdicts(aws, "verdicts").record(outcome("over_cap"), run(1))

    assert aws.calls == ["PutItem", "GetItem", "TransactWriteItems"]


def test_a_verdict_that_is_gone_by_then_is_left_to_the_next_evaluation() -> None:
    aws = ScriptedClients(PutItem=json_error("ConditionalCheckFailedException"), GetItem={})
    DynamoVerdicts(aws, "verdicts").record(outcome("over_cap"), run(1))

    assert aws.calls == ["PutItem", "GetItem"]


def test_a_throttled_transaction_is_no_lost_race() -> None:
    aws = ScriptedClients(
        PutItem=json_error("ConditionalCheckFailedException", Item=_item("allowed", "old")),
        TransactWriteItems=json_error(
            "TransactionCanceledException",
            CancellationReasons=[{"Code": "ThrottlingError"}, {"Code": "None"}],
        ),
    )
    with pytest.raises(ThrottledError):
        DynamoVerdicts(aws, "verdicts").record(outcome("over_cap"), run(1))


def test_rows_are_kept_90_days(aws: CountedClients) -> None:
    verdicts = DynamoVerdicts(aws, "verdicts")
    verdicts.record(outcome("allowed"), run())

    row = verdicts.latest(SUBJECT)
    assert row is not None
    assert row["expires_at"] == int((NOW + timedelta(days=90)).timestamp())
