"""Settled, in flight, committed: what an AWS budget and an allocation come to."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from budget_holds.assess import assess
from budget_holds.facts import Ended, Facts, Finding, Found, Unknown
from proctor.domain.budgets_memory import Doubt
from proctor.domain.budgets_reading import BudgetAnswer, BudgetUnread
from proctor.domain.decision import Mode
from proctor.domain.slurm_state import SlurmView
from tests.fakes.budget_values import NOW, START, job, reading, slurm, spent, usage, usd
from tests.unit.budget_holds.judging import CLOUD, LAB1, policy, situation, view

BILLED: dict[str, Any] = {**LAB1, "allocation": {"limit": 1000, "bill": "bill"}}
LATE = NOW - timedelta(hours=3)


def find(
    definition: dict[str, Any] = LAB1,
    seen: SlurmView | None = None,
    *,
    answer: BudgetAnswer | None = None,
    bill: BudgetAnswer | None = None,
    **rules: Any,
) -> Finding:
    cluster = view(situation(definition, answer=answer, bill=bill), seen=seen, rules=policy(**rules))
    return assess(cluster, NOW, Mode.APPLY).standings[0].finding


def facts(*arguments: Any, **fields: Any) -> Facts:
    found = find(*arguments, **fields)
    assert isinstance(found, Found)
    assert found.facts is not None
    return found.facts


def test_an_account_counts_its_children_and_nobody_else() -> None:
    rows = [*spent("lab1", 1), *spent("lab1-vision", 2), *spent("lab2", 40)]
    assert facts(seen=slurm(usage=tuple(rows))).spent == usd(300)


def test_usage_before_the_period_is_not_counted() -> None:
    rows = (usage("lab1", 1, START - timedelta(hours=1)), usage("lab1", 1, START))
    assert facts(seen=slurm(usage=rows)).spent == usd(100)


def test_committed_is_shown_beside() -> None:
    found = facts(seen=slurm(jobs=(job("1"), job("2", account="lab2"))))
    assert (found.committed, found.spent) == (usd(100), usd(0))


@pytest.mark.parametrize(
    ("billed", "factor", "idle"),
    [(800, "0.8", 0), (1000, "1", 0), (1500, "1", 500), (100, "0.5", 0)],
)
def test_settled_is_scaled_by_the_bill_and_idle_goes_to_the_pool(billed: int, factor: str, idle: int) -> None:
    """1,000 USD metered on both departments, 600 of them lab1's."""
    rows = (*spent("lab1", 6), *spent("lab2", 4))
    bill = reading(billed, updated_at=LATE)
    found = facts(BILLED, slurm(usage=rows), bill=bill, billing_lag_hours=0)
    assert (found.factor, found.idle) == (Decimal(factor), usd(idle))
    assert found.settled == usd(600).times(Decimal(factor))
    assert found.in_flight == usd(0)


def test_shared_idle_is_spread() -> None:
    rows = (*spent("lab1", 6), *spent("lab2", 4))
    found = facts(BILLED, slurm(usage=rows), bill=reading(1500, updated_at=LATE), idle_is_shared=True)
    assert (found.factor, found.settled) == (Decimal("1.5"), usd(900))


def test_use_after_the_cut_off_is_in_flight_at_list_price() -> None:
    rows = (usage("lab1", 2, START), usage("lab1", 3, NOW - timedelta(hours=2)))
    bill = reading(160, updated_at=NOW - timedelta(hours=1))
    found = facts(BILLED, slurm(usage=rows), bill=bill, billing_lag_hours=8)
    assert (found.settled, found.in_flight) == (usd(160), usd(300))


def test_a_bill_of_another_period_does_not_scale() -> None:
    annual = {**LAB1, "allocation": {"limit": 1000, "bill": "bill", "time_unit": "ANNUALLY"}}
    found = facts(annual, slurm(usage=tuple(spent("lab1", 6))), bill=reading(1))
    assert (found.factor, found.spent) == (Decimal(1), usd(600))


def test_a_partition_without_a_rate_can_not_carry_a_hold() -> None:
    rows = (*spent("lab1", 20), usage("lab1", 1, partition="cpu"))
    found = facts(seen=slurm(usage=rows))
    assert (found.can_hold, found.can_release, found.lacks) == (False, False, "no rate for partition cpu")


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (find(seen=slurm(seen_at=NOW - timedelta(seconds=121))), "slurm_unknown"),
        (find(seen=slurm(seen_at=None)), "slurm_unknown"),
        (find(seen=slurm(seen_at=NOW + timedelta(minutes=5))), "slurm_unknown"),
        (find({**LAB1, "account": "lab9"}), "no_such_account"),
        (find(rates=None), "no_rates"),
        (find(BILLED, bill=BudgetUnread(name="bill", error="x")), "unreadable"),
        (find(BILLED, bill=BudgetUnread(name="bill", error="x", is_missing=True)), "no_such_budget"),
        (find(CLOUD, answer=None), "unreadable"),
        (find(CLOUD, answer=reading(is_cost=False)), "not_cost"),
    ],
)
def test_what_is_not_known(found: Finding, reason: str) -> None:
    assert isinstance(found, Unknown)
    assert found.reason == reason


def test_seen_two_minutes_ago_is_still_known() -> None:
    assert isinstance(find(seen=slurm(seen_at=NOW - timedelta(seconds=120))), Found)


def test_currencies_must_agree() -> None:
    found = find({**LAB1, "allocation": {"limit": 5, "currency": "EUR"}})
    assert isinstance(found, Found)
    assert found.doubt is Doubt.CURRENCY


def test_outside_its_time_a_budget_has_ended() -> None:
    past = {
        "limit": 5,
        "time_unit": "CUSTOM",
        "starts_at": "2026-01-01T00:00:00Z",
        "ends_at": "2026-02-01T00:00:00Z",
    }
    assert isinstance(find({**LAB1, "allocation": past}), Ended)
    assert isinstance(find(CLOUD, answer=reading(ends_at=START)), Ended)


def test_an_aws_budget_adds_what_slurm_used_since() -> None:
    rows = (usage("lab2", 4, START), usage("lab1", 2, NOW - timedelta(hours=2)))
    found = facts(CLOUD, slurm(usage=rows), answer=reading(5000, updated_at=NOW - timedelta(hours=1)))
    assert (found.settled, found.in_flight) == (usd(5000), usd(200))


def test_an_aws_budget_of_one_account_adds_only_that_accounts_use() -> None:
    definition = {**CLOUD, "account": "lab1", "is_only_account": True}
    rows = (usage("lab2", 4, NOW - timedelta(hours=2)), usage("lab1-nlp", 1, NOW - timedelta(hours=2)))
    assert facts(definition, slurm(usage=rows), answer=reading(1)).in_flight == usd(100)


def test_an_aws_budget_holds_on_settled_alone_while_slurm_is_silent_but_releases_nothing() -> None:
    found = facts(CLOUD, slurm(seen_at=None), answer=reading(5000))
    assert (found.in_flight, found.can_hold, found.can_release) == (None, True, False)


def test_planned_limits_have_their_own_amount_for_the_period() -> None:
    planned = {START: usd(42)}
    assert facts(CLOUD, answer=reading(5, planned=planned)).limit == usd(42)


def test_credits_are_shown_and_not_taken_off() -> None:
    definition = {**LAB1, "allocation": {"limit": 1000, "credits": 500}}
    found = facts(definition, slurm(usage=tuple(spent("lab1", 6))))
    assert (found.spent, found.credits) == (usd(600), usd(500))
