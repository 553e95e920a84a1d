"""Levels: hysteresis, memory, hand orders, new periods, doubts. Invariant 6: noisy cost never makes a hold flap."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_holds.snapshot import Order, OrderKind
from budget_holds.states import Standing
from proctor.domain.budgets_memory import BudgetMemory, Doubt, Level, Why, from_record, to_record
from proctor.domain.budgets_reading import BudgetReading, BudgetUnread
from proctor.domain.money import Money
from tests.fakes.budget_values import NOW, reading, slurm, usd
from tests.unit.budget_holds.judging import CLOUD, policy, situation, standing, view

CALM = {"plausibility": {"shrink_percent": 1000000, "ceiling_per_hour": 1000000}}


def judge(
    answer: BudgetReading | BudgetUnread,
    memory: BudgetMemory | None = None,
    now: datetime = NOW,
    order: Order | None = None,
    **fields: object,
) -> Standing:
    """The AWS budget of 10,000 USD with this answer; the next revision is as the store would have it."""
    rules = policy(**{**CALM, **fields})
    cluster = view(
        situation(CLOUD, memory=memory, answer=answer, order=order), seen=slurm(seen_at=now), rules=rules
    )
    found = standing(cluster, now)
    return replace(found, memory=replace(found.memory, rev=found.memory.rev + 1))


def spent(percent: float | str, now: datetime = NOW, **fields: object) -> BudgetReading:
    """Percent of the limit, fresh."""
    return reading(Decimal(str(percent)) * 100, **{"updated_at": now - timedelta(hours=1), **fields})  # type: ignore[arg-type]


def walk(percents: Sequence[float], start: BudgetMemory | None = None) -> list[BudgetMemory]:
    """Memories after each of a row of readings, ten minutes apart."""
    memory, found = start or BudgetMemory(), []
    for step, percent in enumerate(percents):
        now = NOW + timedelta(minutes=10 * step)
        memory = judge(spent(percent, now), memory, now).memory
        found.append(memory)
    return found


@pytest.mark.parametrize(
    ("percents", "levels"),
    [
        ([10], ["ok"]),
        ([49.99, 50], ["ok", "warned"]),
        ([79, 80, 90], ["warned", "warned", "warned"]),
        ([99.99], ["warned"]),
        ([100], ["held"]),
        ([100, 99, 95, 94.99], ["held", "held", "held", "released"]),
        ([100, 94, 96, 99.9, 100], ["held", "released", "released", "released", "held"]),
        ([60, 10], ["warned", "warned"]),
    ],
)
def test_levels(percents: list[float], levels: list[str]) -> None:
    assert [m.level.value for m in walk(percents)] == levels


def test_thresholds_fire_once_whatever_corrections_do() -> None:
    fired = [set(m.fired) for m in walk([85, 40, 85, 91, 20, 91])]
    assert fired == [{"50", "80"}] * 3 + [{"50", "80", "90"}] * 3
    first = walk([85])[0].fired["80"]
    assert walk([85, 40, 85])[-1].fired["80"] == first


def test_a_threshold_added_below_the_spend_fires_once() -> None:
    before = walk([85])[0]
    later = NOW + timedelta(minutes=10)
    after = judge(spent(85, later), before, later, thresholds=[50, 70, 80]).memory
    assert after.fired["70"].at == later
    assert after.fired["80"].at == NOW
    again = judge(spent(86, later), after, later + timedelta(minutes=1), thresholds=[50, 70, 80]).memory
    assert again.fired == after.fired


def test_forecast_and_committed_warn_and_never_hold() -> None:
    found = judge(spent(60, forecast=usd(20000))).memory
    assert (found.level, "forecast" in found.fired) == (Level.WARNED, True)


def test_an_actual_alert_at_aws_warns_when_its_message_was_lost() -> None:
    from proctor.domain.budgets_reading import AlertState  # noqa: PLC0415 - only here

    alerts = (AlertState(is_actual=True, threshold=Decimal(80), is_percent=True),)
    assert set(judge(spent(30, alerts=alerts)).memory.fired) == {"50", "80"}
    forecasted = (AlertState(is_actual=False, threshold=Decimal(100), is_percent=True),)
    assert judge(spent(30, alerts=forecasted)).memory.fired == {}


def test_without_rates_it_only_warns() -> None:
    found = judge(spent(140), rates=None)
    assert (found.memory.level, found.memory.is_holding) == (Level.WARNED, False)
    assert "rates" in found.remark


def test_rates_that_go_missing_let_go_of_nothing() -> None:
    held = walk([101])[0]
    assert judge(spent(20), held, rates=None).memory.level is Level.HELD


def test_a_raised_limit_releases_even_within_the_band() -> None:
    held = walk([101])[0]
    raised = judge(spent(101, limit=usd(10400)), held).memory
    assert (raised.level, raised.why, raised.is_holding) == (Level.RELEASED, Why.LIMIT_RAISED, False)
    too_little = judge(spent(101, limit=usd(10050)), held).memory
    assert too_little.level is Level.HELD


def test_a_lowered_limit_holds() -> None:
    warned = walk([60])[0]
    assert judge(spent(60, limit=usd(5000)), warned).memory.level is Level.HELD


def order(kind: OrderKind, until: datetime | None = None) -> Order:
    return Order(kind=kind, budget="lab1", by="ops", until_at=until)


def test_a_hand_release_is_sticky_until_the_limit_changes() -> None:
    held = walk([105])[0]
    released = judge(spent(105), held, order=order(OrderKind.RELEASE)).memory
    assert (released.level, released.is_holding, released.why) == (Level.RELEASED, False, Why.BY_HAND)
    for step in range(1, 4):
        later = NOW + timedelta(days=step)
        released = judge(spent(105 + step * 20, later), released, later).memory
        assert not released.is_holding
    later = NOW + timedelta(days=4)
    again = judge(spent(190, later, limit=usd(10001)), released, later).memory
    assert (again.level, again.hand) == (Level.HELD, None)


def test_a_hand_release_ends_with_its_until_and_with_the_period() -> None:
    held = walk([105])[0]
    until = NOW + timedelta(hours=2)
    released = judge(spent(105), held, order=order(OrderKind.RELEASE, until)).memory
    before, after = until - timedelta(seconds=1), until
    assert not judge(spent(105, before), released, before).memory.is_holding
    assert judge(spent(105, after), released, after).memory.is_holding
    october = datetime.fromisoformat("2026-10-02T00:00:00+00:00")
    sticky = judge(spent(105), held, order=order(OrderKind.RELEASE)).memory
    assert judge(spent(105, october), sticky, october).memory.is_holding


def test_a_hand_hold_holds_whatever_the_spend_and_outlives_the_period() -> None:
    held = judge(spent(5), order=order(OrderKind.HOLD)).memory
    assert (held.level, held.is_holding) == (Level.HELD, True)
    october = datetime.fromisoformat("2026-10-02T00:00:00+00:00")
    kept = judge(spent(1, october), held, october).memory
    assert kept.is_holding
    let_go = judge(spent(1, october), kept, october, order=order(OrderKind.RELEASE)).memory
    assert not let_go.is_holding


def test_a_hand_hold_that_lapses_leaves_the_decision_to_the_numbers() -> None:
    until = NOW + timedelta(hours=1)
    for percent, holds in [(50, False), (97, False), (100, True)]:
        held = judge(spent(percent), order=order(OrderKind.HOLD, until)).memory
        assert judge(spent(percent, until), held, until).memory.is_holding is holds


def test_a_new_period_releases_and_forgets_thresholds() -> None:
    held = walk([105])[0]
    october = datetime.fromisoformat("2026-10-01T00:00:00+00:00")
    at_border = judge(spent(105, october), held, october).memory
    assert (at_border.level, at_border.why, at_border.is_holding) == (Level.OK, Why.NEW_PERIOD, False)
    assert at_border.fired == {}
    one_second_before = october - timedelta(seconds=1)
    assert judge(spent(105, one_second_before), held, one_second_before).memory.is_holding


def test_numbers_of_the_old_period_hold_nothing_in_the_new_one() -> None:
    """At the border AWS still shows last month's spend, with last month's date."""
    october = datetime.fromisoformat("2026-10-01T06:00:00+00:00")
    stale = reading(20000, updated_at=october - timedelta(hours=8))
    assert judge(stale, walk([105])[0], october).memory.level is Level.OK


def test_an_unreadable_budget_keeps_its_state_even_over_the_border() -> None:
    unread = BudgetUnread(name="bill", error="ThrottledError")
    held, ok = walk([105])[0], walk([10])[0]
    october = datetime.fromisoformat("2026-10-03T00:00:00+00:00")
    for now in (NOW, october):
        assert judge(unread, held, now).memory.is_holding
        assert judge(unread, held, now).reason == "unreadable"
        assert not judge(unread, ok, now).memory.is_holding


def test_hand_orders_work_while_aws_is_silent() -> None:
    unread = BudgetUnread(name="bill", error="ThrottledError")
    assert not judge(unread, walk([105])[0], order=order(OrderKind.RELEASE)).memory.is_holding
    assert judge(unread, walk([5])[0], order=order(OrderKind.HOLD)).memory.is_holding


def test_a_clock_set_back_over_the_border_changes_nothing() -> None:
    october = datetime.fromisoformat("2026-10-02T00:00:00+00:00")
    memory = judge(spent(105, october), None, october).memory
    back = judge(spent(5), memory)
    assert (back.reason, back.memory.is_holding) == ("clock_back", True)


@pytest.mark.parametrize(
    ("answer", "doubt"),
    [
        (reading(health="BILLING_VIEW_UNHEALTHY"), Doubt.UNHEALTHY),
        (reading(updated_at=NOW - timedelta(hours=37)), Doubt.STALE),
        (reading(updated_at=None), Doubt.STALE),
        (reading(actual=500, limit=Money(Decimal(100), "EUR")), Doubt.CURRENCY),
        (reading(limit=None), Doubt.LIMIT),
        (reading(limit=usd(0)), Doubt.LIMIT),
    ],
)
@pytest.mark.parametrize("percent", [10, 105])
def test_a_doubt_keeps_the_state(answer: BudgetReading, doubt: Doubt, percent: float) -> None:
    before = walk([percent])[0]
    found = judge(answer, before)
    assert (found.memory.doubt, found.memory.state) == (doubt, "needs_human")
    assert (found.memory.level, found.memory.is_holding) == (before.level, before.is_holding)
    cleared = judge(spent(percent), found.memory).memory
    assert (cleared.doubt, cleared.is_holding) == (None, before.is_holding)


def test_a_doubt_at_the_border_carries_the_hold_until_the_numbers_are_known() -> None:
    october = datetime.fromisoformat("2026-10-02T00:00:00+00:00")
    sick = judge(spent(3, october, health="FILTER_INVALID"), walk([105])[0], october).memory
    assert (sick.doubt, sick.is_holding) == (Doubt.UNHEALTHY, True)
    within_the_old_band = judge(spent(97, october), sick, october).memory
    assert (within_the_old_band.is_holding, within_the_old_band.why) == (False, Why.NEW_PERIOD)


def test_an_approval_accepts_the_numbers_for_the_period() -> None:
    sick = spent(105, health="BILLING_VIEW_UNHEALTHY")
    doubted = judge(sick).memory
    approved = judge(sick, doubted, order=order(OrderKind.APPROVE)).memory
    assert (approved.doubt, approved.is_holding, approved.approved) == (None, True, {Doubt.UNHEALTHY: "ops"})
    later = NOW + timedelta(hours=1)
    assert judge(replace(sick, updated_at=NOW), approved, later).memory.doubt is None
    october = datetime.fromisoformat("2026-10-02T00:00:00+00:00")
    assert (
        judge(spent(1, october, health="BILLING_VIEW_UNHEALTHY"), approved, october).memory.doubt
        is Doubt.UNHEALTHY
    )


def test_a_foreign_currency_can_not_be_approved() -> None:
    euro = reading(actual=500, limit=Money(Decimal(100), "EUR"))
    assert judge(euro, order=order(OrderKind.APPROVE)).memory.doubt is Doubt.CURRENCY


def test_memory_survives_its_record() -> None:
    for memory in (BudgetMemory(), *walk([10, 85, 105, 20])):
        assert from_record(to_record(memory), memory.rev) == memory


@given(st.lists(st.floats(95, 99.99), min_size=1, max_size=25), st.booleans())
def test_within_the_band_nothing_changes(noise: list[float], starts_held: bool) -> None:
    """Invariant 6: the state changes only when the spend leaves the band."""
    start = walk([100.5 if starts_held else 94])[0]
    assert {m.is_holding for m in walk(noise, start)} == {starts_held}


@given(st.lists(st.floats(0, 130), min_size=2, max_size=25))
def test_each_change_of_a_hold_leaves_the_band(percents: list[float]) -> None:
    held = False
    for percent, memory in zip(percents, walk(percents), strict=True):
        exact = Decimal(str(percent))
        if memory.is_holding != held:
            assert exact >= 100 if memory.is_holding else exact < 95
        held = memory.is_holding


@given(st.lists(st.floats(0, 130), min_size=1, max_size=12), st.data())
def test_duplicates_change_nothing(percents: list[float], data: st.DataObject) -> None:
    """A message seen twice, or ten times, leaves the same memory as once."""
    repeats = data.draw(st.lists(st.integers(1, 3), min_size=len(percents), max_size=len(percents)))
    once, often = BudgetMemory(), BudgetMemory()
    for step, (percent, times) in enumerate(zip(percents, repeats, strict=True)):
        now = NOW + timedelta(minutes=10 * step)
        once = judge(spent(percent, now), once, now).memory
        for _ in range(times):
            often = judge(spent(percent, now), often, now).memory
    assert replace(once, rev=0) == replace(often, rev=0)
