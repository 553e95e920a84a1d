from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.adapters.memory_table import DynamoCounters
from proctor.ports import Counters
from tests.adapters.aws import CountedClients
from tests.fakes.memory import FakeCounters
from tests.fakes.values import NOW


@pytest.fixture(params=["fake", "dynamodb"])
def counters(request: pytest.FixtureRequest) -> Counters:
    if request.param == "fake":
        return FakeCounters()
    return DynamoCounters(request.getfixturevalue("aws"), "memory")


def test_a_budget_is_spent_up_to_its_limit_and_not_beyond(counters: Counters) -> None:
    assert [counters.spend("ends", 3, NOW, 60) for _ in range(5)] == [True, True, True, False, False]


def test_a_refused_amount_is_not_counted(counters: Counters) -> None:
    for _ in range(5):
        counters.spend("ends", 2, NOW, 60)

    assert counters.spend("ends", 3, NOW, 60)
    assert not counters.spend("ends", 3, NOW, 60)


def test_each_window_has_its_own_count(counters: Counters) -> None:
    assert counters.spend("ends", 1, NOW, 60)
    assert not counters.spend("ends", 1, NOW + timedelta(minutes=59, seconds=59), 60)
    assert counters.spend("ends", 1, NOW + timedelta(minutes=60), 60)
    assert counters.spend("ends", 1, NOW - timedelta(seconds=1), 60)


def test_counters_and_window_lengths_are_apart(counters: Counters) -> None:
    assert counters.spend("ends", 1, NOW, 60)
    assert counters.spend("notices", 1, NOW, 60)
    assert counters.spend("ends", 1, NOW, 30)


@pytest.mark.parametrize("limit", [0, -1])
def test_nothing_can_be_spent_of_nothing(counters: Counters, limit: int) -> None:
    assert not counters.spend("ends", limit, NOW, 60)


def test_a_mark_keeps_its_first_time(counters: Counters) -> None:
    assert counters.first("sweep", NOW) == NOW
    assert counters.first("sweep", NOW + timedelta(hours=1)) == NOW
    assert counters.first("other", NOW + timedelta(hours=1)) == NOW + timedelta(hours=1)


def test_each_costs_one_call(aws: CountedClients) -> None:
    counters = DynamoCounters(aws, "memory")
    counters.spend("ends", 1, NOW, 60)
    counters.spend("ends", 1, NOW, 60)
    counters.first("sweep", NOW)

    assert aws.calls == ["UpdateItem"] * 3


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.tuples(st.integers(0, 3), st.integers(-90, 90), st.sampled_from([30, 60])), min_size=1, max_size=12
    )
)
def test_the_table_counts_as_the_fake_does(aws: CountedClients, steps: list[tuple[int, int, int]]) -> None:
    for item in aws.dynamodb().scan(TableName="memory")["Items"]:
        aws.dynamodb().delete_item(TableName="memory", Key={k: item[k] for k in ("scope", "subject")})
    fake, real = FakeCounters(), DynamoCounters(aws, "memory")

    for limit, minutes, window in steps:
        at = NOW + timedelta(minutes=minutes)
        assert real.spend("ends", limit, at, window) == fake.spend("ends", limit, at, window)
