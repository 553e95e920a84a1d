"""What operators do: orders, scopes, policies and definitions."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from proctor.domain.errors import InvalidInputError
from tests.fakes.budget_values import reading
from tests.fakes.budget_world import BudgetWorld
from tests.reactions.budget_holds.deliveries import LAB1, lab1, mails, sample


def test_a_release_by_hand_is_sticky_and_ends_with_its_until() -> None:
    world = lab1()
    world.spend("lab1", 12)
    world.sweep()
    until = (world.now + timedelta(hours=5)).isoformat()
    outcomes = world.order("ReleaseBudget", "lab1", until=until)
    assert {"released"} <= {o["reason"] for o in outcomes}
    assert world.intents.held() == set()
    for _ in range(3):
        world.let_agent_work()
        world.advance(hours=1)
        world.sweep()
        assert world.intents.held() == set()
    world.advance(hours=2)
    world.sweep()
    assert world.intents.held() == {"account#lab1"}


def test_a_rehearsed_order_remembers_nothing() -> None:
    world = lab1()
    world.spend("lab1", 12)
    world.sweep()
    before = dict(world.memory.records)
    outcomes = world.order("ReleaseBudget", "lab1", dry_run=True)
    assert {(o["reason"], o["outcome"]) for o in outcomes} >= {("released", "none"), ("released", "dry_run")}
    assert (world.memory.records, world.intents.held()) == (before, {"account#lab1"})


def test_a_hold_by_hand() -> None:
    world = lab1()
    outcomes = world.order("HoldBudget", "lab1")
    assert {o["reason"] for o in outcomes} >= {"held", "hold_written"}
    world.advance(hours=1)
    world.sweep()
    assert world.intents.held() == {"account#lab1"}
    world.order("ReleaseBudget", "lab1")
    assert world.intents.held() == set()


def test_an_order_about_nothing_says_so() -> None:
    outcomes = lab1().order("HoldBudget", "lab9")
    assert [(o["subject"], o["reason"]) for o in outcomes] == [("budget#lab9", "not_ours")]


def test_an_order_that_could_mean_two_budgets_is_refused() -> None:
    world = BudgetWorld(clusters=("alpha", "beta"))
    for cluster in world.clusters:
        world.define("lab1", LAB1, cluster)
    with pytest.raises(InvalidInputError, match="name the cluster"):
        world.order("HoldBudget", "lab1")
    world.order("HoldBudget", "lab1", cluster="beta")
    assert (world.intents.held("alpha"), world.intents.held("beta")) == (set(), {"account#lab1"})


def test_a_figure_out_of_this_world_needs_a_person_whose_word_counts() -> None:
    world = BudgetWorld()
    world.define("cluster", {"aws_budget": "bill"})
    world.bill(reading(5000000))
    world.sweep()
    assert (world.remembered("cluster").state, world.intents.written) == ("needs_human", [])
    assert any("needs human jump" in h for h in world.headlines())
    outcomes = world.order("ApproveBudget", "cluster")
    assert "approved by ops@uni.example" in outcomes[0]["text"]
    assert world.intents.held() == {"account#lab1", "account#lab2"}
    world.advance(minutes=10)
    world.sweep()
    assert world.remembered("cluster").state == "held"


def test_two_budgets_on_one_account_the_last_lets_go() -> None:
    world = lab1()
    world.define("grant", {"aws_budget": "bill", "account": "lab1", "is_only_account": True})
    world.spend("lab1", 11)
    world.bill(reading(12000))
    world.sweep()
    assert world.intents.held() == {"account#lab1"}
    world.order("ReleaseBudget", "lab1")
    world.sweep()
    assert world.intents.held() == {"account#lab1"}
    world.order("ReleaseBudget", "grant")
    assert world.intents.held() == set()


def test_new_policy_and_definition_versions_are_put_in_force_or_refused() -> None:
    world = BudgetWorld()
    good = world.definitions.write("alpha", "lab1", json.dumps(LAB1))
    assert world.deliver(sample("budget_changed.json")) == []
    assert world.definitions.labels[good] == 1
    world.definitions.write("alpha", "lab1", json.dumps({**LAB1, "cancel_after_hours": 3}))
    world.deliver(sample("budget_changed.json"))
    assert world.definitions.labels[good] == 1
    assert any("cancel_after_hours is not supported" in n.text for n in world.operators.published)
    version = world.policies.write("alpha", '{"mode": "off"}')
    world.deliver(sample("policy_changed.json"))
    assert world.policies.labels["/proctor/alpha/budget_holds"] == version


def test_a_cluster_without_a_policy_is_told_about_and_left_alone() -> None:
    world = lab1()
    world.policies.versions.clear()
    world.policies.labels.clear()
    world.sweep()
    assert any("has no policy" in h for h in world.headlines())


def test_scopes_re_decide_what_they_name() -> None:
    world = lab1()
    world.define("lab2", {"account": "lab2", "allocation": {"limit": 1000}})
    for scope, subjects in [
        ({"kind": "budget", "id": "lab1"}, {"budget#alpha#lab1"}),
        ({"kind": "account", "id": "lab2"}, {"budget#alpha#lab2"}),
        ({"kind": "partition", "id": "gpu"}, {"partition#gpu"}),
        ({"kind": "all"}, {"budget#alpha#lab1", "budget#alpha#lab2"}),
    ]:
        found = {o["subject"] for o in world.manual(scope=scope)}
        assert found == subjects


COURSE = {
    "account": "lab1",
    "allocation": {
        "limit": 1000,
        "time_unit": "CUSTOM",
        "starts_at": "2026-09-01T00:00:00Z",
        "ends_at": "2026-09-20T00:00:00Z",
    },
    "owner": "ada",
}


@pytest.mark.parametrize("spent", [0, 9, 11])
def test_a_release_of_an_ended_budget_is_answered_and_told_to_nobody(spent: int) -> None:
    """Whatever it was before: only what was held when it ended is a release."""
    world = BudgetWorld()
    world.define("lab1", COURSE)
    world.spend("lab1", spent)
    world.sweep()
    world.let_agent_work()
    world.advance(to=datetime(2026, 9, 21, tzinfo=UTC))
    world.sweep()
    before = list(world.mail.sent), list(world.operators.published)
    told = mails(world, "ada").count("Budget lab1: its hold is released")
    assert told == (1 if spent == 11 else 0)
    for _ in range(2):
        world.advance(minutes=7)
        outcomes = world.order("ReleaseBudget", "lab1")
        (answer,) = [o for o in outcomes if o["subject"] == "budget#alpha#lab1"]
        assert "ReleaseBudget was ordered by ops@uni.example. It held nothing." in answer["text"]
        world.sweep()
    assert (world.mail.sent, world.operators.published) == before
    assert world.remembered("lab1").hand is None


def test_an_order_that_changes_nothing_about_the_hold_is_answered_and_told_to_nobody() -> None:
    world = lab1()
    world.spend("lab1", 9)
    world.sweep()
    for order, headlines in [
        ("ReleaseBudget", []),
        ("ReleaseBudget", []),
        ("HoldBudget", ["Budget lab1: new jobs are held", "Your jobs on alpha wait: budget lab1"]),
        ("HoldBudget", []),
        ("ReleaseBudget", ["Budget lab1: its hold is released"]),
        ("ReleaseBudget", []),
    ]:
        seen = len(world.mail.sent)
        world.advance(minutes=61)
        world.let_agent_work()
        outcomes = world.order(order, "lab1")
        assert any(f"{order} was ordered by" in o["text"] for o in outcomes)
        world.sweep()
        assert sorted({m.headline for m in world.mail.sent[seen:]}) == headlines, order


def test_a_hold_by_hand_that_ends_over_the_limit_goes_on_without_a_message() -> None:
    world = lab1()
    world.order("HoldBudget", "lab1", until=(world.now + timedelta(hours=2)).isoformat())
    world.spend("lab1", 11)
    world.let_agent_work()
    world.advance(hours=3)
    seen = len(world.mail.sent)
    world.sweep()
    assert {m.headline for m in world.mail.sent[seen:]} == {"Budget lab1: 90 % is spent"}
    assert world.intents.held() == {"account#lab1"}
    assert "the limit is reached" in world.verdict("lab1").verdict.text


def test_two_holds_within_one_second_are_two_changes() -> None:
    world = lab1()
    for n, order in enumerate(("HoldBudget", "ReleaseBudget", "HoldBudget", "ReleaseBudget")):
        world.now = world.now.replace(microsecond=200_000 * n)
        world.order(order, "lab1")
    told = mails(world, "ada")
    assert told.count("Budget lab1: new jobs are held") == 2
    assert told.count("Budget lab1: its hold is released") == 2
    assert mails(world, "bob") == ["Your jobs on alpha wait: budget lab1"] * 2
