from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from proctor.domain.leases import LEASE
from proctor.domain.ledger import (
    LedgerEntry,
    PersonLedger,
    SeenBy,
    mended,
    with_burst,
    with_intents,
)
from tests.fakes.values import NOW
from tests.strategies import ledgers

MINUTE = timedelta(minutes=1)
LONG_AGO = NOW - timedelta(hours=1)


def entry(cluster: str = "alpha", **fields: object) -> LedgerEntry:
    return replace(LedgerEntry(cluster=cluster, seen_by=SeenBy.EVENT, seen_at=LONG_AGO), **fields)  # type: ignore[arg-type]


def test_the_weight_is_that_of_sessions_nobody_is_ending() -> None:
    ledger = PersonLedger(
        holder="ada",
        entries={
            "a": entry(weight=2),
            "b": entry("beta"),
            "c": entry(intent_until=NOW + MINUTE, intent_token="t"),
            "d": entry(intent_until=NOW - MINUTE, intent_token="t", weight=4),
        },
    )

    assert ledger.weight_in("alpha", NOW) == 6
    assert ledger.weight_in("beta", NOW) == 1
    assert ledger.weight_in(None, NOW) == 7


def test_an_intent_lasts_two_minutes_so_that_a_crash_uncounts_nobody_for_ever() -> None:
    ledger = with_intents(PersonLedger(holder="ada", entries={"a": entry(), "b": entry()}), ["a"], "t", NOW)

    assert ledger.weight_in("alpha", NOW) == 1
    assert ledger.weight_in("alpha", NOW + LEASE - timedelta(seconds=1)) == 1
    assert ledger.weight_in("alpha", NOW + LEASE) == 2


def test_an_intent_notes_whose_it_is_and_that_a_session_was_evicted() -> None:
    ledger = with_intents(PersonLedger(holder="ada", entries={"a": entry(), "b": entry()}), ["b"], "t", NOW)

    assert ledger.entries["b"].intent_token == "t"
    assert ledger.entries["b"].decided_at == NOW
    assert ledger.entries["a"].intent_token is None
    assert ledger.evicted_at == (NOW,)


def test_evictions_and_bursts_are_kept_for_a_day_and_fifty_at_most() -> None:
    old = tuple(NOW - timedelta(hours=30) + n * timedelta(minutes=10) for n in range(170))
    ledger = PersonLedger(holder="ada", evicted_at=old, burst_at=old, entries={"a": entry()})

    evicted = with_intents(ledger, ["a"], "t", NOW).evicted_at
    bursts = with_burst(ledger, NOW).burst_at

    assert evicted == bursts
    assert len(evicted) == 50
    assert evicted[-1] == NOW
    assert all(at > NOW - timedelta(hours=24) for at in evicted)


def test_recent_counts_from_its_moment_on() -> None:
    ledger = PersonLedger(holder="ada", evicted_at=(NOW - MINUTE, NOW), burst_at=(NOW - MINUTE, NOW))

    assert ledger.recent_evictions(NOW - MINUTE) == (NOW - MINUTE, NOW)
    assert ledger.recent_bursts(NOW) == (NOW,)


def test_mending_drops_ended_sessions_and_takes_unknown_ones_in() -> None:
    ledger = PersonLedger(holder="ada", entries={"gone": entry(), "stays": entry()})
    seen = {
        "stays": entry(seen_by=SeenBy.SWEEP, seen_at=NOW, weight=3, reason="allowed"),
        "new": entry(seen_by=SeenBy.SWEEP, seen_at=NOW),
    }

    after = mended(ledger, seen, NOW).entries

    assert after.keys() == {"stays", "new"}
    assert after["stays"].seen_by is SeenBy.EVENT
    assert after["stays"].seen_at == LONG_AGO
    assert (after["stays"].weight, after["stays"].reason) == (3, "allowed")
    assert after["new"].seen_by is SeenBy.SWEEP


def test_mending_keeps_intents() -> None:
    ledger = with_intents(PersonLedger(holder="ada", entries={"a": entry()}), ["a"], "t", NOW)

    assert mended(ledger, {"a": entry()}, NOW).entries["a"].has_intent(NOW)


def test_mending_keeps_a_start_that_a_lagging_listing_does_not_show_for_two_minutes() -> None:
    young = PersonLedger(holder="ada", entries={"a": entry(seen_at=NOW)})

    assert "a" in mended(young, {}, NOW + timedelta(seconds=119)).entries
    assert "a" not in mended(young, {}, NOW + timedelta(seconds=120)).entries
    assert "a" not in mended(young, {}, NOW - MINUTE).entries


def test_mending_keeps_what_we_ended_for_a_quarter_of_an_hour_without_weight() -> None:
    ledger = with_intents(PersonLedger(holder="ada", entries={"a": entry(weight=2)}), ["a"], "t", NOW)

    kept = mended(ledger, {}, NOW + 14 * MINUTE)
    assert kept.weight_in(None, NOW + 14 * MINUTE) == 0
    assert kept.has_intents
    assert mended(ledger, {}, NOW + 15 * MINUTE).entries == {}


@given(ledgers())
def test_mending_twice_is_mending_once(ledger: PersonLedger) -> None:
    seen = {sid: replace(e, seen_by=SeenBy.SWEEP) for sid, e in list(ledger.entries.items())[::2]}
    once = mended(ledger, seen, NOW)

    assert mended(once, seen, NOW) == once


@given(ledgers(), st.integers(0, 600))
def test_a_ledger_never_counts_more_than_its_entries_weigh(ledger: PersonLedger, seconds: int) -> None:
    now = NOW + timedelta(seconds=seconds)
    whole = sum(e.weight for e in ledger.entries.values())

    assert 0 <= ledger.weight_in(None, now) <= whole
    assert ledger.weight_in(None, now) == sum(
        ledger.weight_in(c, now) for c in {e.cluster for e in ledger.entries.values()}
    )
