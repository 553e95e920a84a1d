"""People are told what is so: held only what can be held, each thing once, and what nobody defines any more."""

from dataclasses import replace
from datetime import timedelta

import pytest

from proctor.domain.budgets_exemptions import BudgetExemption, ExemptKind
from proctor.domain.budgets_memory import Level, Why
from proctor.domain.errors import ThrottledError
from tests.fakes.budget_values import POLICY, reading
from tests.fakes.budget_world import BudgetWorld
from tests.fakes.taps import FailAt
from tests.reactions.budget_holds.deliveries import LAB1, lab1, mails

HELD, NOT_HELD = "new jobs are held", "new jobs should be held"
GPU = {"aws_budget": "bill", "owner": "ada", "hold": {"level": "partition", "accept_collateral": True}}


def told(world: BudgetWorld, word: str) -> list[str]:
    """Texts to operators and people whose headline has this word."""
    notices = [(n.headline, n.text) for n in world.operators.published]
    notices += [(m.headline, m.text) for m in world.mail.sent]
    return [text for headline, text in notices if word in headline]


def owners(world: BudgetWorld) -> list[str]:
    """What ada was told as the owner; she is a member too."""
    return [headline for headline in mails(world, "ada") if headline.startswith("Budget ")]


def test_a_partition_that_does_not_exist_is_not_said_to_be_held() -> None:
    world = BudgetWorld()
    world.define("cluster", {**GPU, "partitions": ["nosuch"]})
    world.bill(reading(12000))
    world.sweep()
    assert told(world, HELD) == []
    texts = told(world, NOT_HELD)
    assert len(texts) == 2
    assert all("Slurm has no partition nosuch" in text for text in texts)
    assert owners(world) == ["Budget cluster: new jobs should be held"]


def test_what_can_be_held_in_part_is_held_and_the_rest_is_named() -> None:
    world = BudgetWorld()
    world.define("cluster", {**GPU, "partitions": ["gpu", "nosuch"]})
    world.bill(reading(12000))
    world.sweep()
    assert told(world, NOT_HELD) == []
    assert all("Slurm has no partition nosuch" in text for text in told(world, HELD))


def test_in_a_pause_nothing_is_said_to_be_held_until_it_is() -> None:
    world = lab1()
    world.spend("lab1", 11)
    world.pause.paused["alpha"] = "maintenance"
    world.sweep()
    assert world.intents.held() == set()
    assert told(world, HELD) == []
    (text,) = told(world, NOT_HELD)
    assert "Proctor is paused in alpha: maintenance" in text
    world.pause.paused.clear()
    world.advance(minutes=10)
    world.sweep()
    assert world.intents.held() == {"account#lab1"}
    assert len(told(world, HELD)) == 2
    assert owners(world) == ["Budget lab1: new jobs are held"]


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ({**POLICY, "rules": {"hold": "dry_run"}}, "the rule hold is in dry_run"),
        ({**POLICY, "guardrails": {"protected_accounts": ["root", "lab1"]}}, "lab1 is protected"),
    ],
)
def test_what_the_policy_keeps_from_being_held_is_said(policy: dict[str, object], why: str) -> None:
    world = lab1(policy=policy)
    world.spend("lab1", 11)
    world.sweep()
    assert (world.intents.held(), told(world, HELD)) == (set(), [])
    texts = told(world, NOT_HELD)
    assert len(texts) == 2
    assert all(why in text for text in texts)


def test_while_slurm_is_unknown_nothing_is_said_to_be_held_until_it_is() -> None:
    """An AWS budget decides to hold on settled alone; which accounts there are, the agent knows."""
    world = BudgetWorld(is_agent_alive=False)
    world.define("cluster", {"aws_budget": "bill", "owner": "ada"})
    world.bill(reading(8800))
    world.sweep()
    world.advance(minutes=10)
    world.bill(reading(10100))
    world.sweep()
    assert world.intents.held() == set()
    assert owners(world) == ["Budget cluster: 80 % is spent", "Budget cluster: new jobs should be held"]
    assert all("the controller's agent is silent" in text for text in told(world, NOT_HELD))
    world.is_agent_alive = True
    world.advance(minutes=10)
    world.sweep()
    assert world.intents.held() == {"account#lab1", "account#lab2"}
    assert owners(world)[2:] == ["Budget cluster: new jobs are held"]


