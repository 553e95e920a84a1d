import json
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.adapters.items import (
    FIELD_BYTES_AT_MOST,
    expiry,
    from_item,
    json_field,
    time_of,
    to_attribute,
    to_item,
)
from proctor.adapters.texts import ascii_line, clean, cut, one_line, without_addresses
from tests.adapters.aws import CountedClients
from tests.fakes.values import NOW


class _Kind(StrEnum):
    A = "a"


_PLAIN = st.recursive(
    st.booleans() | st.integers(-(10**30), 10**30) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=1), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(min_size=1), _PLAIN, max_size=5))
def test_plain_values_read_back(values: dict[str, Any]) -> None:
    assert from_item(to_item(values)) == values


def test_absent_values_are_left_out_and_a_null_in_a_list_stays() -> None:
    item = to_item({"a": None, "b": [None], "c": {"d": None}})

    assert item == {"b": {"L": [{"NULL": True}]}, "c": {"M": {}}}
    assert from_item(item) == {"b": [None], "c": {}}


def test_times_and_words_are_text() -> None:
    assert to_attribute(NOW) == {"S": "2026-09-01T10:00:00+00:00"}
    assert to_attribute(_Kind.A) == {"S": "a"}
    assert type(to_attribute(_Kind.A)["S"]) is str
    assert time_of("2026-09-01T10:00:00+00:00") == NOW
    assert time_of(None) is None


@pytest.mark.parametrize("value", [1.5, object(), {1, 2}])
def test_what_has_no_place_in_an_item_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        to_attribute(value)


def test_the_service_takes_what_is_written(aws: CountedClients) -> None:
    row = {"claim": "k", "n": 0, "flag": False, "empty": "", "list": [], "map": {"s#1": {"at": "x"}}}
    aws.dynamodb().put_item(TableName="claims", Item=to_item(row))

    answer = aws.dynamodb().get_item(TableName="claims", Key=to_item({"claim": "k"}))
    assert from_item(answer["Item"]) == row


def test_retention_counts_in_seconds_since_1970() -> None:
    berlin = datetime(2026, 9, 1, 12, 0, tzinfo=timezone(timedelta(hours=2)))

    assert expiry(berlin, 1) == expiry(NOW, 1) == int(datetime(2026, 9, 2, 10, 0, tzinfo=UTC).timestamp())


@given(st.integers(0, 3 * FIELD_BYTES_AT_MOST))
def test_a_json_field_is_json_and_bounded(length: int) -> None:
    field = json_field({"text": "ü" * length})

    assert len(field.encode()) <= FIELD_BYTES_AT_MOST
    assert ("too_large_bytes" in json.loads(field)) is (length * 6 + 12 > FIELD_BYTES_AT_MOST)


# Texts


@given(st.text(max_size=200), st.integers(4, 50))
def test_no_text_is_longer_than_asked_for(text: str, at_most: int) -> None:
    for shorten in (clean, one_line, ascii_line, cut):
        assert len(shorten(text, at_most)) <= at_most


@given(st.text(max_size=200))
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text, 500).splitlines()) <= 1


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\x00b\x1b[1m", "ab[1m"),
        ("line 1\n\tline 2", "line 1\n\tline 2"),
        ("lone \ud800 surrogate", "lone  surrogate"),
        ("x" * 99, "x" * 19 + "…"),
    ],
)
def test_control_characters_go(text: str, kept: str) -> None:
    assert clean(text, 20) == kept


@pytest.mark.parametrize(
    "text", ["ada@uni.example", "mail to ADA.L+x@sub.uni.example now", "arn:…/role/ada@uni.example", "a@b"]
)
def test_addresses_become_digests(text: str) -> None:
    assert "@" not in without_addresses(text)
    assert "<address " in without_addresses(text)


def test_one_address_has_one_digest() -> None:
    assert without_addresses("Ada@Uni.example") == without_addresses("ada@uni.example")
    assert without_addresses("ada@uni.example") != without_addresses("bob@uni.example")
    assert without_addresses("no address @ all") == "no address @ all"
