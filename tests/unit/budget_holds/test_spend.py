"""Usage times rates, and what jobs may still cost."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.domain.errors import InvalidInputError
from proctor.domain.money import Money
from proctor.domain.spend import Rates, UsageIndex, committed, gpus_per_node, metered, task_count
from tests.fakes.budget_values import NOW, START, job, usage, usd

RATES = Rates(node_hour={"p5": Decimal(100)}, gpu_hour=Decimal("2.5"), partitions={"gpu": "p5", "dev": "p5"})


def test_a_node_price_wins_over_a_gpu_price() -> None:
    rows = [usage("lab1", 2), usage("lab1", 1, partition="other", gpus=4)]
    assert metered(rows, RATES).amount == Decimal(200) + Decimal(10)


def test_a_partition_without_a_rate_is_named_and_left_out() -> None:
    found = metered(
        [usage("lab1", 2), usage("lab1", 9, partition="cpu")],
        Rates(node_hour={"p5": Decimal(1)}, partitions={"gpu": "p5"}),
    )
    assert (found.amount, found.unpriced) == (Decimal(2), frozenset({"cpu"}))


@pytest.mark.parametrize(
    ("fields", "hours"),
    [
        ({"limit_minutes": 60}, 1),
        ({"limit_minutes": 60, "node_count": 3}, 3),
        ({"limit_minutes": None}, 24),
        ({"limit_minutes": 60 * 100}, 24),
        ({"state": "RUNNING", "start_at": NOW - timedelta(minutes=30), "limit_minutes": 60}, 0.5),
        ({"state": "RUNNING", "start_at": NOW - timedelta(hours=3), "limit_minutes": 60}, 0),
        ({"state": "COMPLETED"}, 0),
        ({"partition": "gpu,dev"}, 1),
    ],
)
def test_committed_is_the_remaining_wall_time_at_most_to_the_periods_end(
    fields: dict[str, Any], hours: float
) -> None:
    found = committed([job(**fields)], RATES, NOW, NOW + timedelta(hours=24))
    assert found.amount == Decimal(str(hours)) * 100


def test_an_array_counts_every_task() -> None:
    assert committed([job("12_[3-9%2]")], RATES, NOW, NOW + timedelta(days=9)).amount == 700


@pytest.mark.parametrize(
    ("job_id", "count"),
    [
        ("7", 1),
        ("7_3", 1),
        ("7_[3-9]", 7),
        ("7_[1,4-8%2]", 6),
        ("7_[0-10:5]", 3),
        ("7_[1,2,...]", 2),
        ("7_[]", 1),
    ],
)
def test_task_count(job_id: str, count: int) -> None:
    assert task_count(job_id) == count


@pytest.mark.parametrize(
    ("gres", "count"),
    [("gres/gpu:8", 8), ("gres:gpu:h100:4", 4), ("gpu:1", 1), ("N/A", 0), ("", 0), ("gres/gpu=2", 2)],
)
def test_gpus_per_node(gres: str, count: int) -> None:
    assert gpus_per_node(gres) == count


@pytest.mark.parametrize(
    "bad",
    [
        {"node_hour": {"p5": Decimal(0)}},
        {"gpu_hour": Decimal(-1)},
        {"node_hour": {"p5": Decimal("NaN")}},
        {"partitions": {"gpu": "p4"}},
    ],
)
def test_rates_that_would_hide_a_spend_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="rates"):
        Rates(**bad)  # type: ignore[arg-type]


def test_two_currencies_never_meet() -> None:
    with pytest.raises(InvalidInputError, match="USD"):
        usd(1) + Money(Decimal(1), "EUR")
    with pytest.raises(InvalidInputError):
        Money.parse("1,000.00", "USD")
    with pytest.raises(InvalidInputError):
        Money(Decimal("Infinity"))


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 400), st.integers(0, 14400)), max_size=60),
    st.integers(0, 400),
)
def test_usage_splits_at_any_hour_without_loss(rows: list[tuple[str, int, int]], cut: int) -> None:
    """Settled plus in flight is the whole, whatever the cut-off; accounts add up to the cluster."""
    used = [usage(a, seconds / 3600, START + timedelta(hours=hour)) for a, hour, seconds in rows]
    index, end, middle = UsageIndex(used, RATES), START + timedelta(hours=401), START + timedelta(hours=cut)
    whole = index.of_all(START, end).amount
    halves = index.of_all(START, middle).amount + index.of_all(middle, end).amount
    accounts = sum((index.of_accounts([a], START, end).amount for a in "abc"), Decimal(0))
    assert abs(halves - whole) < Decimal("1e-20")
    assert abs(accounts - whole) < Decimal("1e-20")