def test_an_exemption_of_all_of_it_is_said() -> None:
    world = lab1()
    world.exemptions.rows.append(
        BudgetExemption(
            kind=ExemptKind.ACCOUNT,
            name="lab1",
            ends_at=world.now + timedelta(days=1),
            granted_by="ops",
            justification="thesis",
        )
    )
    world.spend("lab1", 11)
    world.sweep()
    assert (world.intents.held(), told(world, HELD)) == (set(), [])
    assert all("exemptions keep all of it open" in text for text in told(world, NOT_HELD))
    assert owners(world) == ["Budget lab1: new jobs should be held"]


def test_an_intent_of_somebody_else_is_named() -> None:
    world = lab1()
    world.order("HoldBudget", "lab1")
    world.intents.items = {k: replace(i, owner="node_health") for k, i in world.intents.items.items()}
    world.memory.records.clear()
    world.operators.published.clear()
    world.mail.sent.clear()
    world.advance(hours=2)
    world.spend("lab1", 11)
    world.sweep()
    assert told(world, HELD) == []
    assert all("it belongs to node_health" in text for text in told(world, NOT_HELD))
    assert len(told(world, NOT_HELD)) == 2


def test_a_hold_silences_the_thresholds_that_it_passes_in_the_same_look() -> None:
    world = lab1()
    world.spend("lab1", 10.04)
    world.sweep()
    assert owners(world) == ["Budget lab1: new jobs are held"]
    assert [h for h in world.headlines() if "is spent" in h] == []
    assert set(world.remembered("lab1").fired) == {"50", "80", "90"}
    for _ in range(3):
        world.advance(minutes=10)
        world.let_agent_work()
        world.sweep()
    assert owners(world) == ["Budget lab1: new jobs are held"]


def test_a_hold_by_hand_silences_no_threshold() -> None:
    world = lab1()
    world.spend("lab1", 9)
    world.order("HoldBudget", "lab1")
    assert sorted(owners(world)) == ["Budget lab1: 90 % is spent", "Budget lab1: new jobs are held"]


def test_a_deleted_definition_lets_go_and_the_operators_are_told_once() -> None:
    world = lab1()
    world.spend("lab1", 11)
    world.sweep()
    world.let_agent_work()
    world.definitions.remove("alpha", "lab1")
    for _ in range(4):
        world.advance(minutes=10)
        world.sweep()
    assert world.intents.held() == set()
    (text,) = told(world, "lab1 on alpha: definition gone")
    assert "Budget lab1 held new jobs, and its definition is gone" in text
    memory = world.remembered("lab1")
    assert (memory.is_holding, memory.level, memory.why) == (False, Level.OK, Why.ENDED)
    world.define("lab1", LAB1)
    world.advance(hours=2)
    world.sweep()
    assert world.intents.held() == {"account#lab1"}
    assert owners(world).count("Budget lab1: new jobs are held") == 2


def test_a_message_that_can_not_be_sent_at_once_is_sent_by_the_next_sweep() -> None:
    world = lab1()
    world.spend("lab1", 11)
    world.sweep()
    world.definitions.remove("alpha", "lab1")
    world.advance(minutes=10)
    world.taps.active.append(FailAt(lambda: ThrottledError("sns:Publish"), "operators.publish"))
    world.sweep()
    world.taps.active.clear()
    world.advance(minutes=10)
    world.sweep()
    assert len(told(world, "definition gone")) == 1


@pytest.mark.parametrize("policy", [{**POLICY, "mode": "dry_run"}])
def test_a_deleted_definition_of_a_dry_policy_is_left_alone(policy: dict[str, object]) -> None:
    world = lab1()
    world.spend("lab1", 11)
    world.sweep()
    world.write_policy(policy)
    world.definitions.remove("alpha", "lab1")
    world.advance(minutes=10)
    world.sweep()
    assert (world.intents.held(), told(world, "definition gone")) == ({"account#lab1"}, [])
    assert world.remembered("lab1").is_holding


def test_a_deleted_definition_that_held_nothing_is_no_news() -> None:
    world = lab1()
    world.spend("lab1", 9)
    world.sweep()
    world.definitions.remove("alpha", "lab1")
    world.advance(minutes=10)
    world.sweep()
    assert told(world, "definition gone") == []
