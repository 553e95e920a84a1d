"""`proctor hold`, `release` and `approve`, against the real function: what is planned, asked, done, and how it ends."""

from datetime import timedelta
from typing import Any

import pytest

from proctor.adapters.budget_memory_table import DynamoBudgetMemory
from proctor.adapters.intents_table import DynamoIntents
from proctor.domain.agent_protocol import Intent, PartitionState, SetPartitionState, controller_pk
from proctor.domain.budgets_memory import BudgetMemory, HandKind, Level
from proctor.domain.errors import DeniedError
from proctor_cli.exits import Exit
from tests.fakes.budget_values import association
from tests.unit.cli.desk import CLUSTER, NOW, PAUSE
from tests.unit.cli.holds_desk import HoldsDesk

WHY = ("--justification", "ticket 4712")


def _memory(slurm: HoldsDesk, budget: str = "lab1") -> BudgetMemory:
    return DynamoBudgetMemory(slurm.desk.clients, "memory").get(f"{CLUSTER}#{budget}")


def _plan(slurm: HoldsDesk, *argv: str) -> dict[str, Any]:
    printed = slurm.desk.run(*argv, *WHY, "--json")
    assert printed.exit == 0, printed.err
    plan: dict[str, Any] = printed.json["plan"]
    return plan


def test_a_hold_is_a_dry_run_that_changes_nothing(slurm: HoldsDesk) -> None:
    slurm.allocate("lab1", 5000, "lab1")
    printed = slurm.desk.run("hold", "lab1", *WHY)
    assert printed.exit == 0
    assert "This was a dry run; add --apply" in printed.out
    assert "dry_run  WriteIntent  account#gpu#lab1" in printed.out
    assert slurm.held() == set()
    assert _memory(slurm).rev == 0


def test_a_hold_is_asked_in_the_callers_name_until_a_time(slurm: HoldsDesk) -> None:
    slurm.allocate("lab1", 5000, "lab1")
    assert slurm.desk.run("hold", "lab1", "--until", "8h", "--apply", *WHY).exit == 0
    (request,) = slurm.desk.clients.fake_functions.requests
    assert slurm.desk.clients.fake_functions.names == ["proctor-BudgetHolds"]
    assert request == {
        "source": "proctor.manual",
        "requested_by": slurm.desk.clients.sts().get_caller_identity()["Arn"],
        "justification": "ticket 4712",
        "dry_run": False,
        "actions": [
            {
                "action": "HoldBudget",
                "budget": "lab1",
                "cluster": "gpu",
                "until": (NOW + timedelta(hours=8)).isoformat(),
            }
        ],
    }
    assert slurm.held() == {"account#lab1"}
    hand = _memory(slurm).hand
    assert hand is not None
    assert (hand.kind, hand.until_at) == (HandKind.HOLD, NOW + timedelta(hours=8))


def test_a_release_by_hand_lets_go_and_is_remembered(slurm: HoldsDesk) -> None:
    slurm.allocate("lab1", 5000, "lab1")
    slurm.spend("lab1", 55)
    slurm.sweep()
    slurm.agent_reports()
    assert slurm.held() == {"account#lab1"}
    printed = slurm.desk.run("release", "lab1", "--until", "7d", "--apply", *WHY)
    assert printed.exit == 0
    assert "HELD → RELEASED" in printed.out
    assert "account lab1  release  GrpJobs=no limit" in printed.out
    assert slurm.held() == set()
    assert _memory(slurm).level is Level.RELEASED


def test_the_plan_names_subject_level_others_ways_around_and_former_values(slurm: HoldsDesk) -> None:
    slurm.see("associations", association("lab1", grp_jobs=10))
    slurm.allocate("lab1", 5000, "lab1")
    slurm.job("1")
    slurm.job("2", state="RUNNING", start_at=NOW)
    slurm.job("3", account="lab2")
    plan = _plan(slurm, "hold", "lab1")
    assert (plan["subject"], plan["level"]) == ("account lab1 and its children", "account")
    assert (plan["state_now"], plan["state_then"]) == ("ok", "held")
    assert plan["targets"] == [
        {
            "subject": "account#lab1",
            "change": "hold",
            "previous": {"GrpJobs": "10", "GrpSubmitJobs": "-1", "GrpTRES/node": "-1"},
            "other_budgets": [],
        }
    ]
    assert (plan["stops_others"], plan["needs_accept_collateral"]) == ([], False)
    assert "dev: closed; submission to several partitions: closed" in plan["bypasses"]
    assert (plan["pending_jobs"], plan["running_jobs"]) == (1, 1)
    assert plan["bounds"] == []


