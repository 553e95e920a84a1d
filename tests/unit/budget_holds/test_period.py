"""Period borders in UTC: DAILY to ANNUALLY and CUSTOM, leap days, month ends, anchors."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.domain.budgets_period import Period, TimeUnit, add_months, period_at
from proctor.domain.errors import InvalidInputError

RECURRING = [TimeUnit.DAILY, TimeUnit.MONTHLY, TimeUnit.QUARTERLY, TimeUnit.ANNUALLY]
TIMES = st.datetimes(min_value=datetime(1999, 1, 1), max_value=datetime(2080, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("unit", "now", "start", "end"),
    [
        (TimeUnit.DAILY, "2028-02-29T23:59:59", "2028-02-29", "2028-03-01"),
        (TimeUnit.DAILY, "2026-12-31T00:00:00", "2026-12-31", "2027-01-01"),
        (TimeUnit.MONTHLY, "2026-02-28T23:59:59", "2026-02-01", "2026-03-01"),
        (TimeUnit.MONTHLY, "2028-02-29T12:00:00", "2028-02-01", "2028-03-01"),
        (TimeUnit.MONTHLY, "2026-12-31T23:59:59", "2026-12-01", "2027-01-01"),
        (TimeUnit.MONTHLY, "2027-01-01T00:00:00", "2027-01-01", "2027-02-01"),
        (TimeUnit.QUARTERLY, "2026-03-31T23:59:59", "2026-01-01", "2026-04-01"),
        (TimeUnit.QUARTERLY, "2026-04-01T00:00:00", "2026-04-01", "2026-07-01"),
        (TimeUnit.QUARTERLY, "2026-12-31T23:59:59", "2026-10-01", "2027-01-01"),
        (TimeUnit.ANNUALLY, "2028-02-29T00:00:00", "2028-01-01", "2029-01-01"),
        (TimeUnit.ANNUALLY, "2026-12-31T23:59:59", "2026-01-01", "2027-01-01"),
    ],
)
def test_calendar_periods(unit: TimeUnit, now: str, start: str, end: str) -> None:
    assert period_at(unit, at(now)) == Period(at(start), at(end))


@pytest.mark.parametrize(
    ("unit", "anchor", "now", "start", "end"),
    [
        (TimeUnit.MONTHLY, "2026-01-31", "2026-02-28T00:00:00", "2026-02-28", "2026-03-31"),
        (TimeUnit.MONTHLY, "2026-01-31", "2026-02-27T23:59:59", "2026-01-31", "2026-02-28"),
        (TimeUnit.MONTHLY, "2026-01-31", "2028-02-29T05:00:00", "2028-02-29", "2028-03-31"),
        (TimeUnit.MONTHLY, "2026-01-31", "2026-04-30T00:00:00", "2026-04-30", "2026-05-31"),
        (TimeUnit.ANNUALLY, "2024-02-29", "2025-02-28T00:00:00", "2025-02-28", "2026-02-28"),
        (TimeUnit.ANNUALLY, "2024-02-29", "2028-02-28T23:59:59", "2027-02-28", "2028-02-29"),
        (TimeUnit.ANNUALLY, "2024-02-29", "2028-02-29T00:00:00", "2028-02-29", "2029-02-28"),
        (TimeUnit.QUARTERLY, "2025-11-30", "2026-02-28T00:00:00", "2026-02-28", "2026-05-30"),
        (
            TimeUnit.DAILY,
            "2026-01-01T06:00:00",
            "2026-03-01T05:59:59",
            "2026-02-28T06:00:00",
            "2026-03-01T06:00:00",
        ),
    ],
)
def test_anchored_periods_never_drift(unit: TimeUnit, anchor: str, now: str, start: str, end: str) -> None:
    assert period_at(unit, at(now), anchor=at(anchor)) == Period(at(start), at(end))


def test_custom_is_one_period_and_half_open() -> None:
    start, end = at("2028-02-29"), at("2028-03-31")
    for now, inside in [
        ("2028-02-28T23:59:59", False),
        ("2028-02-29", True),
        ("2028-03-30T23:59:59", True),
        ("2028-03-31", False),
    ]:
        found = period_at(TimeUnit.CUSTOM, at(now), starts_at=start, ends_at=end)
        assert found == (Period(start, end) if inside else None)


def test_custom_without_its_ends_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="CUSTOM"):
        period_at(TimeUnit.CUSTOM, at("2026-01-01"), starts_at=None, ends_at=None)


def test_outside_the_budgets_life_there_is_no_period() -> None:
    life = {"starts_at": at("2026-02-01"), "ends_at": at("2026-05-01")}
    assert period_at(TimeUnit.MONTHLY, at("2026-01-31T23:59:59"), **life) is None
    assert period_at(TimeUnit.MONTHLY, at("2026-05-01"), **life) is None
    assert period_at(TimeUnit.MONTHLY, at("2026-04-30T23:59:59"), **life) is not None


@given(unit=st.sampled_from(RECURRING), now=TIMES, anchor=TIMES)
def test_periods_tile_time(unit: TimeUnit, now: datetime, anchor: datetime) -> None:
    """Every moment is in exactly one period; its neighbours meet it without gap or overlap."""
    period = period_at(unit, now, anchor=anchor)
    assert period is not None
    assert now in period
    after = period_at(unit, period.end_at, anchor=anchor)
    before = period_at(unit, period.start_at - timedelta(microseconds=1), anchor=anchor)
    assert after is not None
    assert before is not None
    assert (after.start_at, before.end_at) == (period.end_at, period.start_at)
    assert before.key != period.key != after.key


@given(now=TIMES, months=st.integers(-600, 600))
def test_months_are_counted_from_the_anchor(now: datetime, months: int) -> None:
    moved = add_months(now, months)
    assert (moved.year * 12 + moved.month) - (now.year * 12 + now.month) == months
    assert moved.day <= now.day
