from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from proctor.adapters.items import from_item, to_item
from proctor.adapters.memory_table import DynamoSessionLedger
from proctor.domain.errors import LostRaceError
from proctor.domain.ledger import LedgerEntry, PersonLedger, SeenBy, with_burst, with_intents
from proctor.ports import SessionLedger
from tests.adapters.aws import CountedClients
from tests.adapters.retries import LossyClients, no_backoff
from tests.fakes.memory import FakeSessionLedger
from tests.fakes.values import NOW

SCOPE = "session_limits#ledger"
LATER = NOW + timedelta(minutes=1)


@pytest.fixture(params=["fake", "dynamodb"])
def ledger(request: pytest.FixtureRequest) -> SessionLedger:
    if request.param == "fake":
        return FakeSessionLedger()
    return DynamoSessionLedger(request.getfixturevalue("aws"), "memory", SCOPE, lambda: NOW)


def entry(seen_by: SeenBy = SeenBy.EVENT, at: datetime = NOW, **fields: object) -> LedgerEntry:
    return replace(LedgerEntry(cluster="alpha", seen_by=seen_by, seen_at=at), **fields)  # type: ignore[arg-type]


def stored(*session_ids: str, rev: int = 0, seen_by: SeenBy = SeenBy.SWEEP) -> PersonLedger:
    return PersonLedger(holder="ada", rev=rev, entries={sid: entry(seen_by) for sid in session_ids})


def test_a_holder_that_was_never_seen_has_an_empty_ledger(ledger: SessionLedger) -> None:
    assert ledger.get("ada") == PersonLedger(holder="ada")
    assert ledger.all() == {}


def test_a_first_start_makes_the_ledger(ledger: SessionLedger) -> None:
    after = ledger.note_started("ada", "s-1", entry(weight=2))

    assert after == PersonLedger(holder="ada", rev=1, entries={"s-1": entry(weight=2)})
    assert ledger.get("ada") == after


def test_each_start_sees_all_before_it(ledger: SessionLedger) -> None:
    seen = [ledger.note_started("ada", f"ada@uni.example-{n}", entry()) for n in range(3)]

    assert [len(after.entries) for after in seen] == [1, 2, 3]
    assert [after.rev for after in seen] == [1, 2, 3]


def test_a_start_told_twice_changes_nothing(ledger: SessionLedger) -> None:
    first = ledger.note_started("ada", "s-1", entry())

    assert ledger.note_started("ada", "s-1", entry(at=LATER, weight=9)) == first


def test_an_event_after_the_sweep_keeps_intent_and_reason(ledger: SessionLedger) -> None:
    swept = with_intents(stored("s-1"), ["s-1"], "token-1", NOW)
    swept = replace(swept, entries={"s-1": replace(swept.entries["s-1"], reason="over_cap")})
    ledger.swap("ada", swept, 0)

    after = ledger.note_started("ada", "s-1", entry(SeenBy.EVENT, LATER))

    assert after.entries["s-1"] == replace(swept.entries["s-1"], seen_by=SeenBy.EVENT)
    assert after.rev == 2
    assert after.evicted_at == (NOW,)


def test_a_swap_writes_everything(ledger: SessionLedger) -> None:
    full = with_burst(with_intents(stored("s-1", "s-2"), ["s-2"], "token-1", NOW), NOW)
    full = replace(full, incident_at=NOW, unannounced={"s-2": LATER})

    ledger.swap("ada", full, 0)

    assert ledger.get("ada") == replace(full, rev=1)
    assert ledger.all() == {"ada": replace(full, rev=1)}


def test_a_swap_takes_entries_away(ledger: SessionLedger) -> None:
    ledger.note_started("ada", "s-1", entry())
    ledger.note_started("ada", "s-2", entry())

    ledger.swap("ada", stored("s-2"), 2)

    assert set(ledger.get("ada").entries) == {"s-2"}


def test_the_second_of_two_swaps_loses(ledger: SessionLedger) -> None:
    ledger.swap("ada", stored("s-1"), 0)
    ledger.swap("ada", stored("s-1", "s-2"), 1)

    with pytest.raises(LostRaceError):
        ledger.swap("ada", stored("s-3"), 1)

    assert set(ledger.get("ada").entries) == {"s-1", "s-2"}


def test_a_start_makes_a_swap_lose(ledger: SessionLedger) -> None:
    ledger.swap("ada", stored("s-1"), 0)
    read = ledger.get("ada")
    ledger.note_started("ada", "s-2", entry())

    with pytest.raises(LostRaceError):
        ledger.swap("ada", read, read.rev)


@pytest.mark.parametrize("expected_rev", [0, 2])
def test_a_swap_needs_the_revision_it_read(ledger: SessionLedger, expected_rev: int) -> None:
    ledger.swap("ada", stored("s-1"), 0)

    with pytest.raises(LostRaceError):
        ledger.swap("ada", stored("s-2"), expected_rev)


def test_a_swap_of_something_else_is_refused(ledger: SessionLedger) -> None:
    with pytest.raises(TypeError):
        ledger.swap("ada", {"entries": {}}, 0)