def test_a_partition_hold_names_whom_else_it_stops_and_that_dev_is_open(slurm: HoldsDesk) -> None:
    slurm.define(
        "gpu-money",
        {
            "aws_budget": "bill",
            "partitions": ["gpu"],
            "hold": {"level": "partition", "accept_collateral": True},
        },
    )
    plan = _plan(slurm, "hold", "gpu-money")
    assert plan["stops_others"] == ["lab1", "lab1-nlp", "lab1-vision", "lab2"]
    assert plan["bypasses"].startswith("dev: open (`-p dev`")
    assert "submission to several partitions: open" in plan["bypasses"]
    assert plan["targets"][0]["previous"] == {"State": "UP"}
    out = slurm.desk.run("hold", "gpu-money", *WHY).out
    assert "lab1, lab1-nlp, lab1-vision, lab2 within budget" in out
    assert "partition gpu  hold    State=UP" in out


def test_collateral_that_is_not_accepted_is_told_and_holds_nothing(slurm: HoldsDesk) -> None:
    slurm.define("gpu-money", {"aws_budget": "bill", "partitions": ["gpu"], "hold": {"level": "partition"}})
    printed = slurm.desk.run("hold", "gpu-money", "--apply", *WHY)
    told = " ".join(printed.out.split())
    assert "so it holds nothing before hold.accept_collateral is true" in told
    assert "also stops lab1" in told
    assert printed.exit == Exit.FAILED
    assert slurm.held() == set()


def test_a_release_says_which_other_budget_still_holds(slurm: HoldsDesk) -> None:
    for name in ("lab1", "grant17"):
        slurm.allocate(name, 5000, "lab1")
    slurm.spend("lab1", 55)
    slurm.sweep()
    plan = _plan(slurm, "release", "lab1")
    assert plan["targets"][0]["change"] == "stays held for grant17"
    slurm.desk.run("release", "lab1", "--apply", *WHY)
    assert slurm.held() == {"account#lab1"}


def test_an_operators_own_intent_is_left_alone(slurm: HoldsDesk) -> None:
    verb = SetPartitionState("gpu", PartitionState.DOWN)
    mine = Intent(controller_pk(CLUSTER), verb, True, "drill", 1, NOW + timedelta(days=1))
    DynamoIntents(slurm.desk.clients, "intents").put(mine, 0)
    hold = {"level": "partition", "accept_collateral": True}
    slurm.define("gpu-money", {"aws_budget": "bill", "partitions": ["gpu"], "hold": hold})
    assert _plan(slurm, "hold", "gpu-money")["targets"][0]["change"] == "left alone: it belongs to drill"


@pytest.mark.parametrize(
    ("outputs", "policy", "definition", "told"),
    [
        ({"ApplyActions": "false"}, {}, {}, "ApplyActions is false"),
        ({}, {"mode": "dry_run"}, {}, "the policy's mode of holds on gpu is dry_run"),
        ({}, {"mode": "apply", "rules": {"hold": "off"}}, {}, "the policy's mode of holds on gpu is off"),
        ({}, {"mode": "apply"}, {"mode": "dry_run"}, "the budget's own mode is dry_run"),
    ],
)
def test_what_keeps_an_order_from_slurm_is_told(
    slurm: HoldsDesk, outputs: dict[str, str], policy: dict[str, Any], definition: dict[str, Any], told: str
) -> None:
    slurm.desk.outputs |= outputs
    if policy:
        slurm.write_policy(policy)
    slurm.allocate("lab1", 5000, "lab1", **definition)
    printed = slurm.desk.run("hold", "lab1", "--apply", *WHY)
    assert told in " ".join(printed.out.split())
    assert slurm.held() == set()


def test_a_pause_and_an_agent_in_dry_run_are_told(slurm: HoldsDesk) -> None:
    slurm.desk.clients.ssm().put_parameter(Name=PAUSE, Value="drill", Type="String", Overwrite=True)
    slurm.beat(NOW, is_dry_run=True)
    slurm.allocate("lab1", 5000, "lab1")
    bounds = _plan(slurm, "hold", "lab1")["bounds"]
    assert any("gpu is paused" in bound for bound in bounds)
    assert any("the agent is in dry-run" in bound for bound in bounds)


def test_a_silent_agent_is_told_in_the_plan(slurm: HoldsDesk) -> None:
    slurm.allocate("lab1", 5000, "lab1")
    slurm.desk.now = NOW + timedelta(seconds=121)
    plan = _plan(slurm, "hold", "lab1")
    assert plan["slurm"].startswith("unknown: the controller's agent is silent since 2026-11-30 18:00:00Z")
    assert (plan["pending_jobs"], plan["targets"][0]["previous"]) == (None, None)


