"""Figures that can't be right: jumps beyond what the cluster can cost, shrinks; answered by hand."""

from dataclasses import replace
from datetime import timedelta

import pytest

from budget_holds.snapshot import Order, OrderKind
from proctor.domain.budgets_memory import BudgetMemory, Doubt, Level
from tests.fakes.budget_values import NOW, START, reading, slurm, spent
from tests.unit.budget_holds.judging import CLOUD, LAB1, policy, situation, standing, view

APPROVE = Order(kind=OrderKind.APPROVE, budget="lab1", by="ops")
# 4 nodes at 100 USD an hour, half again: 600 USD an hour, and 100 USD for what costs without nodes.


def judge(
    amount: float, memory: BudgetMemory | None = None, order: Order | None = None, **fields: object
) -> BudgetMemory:
    cluster = view(
        situation(CLOUD, memory=memory, answer=reading(amount, **fields), order=order),
        rules=policy(billing_lag_hours=0),
    )
    return standing(cluster).memory


def test_orders_of_magnitude_too_much_is_asked_about() -> None:
    hours = (NOW - timedelta(hours=1) - START) // timedelta(hours=1)
    assert judge(600 * hours + 99).doubt is None
    wrong = judge(600 * hours + 101)
    assert (wrong.doubt, wrong.is_holding, wrong.fired) == (Doubt.JUMP, False, {})


def test_a_jump_between_two_readings_is_asked_about() -> None:
    before = judge(1000, updated_at=NOW - timedelta(hours=3))
    assert judge(1000 + 2 * 600 + 99, before).doubt is None
    assert judge(1000 + 2 * 600 + 101, before).doubt is Doubt.JUMP


def test_an_approved_jump_is_the_new_base() -> None:
    before = judge(1000, updated_at=NOW - timedelta(hours=3))
    doubted = judge(900000, before)
    approved = judge(900000, doubted, APPROVE)
    assert (approved.doubt, approved.level) == (None, Level.HELD)
    assert judge(900000 + 600, approved, updated_at=NOW).doubt is None
    assert judge(900000 + 701, approved, updated_at=NOW).doubt is Doubt.JUMP


def test_a_ceiling_per_hour_may_be_given() -> None:
    rules = policy(plausibility={"ceiling_per_hour": 1, "ceiling_slack": 0})
    assert standing(view(situation(CLOUD, answer=reading(9000)), rules=rules)).memory.doubt is Doubt.JUMP


def test_without_any_ceiling_it_only_warns() -> None:
    found = standing(view(situation(CLOUD, answer=reading(15000)), seen=slurm(node_count=0)))
    assert (found.memory.is_holding, found.memory.level) == (False, Level.WARNED)
    assert "ceiling" in found.remark


def test_nodes_that_were_there_once_count_for_the_period() -> None:
    memory = replace(judge(1000), most_nodes=40)
    assert judge(1000 + 30000, memory, updated_at=NOW + timedelta(hours=7)).doubt is None


@pytest.mark.parametrize(("amount", "doubt"), [(8000, None), (7999, Doubt.SHRINK), (0, Doubt.SHRINK)])
def test_a_shrink_is_asked_about(amount: float, doubt: Doubt | None) -> None:
    held = judge(10000)
    assert held.is_holding
    found = judge(amount, held)
    assert found.doubt is doubt
    assert found.is_holding is (doubt is not None)


def test_an_approved_shrink_releases() -> None:
    doubted = judge(100, judge(10000))
    approved = judge(100, doubted, APPROVE)
    assert (approved.doubt, approved.level) == (None, Level.RELEASED)


def test_a_small_correction_near_nothing_is_noise() -> None:
    assert judge(20, judge(100)).doubt is None


def test_usage_that_nobody_can_have_had_is_asked_about() -> None:
    seen = slurm(usage=tuple(spent("lab1", 4)) * 900)
    assert standing(view(situation(LAB1), seen=seen)).memory.doubt is Doubt.JUMP