def test_a_session_that_was_not_ended_counts_again(ledger: SessionLedger) -> None:
    ledger.swap("ada", with_intents(stored("s-1", "s-2"), ["s-1", "s-2"], "token-1", NOW), 0)

    ledger.release_intent("ada", "s-1", "token-1")

    after = ledger.get("ada")
    assert [after.entries[s].intent_token for s in ("s-1", "s-2")] == [None, "token-1"]
    assert after.weight_in("alpha", NOW) == 1
    assert after.rev == 2


@pytest.mark.parametrize(
    ("holder", "session_id", "token"),
    [("ada", "s-1", "token-2"), ("ada", "s-9", "token-1"), ("bob", "s-1", "token-1")],
)
def test_an_intent_that_is_not_ours_stays(
    ledger: SessionLedger, holder: str, session_id: str, token: str
) -> None:
    ledger.swap("ada", with_intents(stored("s-1"), ["s-1"], "token-1", NOW), 0)
    before = ledger.all()

    ledger.release_intent(holder, session_id, token)

    assert ledger.all() == before


def test_holders_and_session_ids_may_look_like_anything(ledger: SessionLedger) -> None:
    holder, session_id = "owner:arn:aws:iam::123456789012:user/a.b", "a.b@uni.example+x,y=z-0f"

    ledger.note_started(holder, session_id, entry())
    ledger.swap(holder, with_intents(ledger.get(holder), [session_id], "t", NOW), 1)
    ledger.release_intent(holder, session_id, "t")

    assert set(ledger.all()[holder].entries) == {session_id}


# The table


def test_calls(aws: CountedClients) -> None:
    ledger = DynamoSessionLedger(aws, "memory", SCOPE, lambda: NOW)
    for act, cost in (
        (lambda: ledger.note_started("ada", "s-1", entry()), ["UpdateItem"]),
        (lambda: ledger.note_started("ada", "s-1", entry()), ["UpdateItem"]),
        (lambda: ledger.swap("bob", stored("s-2"), 0), ["PutItem"]),
        (lambda: ledger.note_started("bob", "s-2", entry()), ["UpdateItem", "UpdateItem"]),
        (lambda: ledger.release_intent("ada", "s-1", "t"), ["UpdateItem"]),
        (lambda: ledger.get("ada"), ["GetItem"]),
        (ledger.all, ["Query"]),
    ):
        aws.calls.clear()
        act()
        assert aws.calls == cost


def test_all_reads_every_page(aws: CountedClients) -> None:
    pad = "x" * 200_000
    for n in range(12):
        item = {"scope": SCOPE, "subject": f"person-{n:02}", "rev": 1, "pad": pad}
        aws.dynamodb().put_item(TableName="memory", Item=to_item(item))
    aws.dynamodb().put_item(TableName="memory", Item=to_item({"scope": "counter", "subject": "x", "rev": 1}))
    aws.calls.clear()

    assert len(DynamoSessionLedger(aws, "memory", SCOPE).all()) == 12
    assert aws.count("Query") >= 3


def test_the_sweep_never_makes_an_event_unseen(aws: CountedClients) -> None:
    ledger = DynamoSessionLedger(aws, "memory", SCOPE)
    first = ledger.note_started("ada", "s-1", entry(SeenBy.EVENT))

    assert ledger.note_started("ada", "s-1", entry(SeenBy.SWEEP)) == first


def test_an_entry_that_goes_between_both_writes_is_left_alone(aws: CountedClients) -> None:
    ledger = DynamoSessionLedger(aws, "memory", SCOPE)
    ledger.swap("ada", stored("s-1"), 0)

    def sweep_mends() -> None:
        ledger.swap("ada", stored(), 1)

    def second_write() -> None:
        aws.meanwhile["UpdateItem"] = sweep_mends

    aws.meanwhile["UpdateItem"] = second_write
    assert ledger.note_started("ada", "s-1", entry()) == PersonLedger(holder="ada", rev=2)


def test_retention_is_by_the_time_of_the_write(aws: CountedClients) -> None:
    ledger = DynamoSessionLedger(aws, "memory", SCOPE, lambda: LATER)
    ledger.swap("ada", stored(), 0)
    item = aws.dynamodb().get_item(TableName="memory", Key=to_item({"scope": SCOPE, "subject": "ada"}))[
        "Item"
    ]

    assert datetime.fromtimestamp(from_item(item)["expires_at"], UTC) == LATER + timedelta(days=60)


def test_a_write_whose_answer_was_lost_is_no_lost_race(
    aws: CountedClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    lossy = LossyClients()
    ledger = DynamoSessionLedger(lossy, "memory", SCOPE, lambda: NOW)
    with no_backoff(monkeypatch):
        assert ledger.note_started("ada", "s-1", entry()).rev == 1
        ledger.swap("ada", with_intents(ledger.get("ada"), ["s-1"], "token-1", NOW), 1)
        ledger.release_intent("ada", "s-1", "token-1")

    assert lossy.lost == ["UpdateItem", "PutItem", "UpdateItem"]
    assert ledger.get("ada").rev == 3


def test_another_evaluators_swap_is_never_taken_for_ones_own(
    aws: CountedClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    DynamoSessionLedger(aws, "memory", SCOPE, lambda: NOW).swap("ada", stored("s-1"), 0)
    lossy = DynamoSessionLedger(LossyClients(), "memory", SCOPE, lambda: NOW)

    with no_backoff(monkeypatch), pytest.raises(LostRaceError):
        lossy.swap("ada", with_intents(stored("s-1"), ["s-1"], "token-2", NOW), 0)
