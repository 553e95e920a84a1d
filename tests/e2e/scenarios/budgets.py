"""What budget_holds does about money: holds, releases, notices, by AWS's numbers, by metered use and by hand."""

import json
from collections.abc import Mapping
from functools import partial
from itertools import count
from typing import Any

from proctor.domain.agent_protocol import ObservedAssociation, ObservedUsage
from proctor_local.deployed_function import put_parameter, version_in_force
from tests.e2e.agents import DEPARTMENT, MEMBER, now
from tests.e2e.catalogue import scenario
from tests.e2e.directory import ALPHA, session_name
from tests.e2e.money import LAB, POLICY, define, make_aws_budget, policy_name
from tests.e2e.scenarios.agents import expect_parked, manual_request, outcomes_of
from tests.e2e.world import World

_HELD = f"account#{DEPARTMENT}"
_NUMBERS = count(1)


@scenario
def a_budget_is_held_and_released_by_hand(world: World) -> None:
    _hold(world)
    intent = _intent(world, _HELD)
    assert intent["is_held"]
    assert intent["owner"] == "budget_holds"
    subject = f"account#{ALPHA}#{DEPARTMENT}"
    world.expect_verdict(subject, "hold_written", "applied")
    _order(world, "ReleaseBudget")
    assert not _intent(world, _HELD)["is_held"]
    world.expect_verdict(subject, "released", "applied")


@scenario
def a_hold_wakes_the_agent(world: World) -> None:
    url = world.stack.outputs["ControllerWakeQueueUrl"]
    _released(world)
    world.stack.take(url)
    _order(world, "HoldBudget")
    assert world.wait(lambda: world.stack.take(url), "a message that wakes") == [
        json.dumps({"cluster": ALPHA})
    ]


@scenario
def owner_and_members_are_mailed_what_is_held(world: World) -> None:
    before = len(world.local.mails())
    _hold(world)
    _mail(world, LAB["owner"], "Budget lab: new jobs are held", before)
    member = _mail(world, MEMBER, f"Your jobs on {ALPHA} wait: budget lab", before)
    assert "Write to hpc-help." in member["text"]


@scenario
def the_operators_hear_of_a_hold(world: World) -> None:
    before = len(world.operator_messages())
    _hold(world)
    told = world.wait(
        lambda: [
            m for m in world.operator_messages()[before:] if "new jobs are held" in f"{m.get('Subject')}"
        ],
        "the operators' message",
    )
    assert f"Budget lab: new jobs are held ({ALPHA})" in told[0]["Subject"]


@scenario
def what_budget_holds_did_is_published_on_the_bus(world: World) -> None:
    before = len(world.outcomes())
    _hold(world)
    event = world.wait(
        lambda: next((e for e in world.outcomes()[before:] if e["detail"]["action"] == "WriteIntent"), {}),
        "the event",
    )
    assert event["source"] == "proctor.budget_holds"
    assert (event["detail"]["subject"], event["detail"]["outcome"]) == (
        f"account#{ALPHA}#{DEPARTMENT}",
        "applied",
    )


@scenario
def the_log_of_budget_holds_says_what_was_done_without_addresses(world: World) -> None:
    before = len(world.holds.log_lines())
    _hold(world)
    lines = world.wait(
        lambda: [line for line in world.holds.log_lines()[before:] if "hold_written" in line],
        "a line in the log",
    )
    assert not any("@" in line.replace("ops@uni.example", "") for line in lines)


@scenario
def an_operator_sees_what_aws_says(world: World) -> None:
    world.local.refresh_budget(LAB["aws_budget"], actual="123.45", messages=0)
    scope = {"kind": "budget", "id": "lab"}
    found = outcomes_of(world.holds.invoke(manual_request() | {"dry_run": True, "scope": scope}))
    (budget,) = (o for o in found if o["subject"] == f"budget#{ALPHA}#lab")
    assert "12.3 % of 1,000.00 USD" in budget["text"]


@scenario
def aws_budgets_message_holds_and_a_raised_limit_releases(world: World) -> None:
    name = _aws_budget(world)
    held = f"account#{name}"
    world.local.refresh_budget(name, actual="1000.00")
    world.wait(lambda: _intent(world, held).get("is_held"), "the hold")
    world.expect_verdict(f"budget#{ALPHA}#{name}", "held")
    _raise_limit(world, name)
    world.holds.recycle()  # copies keep AWS's answers for a minute
    world.holds.sweep()
    world.wait(lambda: _intent(world, held).get("is_held") is False, "the release")


