"""The window of message numbers, as a model would have it."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from proctor.domain.agent_protocol import Chunk, Header, Role
from proctor.domain.agents import (
    CHUNKS_AT_MOST,
    WINDOW,
    AgentRecord,
    AgentState,
    Arrival,
    Progress,
    fingerprint,
)
from tests.fakes.values import NOW

FIRST, SECOND = "1788256800000-0a0b0c0d", "1788260400000-0b0b0b0b"


def header(sequence: int, boot_id: str = FIRST) -> Header:
    return Header("alpha", Role.CONTROLLER, "ip-10-1-0-1", "i-0123456789abcdef0", boot_id, sequence)


@given(st.lists(st.integers(1, 200), max_size=120))
def test_each_message_is_applied_at_most_once_and_in_the_window_exactly_once(sequences: list[int]) -> None:
    progress, applied, highest = Progress(), set[int](), 0
    for sequence in sequences:
        arrival = progress.arrival(header(sequence))
        if sequence > highest:
            assert arrival is Arrival.NEW
        elif sequence in applied and highest - sequence <= WINDOW:
            assert arrival is Arrival.REPLAYED
        else:
            assert arrival is (Arrival.LATE if highest - sequence <= WINDOW else Arrival.TOO_OLD)
        if arrival in {Arrival.NEW, Arrival.LATE}:
            assert sequence not in applied
            applied.add(sequence)
            highest = max(highest, sequence)
            progress = progress.after(header(sequence), has_removed=False)
        assert progress.sequence == highest
        assert progress.window < 1 << WINDOW


def test_another_start_begins_anew_and_the_former_is_over() -> None:
    progress = Progress().after(header(9), has_removed=True)
    after = progress.after(header(1, SECOND), has_removed=False)

    assert (after.boot_id, after.sequence, after.removed_at_sequence) == (SECOND, 1, 0)
    assert after.arrival(header(10)) is Arrival.TOO_OLD
    assert progress.arrival(header(1, SECOND)) is Arrival.NEW


def test_the_last_removal_is_remembered() -> None:
    progress = Progress()
    for sequence, has_removed in ((1, False), (5, True), (3, True), (7, False)):
        progress = progress.after(header(sequence), has_removed=has_removed)
    assert progress.removed_at_sequence == 5


@given(st.permutations(range(8)))
def test_a_snapshot_is_whole_with_its_last_part_in_any_order(order: list[int]) -> None:
    progress = Progress()
    for position, index in enumerate(order):
        message = header(index + 10)
        is_late = progress.arrival(message) is Arrival.LATE
        progress = progress.after(message, has_removed=False)
        chunk = Chunk("a", index, 8 if index == 7 else 0)
        progress = progress.with_part(message, chunk, NOW, is_late=is_late)
        assert progress.parts is not None
        assert progress.parts.is_whole is (position == 7)
    assert progress.parts is not None
    assert progress.parts.first_sequence == 10
    assert progress.whole_at == NOW


def test_another_snapshot_takes_the_place_of_a_half_one_but_no_late_part_does() -> None:
    progress = Progress().with_part(header(1), Chunk("a", 0, 0), NOW, is_late=False)
    later = progress.with_part(header(5), Chunk("b", 0, 0), NOW, is_late=False)
    assert later.parts is not None
    assert later.parts.snapshot == "b"
    assert later.with_part(header(2), Chunk("a", 1, 2), NOW, is_late=True) == later


def test_a_part_beyond_any_snapshot_is_not_noted() -> None:
    for chunk in (
        Chunk("a", CHUNKS_AT_MOST, 0),
        Chunk("a", 0, CHUNKS_AT_MOST + 1),
        Chunk("a", -1, 1),
        Chunk("a", 0, -1),
    ):
        assert Progress().with_part(header(1), chunk, NOW, is_late=False) == Progress()


def test_a_fingerprint_tells_keys_apart_and_shows_none() -> None:
    keys = [bytes([n]) * 32 for n in range(100)]
    shown = {fingerprint(key) for key in keys}
    assert len(shown) == 100
    assert all(len(text) == 16 and text not in key.hex() for text in shown for key in keys)


def test_a_key_is_no_part_of_what_a_record_shows() -> None:
    record = AgentRecord(
        cluster="alpha",
        instance_id="i-0123456789abcdef0",
        role=Role.NODE,
        node="ip-10-1-0-7",
        key=b"\xab" * 32,
        contender=b"\xcd" * 32,
        state=AgentState.DISPUTED,
        enrolled_at=NOW,
        last_seen_at=NOW,
    )
    assert "xab" not in repr(record)
    assert "xcd" not in repr(replace(record, rev=2))