def test_notices_that_could_not_be_sent_are_told_and_do_not_fail_the_order(slurm: HoldsDesk) -> None:
    slurm.allocate("lab1", 5000, "lab1", owner="ada")
    printed = slurm.desk.run("hold", "lab1", "--apply", *WHY)
    assert printed.exit == 0
    assert "Notices: 1 applied, 4 failed." in printed.out
    assert "the directory holds no address" in printed.out


@pytest.mark.parametrize(
    ("argv", "exit_code", "told"),
    [
        (("hold", "lab9"), Exit.NOT_FOUND, "'lab9' is not in force; known are lab1"),
        (("release", "lab1", "--cluster", "cpu"), Exit.NOT_FOUND, "cpu has no policy of budget_holds"),
        (("hold", "lab1", "--cluster", "gpuu"), Exit.USAGE, "governs: gpu, cpu"),
        (("hold", "lab1", "--until", "yesterday"), Exit.USAGE, "write 8h, 7d"),
        (("approve",), Exit.USAGE, "name a budget, or an agent"),
        (("approve", "lab1", "--agent", "i-0123456789abcdef0"), Exit.USAGE, "name a budget, or an agent"),
        (("approve", "lab1", "--fingerprint", "0" * 16), Exit.USAGE, "goes with --agent"),
        (("approve", "--agent", "ip-10-0-0-1"), Exit.USAGE, "instance id"),
        (("approve", "--agent", "i-0123456789abcdef0", "--cluster", "gpu"), Exit.USAGE, "16 hex digits"),
    ],
)
def test_what_is_refused_before_the_function_is_asked(
    slurm: HoldsDesk, argv: tuple[str, ...], exit_code: Exit, told: str
) -> None:
    slurm.allocate("lab1", 5000, "lab1")
    printed = slurm.desk.run(*argv, *WHY, "--apply")
    assert (printed.exit, printed.out) == (exit_code, "")
    assert told in printed.err
    assert slurm.desk.clients.fake_functions.requests == []


def test_a_budget_of_two_clusters_needs_the_cluster(slurm: HoldsDesk) -> None:
    slurm.allocate("lab1", 5000, "lab1")
    slurm.define("lab1", {"account": "lab1", "allocation": {"limit": 1}}, cluster="cpu")
    slurm.parameter("/proctor/cpu/budget_holds", {})
    printed = slurm.desk.run("hold", "lab1", *WHY)
    assert printed.exit == Exit.USAGE
    assert "two clusters have a budget lab1; name the cluster" in printed.err
    assert slurm.desk.clients.fake_functions.requests == []
    assert slurm.desk.run("hold", "lab1", "--cluster", "gpu", *WHY).exit == 0


def test_without_the_right_to_read_an_order_still_goes_through(slurm: HoldsDesk) -> None:
    """In an emergency the function acts all the same; only the plan is missing."""
    slurm.allocate("lab1", 5000, "lab1")
    slurm.desk.outputs["ObservedTableName"] = "observed"
    del slurm.desk.outputs["IntentsTableName"]
    printed = slurm.desk.run("hold", "lab1", "--apply", *WHY)
    assert printed.exit == 0
    assert "The plan could not be made: stack proctor: it has no output 'IntentsTableName'" in printed.out
    assert slurm.held() == {"account#lab1"}


def test_a_refusal_of_the_function_has_its_exit_code(slurm: HoldsDesk) -> None:
    def refuse(_: dict[str, Any]) -> object:
        raise DeniedError("no")

    slurm.allocate("lab1", 5000, "lab1")
    slurm.desk.clients.fake_functions.answer = refuse
    assert slurm.desk.run("hold", "lab1", *WHY).exit == Exit.REFUSED


def test_a_budget_in_dry_run_keeps_nothing_held(slurm: HoldsDesk) -> None:
    for name, mode in (("root-ish", "dry_run"), ("lab1", "apply")):
        slurm.allocate(name, 5000, "lab1", mode=mode)
    slurm.spend("lab1", 55)
    slurm.sweep()
    slurm.agent_reports()
    plan = _plan(slurm, "release", "lab1")
    assert [(t["change"], t["other_budgets"]) for t in plan["targets"]] == [("release", [])]
    told = " ".join(slurm.desk.run("why", "account", "lab1").out.split())
    assert "account lab1 for budget lab1: in force" in told


def test_another_budget_that_holds_keeps_it_held(slurm: HoldsDesk) -> None:
    for name in ("also", "lab1"):
        slurm.allocate(name, 5000, "lab1")
    slurm.spend("lab1", 55)
    slurm.sweep()
    plan = _plan(slurm, "release", "lab1")
    assert [(t["change"], t["other_budgets"]) for t in plan["targets"]] == [("stays held for also", ["also"])]
