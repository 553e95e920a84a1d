"""What fails, is silent or is in the way: the state stays, somebody is told, and time mends it."""

from datetime import timedelta
from typing import Any

import pytest

from proctor.domain.agent_protocol import Outcome as AgentOutcome
from proctor.domain.budgets_memory import Level
from proctor.domain.budgets_reading import BudgetUnread
from proctor.domain.decision import OutcomeStatus
from proctor.domain.errors import ThrottledError
from tests.fakes.budget_values import POLICY, reading, usage
from tests.fakes.budget_world import BudgetWorld
from tests.fakes.taps import FailAt
from tests.reactions.budget_holds.deliveries import LAB1, lab1, mails


@pytest.mark.parametrize(("spent", "held"), [(11, True), (5, False)])
def test_an_api_failure_keeps_the_state_and_alarms(spent: int, held: bool) -> None:
    world = BudgetWorld()
    world.define("cluster", {"aws_budget": "bill"})
    world.bill(reading(spent * 1000))
    world.sweep()
    before = world.intents.held()
    assert bool(before) is held
    world.bill(BudgetUnread(name="bill", error="ThrottledError: slow down"))
    for _ in range(3):
        world.advance(hours=30)
        assert world.sweep() == []
    assert world.intents.held() == before
    assert any("unreadable" in h for h in world.headlines())


def test_unreadable_tables_keep_the_record_in_the_queue_and_change_nothing() -> None:
    for port in ("intents.intents", "memory.all", "slurm.view", "definitions.in_force", "policies.in_force"):
        world = lab1()
        world.spend("lab1", 11)
        world.sweep()
        held = world.intents.held()
        world.taps.active.append(FailAt(lambda: ThrottledError("slow down"), port))
        assert world.sweep() == ["m-1"], port
        assert world.intents.held() == held
        assert world.sweep() == []


def test_a_silent_agent_keeps_every_hold_and_alarms_once_a_day() -> None:
    world = lab1()
    world.spend("lab1", 11)
    world.sweep()
    world.is_agent_alive = False
    for _ in range(4):
        world.advance(minutes=10)
        world.sweep()
    assert world.intents.held() == {"account#lab1"}
    assert sum("agent silent" in h for h in world.headlines()) == 1


def test_a_hold_that_can_not_bind_alarms_and_is_no_success() -> None:
    world = lab1()
    world.spend("lab1", 11)
    world.sweep()
    world.let_agent_work(AgentOutcome.CANNOT_BIND, "AccountingStorageEnforce has nothing; limits is needed")
    world.advance(minutes=10)
    world.sweep()
    assert world.verdicts.latest["account#alpha#lab1"].verdict.reason == "cannot_bind"
    assert any("cannot bind" in h for h in world.headlines())


def test_a_removed_definition_lets_go_and_an_unreadable_one_does_not() -> None:
    world = lab1()
    world.spend("lab1", 11)
    world.sweep()
    name = "/proctor/alpha/budget_holds/lab1"
    world.definitions.versions[name][0] = "{}"
    world.advance(minutes=10)
    world.sweep()
    assert world.intents.held() == {"account#lab1"}
    assert any("definition unusable" in h for h in world.headlines())
    world.definitions.remove("alpha", "lab1")
    world.advance(minutes=10)
    world.sweep()
    assert world.intents.held() == set()


def test_protected_accounts_are_never_held() -> None:
    world = lab1(policy={**POLICY, "guardrails": {"protected_accounts": ["lab1"]}})
    world.spend("lab1", 11)
    world.sweep()
    outcome = world.verdicts.latest["account#alpha#lab1"]
    assert (outcome.status, outcome.detail, world.intents.written) == (
        OutcomeStatus.WITHHELD,
        "a protected subject",
        [],
    )