@scenario
def a_lost_message_of_aws_budgets_is_made_up_for_by_the_sweep(world: World) -> None:
    name = _aws_budget(world)
    world.local.refresh_budget(name, actual="1000.00", messages=0)
    world.holds.sweep()
    world.wait(lambda: _intent(world, f"account#{name}").get("is_held"), "the hold")
    _raise_limit(world, name)


@scenario
def what_agents_meter_holds_a_department(world: World) -> None:
    """The agent's report, the change on the bus, the hold."""
    name = _account(world)
    allocation = {"limit": 100, "time_unit": "MONTHLY"}
    define(world.holds, name, {"allocation": allocation, "account": name})
    hour_at = now().replace(minute=0, second=0)
    world.agents.tell(usage=(ObservedUsage(name, "dev", hour_at, 7200, 57_600, 1),))
    world.wait(lambda: _intent(world, f"account#{name}").get("is_held"), "the hold")
    define(world.holds, name, {"allocation": allocation | {"limit": 100_000}, "account": name})
    world.holds.sweep()
    world.wait(lambda: _intent(world, f"account#{name}").get("is_held") is False, "the release")


@scenario
def a_definition_and_a_policy_of_budget_holds_are_put_in_force(world: World) -> None:
    for parameter, value, subject in (
        (policy_name(), POLICY, f"policy#{ALPHA}#budget_holds"),
        (policy_name("lab"), LAB, f"policy#{ALPHA}#budget_holds#lab"),
    ):
        version = put_parameter(world.stack, parameter, value)
        world.wait(partial(_is_in_force, world, parameter, version), f"{parameter} in force")
        world.expect_verdict(subject, "policy_valid", "applied")


@scenario
def a_bad_definition_is_refused(world: World) -> None:
    put_parameter(world.stack, policy_name("bad"), {"aws_budgett": "lab"})
    world.expect_told("aws_budgett")


@scenario
def a_message_that_budget_holds_cannot_read_is_parked(world: World) -> None:
    expect_parked(world, world.stack.outputs["BudgetHoldsQueueUrl"], world.holds.take_dead_letters)


def _is_in_force(world: World, parameter: str, version: int) -> bool:
    return version_in_force(world.stack, parameter) == version


def _hold(world: World) -> None:
    """From released to held, by an operator. A hold of another second is another hold to tell of."""
    _released(world)
    before = now()
    world.wait(lambda: now() > before, "the next second")
    _order(world, "HoldBudget")


def _released(world: World) -> None:
    if _intent(world, _HELD).get("is_held"):
        _order(world, "ReleaseBudget")


def _order(world: World, action: str) -> None:
    """An operator's order about the budget `lab`."""
    answer = world.holds.invoke(manual_request() | {"actions": [{"action": action, "budget": "lab"}]})
    found = outcomes_of(answer)
    assert any(o["subject"] == f"budget#{ALPHA}#lab" for o in found), answer


def _intent(world: World, sort_key: str) -> dict[str, Any]:
    return next((row for row in world.stack.rows("Intents") if row["sk"] == sort_key), {})


def _mail(world: World, login_name: str, subject: str, before: int) -> Mapping[str, Any]:
    """Wait for a mail that was not there before."""
    wanted = session_name(login_name), subject
    return world.wait(
        lambda: next((m for m in world.local.mails()[before:] if (m["to"][0], m["subject"]) == wanted), {}),
        f"a mail to {login_name}: {subject}",
    )


def _account(world: World) -> str:
    """A department that Slurm knows, and an agent that is alive."""
    name = f"dept{next(_NUMBERS)}"
    world.agents.tell(associations=(ObservedAssociation(name, "", "", "root", None, None, "", ("normal",)),))
    world.agents.beat()
    world.wait(lambda: world.agents.observed("associations", f"{name}||"), f"the account {name}")
    return name


def _aws_budget(world: World) -> str:
    name = _account(world)
    make_aws_budget(world.local, world.stack.outputs["BudgetsTopicArn"], name)
    define(world.holds, name, {"aws_budget": name, "account": name, "is_only_account": True})
    return name


def _raise_limit(world: World, name: str) -> None:
    account = world.local.account
    budget = world.local.aws().call("budgets", "DescribeBudget", AccountId=account, BudgetName=name)["Budget"]
    raised = budget | {"BudgetLimit": {"Amount": "5000", "Unit": "USD"}}
    world.local.aws().call("budgets", "UpdateBudget", AccountId=account, NewBudget=raised)
