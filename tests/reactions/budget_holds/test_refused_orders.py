"""Orders that can't be meant: told to whoever asks, before anything is remembered, held or let go."""

from datetime import timedelta
from typing import Any

import pytest

from proctor.domain.errors import InvalidInputError
from tests.fakes.budget_world import BudgetWorld
from tests.reactions.budget_holds.deliveries import LAB1, lab1


@pytest.mark.parametrize("action", ["HoldBudget", "ReleaseBudget"])
@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("after", [-timedelta(days=9000), timedelta(0), timedelta(days=366, seconds=1)])
def test_an_until_that_is_past_or_too_far_is_refused(after: timedelta, dry_run: bool, action: str) -> None:
    world = lab1()
    world.spend("lab1", 11 if action == "ReleaseBudget" else 1)
    world.sweep()
    before = dict(world.memory.records), world.intents.held(), list(world.mail.sent)
    with pytest.raises(InvalidInputError, match=r"actions\[\]\.until: '.*at most 366 days") as refused:
        world.order(action, "lab1", until=(world.now + after).isoformat(), dry_run=dry_run)
    assert (world.now + after).isoformat() in str(refused.value)
    assert (world.memory.records, world.intents.held(), world.mail.sent) == before


def test_one_bad_order_refuses_the_whole_request() -> None:
    world = lab1()
    world.define("lab2", {"account": "lab2", "allocation": {"limit": 1000}})
    past = (world.now - timedelta(seconds=1)).isoformat()
    orders = [
        {"action": "HoldBudget", "budget": "lab2"},
        {"action": "HoldBudget", "budget": "lab1", "until": past},
    ]
    with pytest.raises(InvalidInputError, match="until"):
        world.manual(dry_run=False, actions=orders)
    assert (world.intents.written, world.memory.records) == ([], {})


@pytest.mark.parametrize("after", [timedelta(seconds=1), timedelta(days=366)])
def test_an_until_within_its_bounds_is_carried_out(after: timedelta) -> None:
    world = lab1()
    world.order("HoldBudget", "lab1", until=(world.now + after).isoformat())
    assert world.intents.held() == {"account#lab1"}


HOLD, RELEASE = {"action": "HoldBudget", "budget": "lab1"}, {"action": "ReleaseBudget", "budget": "lab1"}


@pytest.mark.parametrize(
    "orders",
    [
        [{**HOLD, "cluster": "alpha"}, RELEASE],
        [RELEASE, {**HOLD, "cluster": "alpha"}],
        [HOLD, HOLD],
        [{**HOLD, "cluster": "alpha"}, {**RELEASE, "cluster": "beta"}, RELEASE],
    ],
)
def test_two_orders_that_may_mean_one_budget_are_refused(orders: list[dict[str, Any]]) -> None:
    world = lab1()
    with pytest.raises(InvalidInputError, match="one order for a budget at a time"):
        world.manual(dry_run=False, actions=orders)
    assert (world.intents.written, world.memory.records) == ([], {})


def test_budgets_of_one_name_in_two_clusters_each_get_their_order() -> None:
    world = BudgetWorld(clusters=("alpha", "beta"))
    for cluster in world.clusters:
        world.define("lab1", LAB1, cluster)
    world.order("HoldBudget", "lab1", cluster="beta")
    world.manual(dry_run=False, actions=[{**HOLD, "cluster": "alpha"}, {**RELEASE, "cluster": "beta"}])
    assert (world.intents.held("alpha"), world.intents.held("beta")) == ({"account#lab1"}, set())


@pytest.mark.parametrize("cluster", ["beta", "gamma"])
@pytest.mark.parametrize("action", ["HoldBudget", "ReleaseBudget", "ApproveBudget"])
def test_a_cluster_that_lacks_the_budget_is_not_answered_with_another_s(action: str, cluster: str) -> None:
    """beta is governed and has no such budget; gamma is not governed."""
    world = BudgetWorld(clusters=("alpha", "beta"))
    world.define("lab1", LAB1, "alpha")
    outcomes = world.order(action, "lab1", cluster=cluster)
    assert [(o["subject"], o["reason"]) for o in outcomes] == [(f"budget#{cluster}#lab1", "not_ours")]
    assert (world.intents.written, world.memory.records) == ([], {})


def test_of_two_orders_the_one_about_nothing_is_named() -> None:
    world = BudgetWorld(clusters=("alpha", "beta"))
    world.define("lab1", LAB1, "alpha")
    outcomes = world.manual(
        dry_run=False, actions=[{**HOLD, "cluster": "alpha"}, {**HOLD, "cluster": "beta"}]
    )
    reasons = {o["subject"]: o["reason"] for o in outcomes}
    assert (reasons["budget#alpha#lab1"], reasons["budget#beta#lab1"]) == ("held", "not_ours")
