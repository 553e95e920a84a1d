"""Changes near the end of a period are told once, not again in the next one."""

from datetime import UTC, datetime

from tests.fakes.budget_world import BudgetWorld

EVENING = datetime(2026, 9, 15, 23, 40, tzinfo=UTC)


def test_a_hold_by_hand_just_before_midnight_is_told_once() -> None:
    world = BudgetWorld(now=EVENING)
    daily = {"account": "lab2", "owner": "dan", "allocation": {"limit": 1000, "time_unit": "DAILY"}}
    world.define("lab2", daily)
    world.sweep()
    world.order("HoldBudget", "lab2")
    world.advance(minutes=25)
    world.sweep()

    assert world.remembered("lab2").is_holding
    assert world.now.day == 16
    assert [mail.headline for mail in world.mail.sent].count("Budget lab2: new jobs are held") == 1
