"""A hold asked for while the agent was silent, and a node set up anew: what was there before is put back all the same."""

from proctor.domain.agent_protocol import (
    Intent,
    IntentResult,
    ObservedPartition,
    PartitionState,
    SetPartitionState,
)
from proctor.domain.agent_protocol import Outcome as AgentOutcome
from proctor_agent.holds import partition
from proctor_agent.holds.step import Step
from tests.fakes.budget_values import reading
from tests.fakes.budget_world import BudgetWorld
from tests.reactions.budget_holds.deliveries import mails

SK = "partition#gpu"
GPU = {
    "aws_budget": "bill",
    "owner": "ada",
    "partitions": ["gpu"],
    "hold": {"level": "partition", "accept_collateral": True},
}


def agent_without_records(intent: Intent, seen: str) -> Step:
    """What the agent's own rule does, knowing nothing but the intent and what Slurm shows."""
    row = ObservedPartition("gpu", seen, "", 4, None, False)
    return partition.decide(intent, intent.is_held, row, None)


def held_blind(world: BudgetWorld) -> Intent:
    world.define("cluster", GPU)
    world.bill(reading(12000))
    world.sweep()
    intent = world.intents.intents("alpha")[SK]
    assert intent is not None
    assert (intent.verb, intent.previous) == (SetPartitionState("gpu", PartitionState.DOWN), None)
    return intent


def agent_comes(world: BudgetWorld, intent: Intent) -> None:
    """It finds the partition UP, holds it, and reports what that replaced."""
    step = agent_without_records(intent, "UP")
    assert step.command[-1] == "State=DOWN"
    said = IntentResult(SK, intent.rev, AgentOutcome.APPLIED, "", "State", step.previous, world.now)
    world.is_agent_alive = True
    world.advance(minutes=1)
    world.see(results={SK: said})


def test_the_intent_learns_what_the_agent_replaced_before_the_records_are_lost() -> None:
    world = BudgetWorld(is_agent_alive=False)
    world.see(seen_at=None)
    agent_comes(world, held_blind(world))
    told = len(mails(world, "ada"))
    for _ in range(3):
        world.advance(minutes=10)
        world.sweep()
    intent = world.intents.intents("alpha")[SK]
    assert intent is not None
    assert (intent.rev, intent.is_held, intent.previous) == (2, True, {"State": "UP"})
    assert len(mails(world, "ada")) == told

    anew = agent_without_records(intent, "DOWN")
    assert (anew.outcome, anew.previous) == (AgentOutcome.APPLIED, {"State": "UP"})


def test_a_release_right_after_the_hold_took_force_knows_it_too() -> None:
    world = BudgetWorld(is_agent_alive=False)
    world.see(seen_at=None)
    agent_comes(world, held_blind(world))
    world.bill(reading(1))
    world.order("ReleaseBudget", "cluster")
    intent = world.intents.intents("alpha")[SK]
    assert intent is not None
    assert (intent.is_held, intent.previous) == (False, {"State": "UP"})
    assert agent_without_records(intent, "DOWN").command[-1] == "State=UP"