def test_a_guardrail_withholds_all_and_the_pause_too() -> None:
    capped = BudgetWorld(policy={**POLICY, "guardrails": {"holds": {"per_run": 1}}})
    paused = BudgetWorld()
    paused.pause.paused["alpha"] = "maintenance"
    for world in (capped, paused):
        world.define("cluster", {"aws_budget": "bill"})
        world.bill(reading(10500))
        world.sweep()
        assert world.intents.written == []
    paused.pause.paused.clear()
    paused.advance(minutes=10)
    paused.sweep()
    assert paused.intents.held() == {"account#lab1", "account#lab2"}


def test_a_failed_wake_up_holds_nothing_up() -> None:
    world = lab1()
    world.spend("lab1", 11)
    world.taps.active.append(FailAt(lambda: ThrottledError("slow down"), "wake.wake"))
    assert world.sweep() == []
    assert world.intents.held() == {"account#lab1"}
    assert any("was not woken" in line for line, _ in world.telemetry.warnings)


def test_one_failing_write_of_three_stops_neither_of_the_others() -> None:
    world = BudgetWorld()
    world.define("cluster", {"aws_budget": "bill", "hold": {"level": "partition", "accept_collateral": True}})
    world.define("lab1", LAB1)
    world.spend("lab1", 11)
    world.bill(reading(10500))
    world.taps.active.append(FailAt(lambda: ThrottledError("slow down"), "intents.put", nth=2))
    assert world.sweep() == []
    assert len(world.intents.held()) == 2
    world.advance(minutes=10)
    world.sweep()
    assert world.intents.held() == {"account#lab1", "partition#dev", "partition#gpu"}


def test_an_outage_of_hours_is_made_good_by_a_later_sweep() -> None:
    """Five failed attempts exhaust a claim; a hold must not stay unwritten for that."""
    world = lab1()
    world.spend("lab1", 11)
    world.taps.active.append(FailAt(lambda: ThrottledError("slow down"), "intents.put", times=None))
    for _ in range(9):
        world.sweep()
        world.advance(minutes=10)
    world.taps.active.clear()
    world.advance(minutes=60)
    world.sweep()
    assert world.intents.held() == {"account#lab1"}


def test_a_hold_that_vanished_from_the_table_comes_back() -> None:
    world = lab1()
    world.spend("lab1", 11)
    world.sweep()
    world.intents.items.clear()
    world.advance(hours=1)
    world.sweep()
    assert world.intents.held() == {"account#lab1"}


def test_a_hold_is_renewed_before_it_expires() -> None:
    world = BudgetWorld()
    world.define("lab1", {**LAB1, "allocation": {"limit": 1000, "time_unit": "ANNUALLY"}})
    world.spend("lab1", 11)
    for _ in range(30):
        world.sweep()
        world.let_agent_work()
        world.advance(hours=24)
        (intent,) = world.intents.items.values()
        assert intent.expires_at - world.now > timedelta(days=6)
    assert mails(world, "bob") == ["Your jobs on alpha wait: budget lab1"]


@pytest.mark.parametrize(
    ("policy", "word"),
    [
        ({"mode": "apply"}, "the policy has no rates"),
        ({"mode": "apply", "rates": {"gpu_hour": 3}}, "ceiling"),
    ],
)
def test_without_rates_or_ceiling_it_warns_and_says_what_is_missing(
    policy: dict[str, Any], word: str
) -> None:
    world = BudgetWorld(policy=policy)
    world.define("cluster", {"aws_budget": "bill", "owner": "ada"})
    world.bill(reading(20000))
    world.sweep()
    assert (world.intents.written, world.remembered("cluster").level) == ([], Level.WARNED)
    assert mails(world, "ada") == ["Budget cluster: 90 % is spent"]
    (alarm,) = [n.text for n in world.operators.published if "warns only" in n.headline]
    assert word in alarm


def test_a_partition_without_a_rate_warns_only_and_is_named() -> None:
    world = lab1()
    world.spend("lab1", 11)
    world.see(usage=(*world.slurm.views["alpha"].usage, usage("lab1", 1, partition="cpu")))
    world.sweep()
    assert world.intents.written == []
    assert any("no rate for partition cpu" in n.text for n in world.operators.published)
