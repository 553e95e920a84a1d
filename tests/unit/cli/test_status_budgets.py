"""`proctor status` begins with what a person has to look at: agents, definitions, budgets and holds among it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from botocore.stub import Stubber

from proctor.adapters.budget_memory_table import DynamoBudgetMemory
from proctor.domain.agent_protocol import Outcome, Role
from proctor.domain.agents import AgentState
from proctor_cli.exits import Exit
from tests.fakes.budget_values import usd
from tests.unit.cli.desk import CLUSTER, NOW, Desk
from tests.unit.cli.holds_desk import CONTROLLER, HoldsDesk, moved
from tests.unit.cli.test_agents import KEY, NODE, _enrol


def _told(slurm: HoldsDesk) -> list[str]:
    """What needs attention, without what other tests look at."""
    printed = slurm.desk.run("status", "--json")
    lines: list[str] = printed.json["attention"]
    shown = slurm.desk.run("status").out
    assert all(f"- {line}" in shown for line in lines)
    return [line for line in lines if "policy" not in line and "no sweep" not in line]


def test_a_healthy_cluster_needs_nothing(slurm: HoldsDesk) -> None:
    slurm.allocate("lab1", 5000, "lab1")
    _enrol(slurm, CONTROLLER, "ip-10-0-0-1", Role.CONTROLLER)
    slurm.spend("lab1", 55)
    slurm.sweep()
    slurm.agent_reports()
    slurm.sweep()
    assert _told(slurm) == []
    assert "controller of gpu  ip-10-0-0-1, reported 0s ago" in slurm.desk.run("status").out


@pytest.mark.parametrize(("seconds", "is_told"), [(120, False), (121, True)])
def test_a_controllers_agent_that_is_silent(slurm: HoldsDesk, seconds: int, is_told: bool) -> None:
    slurm.desk.now = NOW + timedelta(seconds=seconds)
    told = _told(slurm)
    assert bool(told) is is_told
    if is_told:
        assert told[0].startswith(
            "gpu: the controller's agent (ip-10-0-0-1) is silent for 2m, so Slurm is unknown"
        )


def test_a_node_that_was_replaced_is_not_missed(slurm: HoldsDesk) -> None:
    slurm.put("heartbeat", "i-0ddddddddddddddd", {"verbs": "odd"}, NOW - timedelta(days=3), node="old")
    _enrol(slurm, "i-0eeeeeeeeeeeeeee", "older", Role.CONTROLLER, state=AgentState.GONE)
    assert _told(slurm) == []


def test_budgets_without_any_agent(slurm: HoldsDesk) -> None:
    slurm.desk.clients.dynamodb().delete_item(
        TableName="observed", Key={"scope": {"S": "gpu#heartbeat"}, "key": {"S": CONTROLLER}}
    )
    assert _told(slurm) == ["gpu: no agent on the controller reports, so Slurm is unknown: docs/agent.md"]


def test_keys_in_doubt(slurm: HoldsDesk) -> None:
    _enrol(slurm, CONTROLLER, "ip-10-0-0-1", Role.CONTROLLER, state=AgentState.DISPUTED, contender=KEY[::-1])
    _enrol(slurm, NODE, "ip-10-0-0-2", Role.NODE, state=AgentState.WAITING)
    told = _told(slurm)
    assert told[0].startswith(
        f"gpu: two keys claim to be ip-10-0-0-1 ({CONTROLLER}); compare the fingerprints"
    )
    assert told[1].startswith(f"gpu: a key waits for approval as ip-10-0-0-2 ({NODE})")


def test_where_agents_may_not_be_read_heartbeats_must_do(slurm: HoldsDesk) -> None:
    slurm.desk.now = NOW + timedelta(minutes=10)
    real = slurm.desk.clients.dynamodb()
    real.meta.events.register_first("before-call.dynamodb.Scan", _deny_agents)
    try:
        printed = slurm.desk.run("status", "--json")
        shown = slurm.desk.run("status")
    finally:
        real.meta.events.unregister("before-call.dynamodb.Scan", _deny_agents)
    assert printed.exit == Exit.REFUSED
    assert "dynamodb:Scan" in printed.json["unread"]["enrolled agents"]
    assert any("is silent for 10m" in line for line in printed.json["attention"])
    assert "not read" in shown.out
    assert "so disputed keys are unknown" in " ".join(shown.out.split())


def _deny_agents(params: dict[str, Any], **_: Any) -> Any:
    if b'"agents"' not in params["body"]:
        return None
    body = {"Error": {"Code": "AccessDeniedException", "Message": "not yours"}}
    return type("Answer", (), {"status_code": 400})(), body


def test_a_definition_that_is_refused_until_it_is_mended_or_gone(slurm: HoldsDesk) -> None:
    ssm, name = slurm.desk.clients.ssm(), "/proctor/gpu/budget_holds/odd"
    slurm.allocate("odd", 5000, "lab1")
    ssm.put_parameter(Name=name, Value='{"colour": "red"}', Type="String", Overwrite=True)
    slurm.sweep()
    (line,) = _told(slurm)
    assert line.startswith("gpu: version 2 of the definition of budget odd is refused: colour")
    slurm.allocate("odd", 5000, "lab1")
    assert _told(slurm) == []
    ssm.put_parameter(Name=name, Value='{"colour": "red"}', Type="String", Overwrite=True)
    ssm.delete_parameter(Name=name)
    assert _told(slurm) == []


def test_a_definition_in_force_that_this_version_can_not_read(slurm: HoldsDesk) -> None:
    slurm.define("odd", {"aws_budget": "bill", "colour": "red"})
    slurm.sweep()
    (line,) = _told(slurm)
    assert "definition of budget odd is refused: colour" in line


def _doubt(slurm: HoldsDesk) -> None:
    slurm.allocate("lab1", 5000, "lab1")
    slurm.spend("lab1", 10)
    slurm.sweep()
    memory = DynamoBudgetMemory(slurm.desk.clients, "memory")
    old = memory.get(f"{CLUSTER}#lab1")
    grown = replace(old, trusted=usd(4000), trusted_at=NOW - timedelta(hours=2))
    memory.swap(f"{CLUSTER}#lab1", grown, old.rev)
    slurm.sweep()


def test_a_budget_that_needs_a_person_until_it_is_approved_or_gone(slurm: HoldsDesk) -> None:
    _doubt(slurm)
    (line,) = _told(slurm)
    assert line.startswith("gpu: budget lab1 needs a person (NEEDS_HUMAN): its numbers are in doubt")
    name = "/proctor/gpu/budget_holds/lab1"
    text = slurm.desk.parameter(name)
    slurm.desk.clients.ssm().delete_parameter(Name=name)
    assert _told(slurm) == []
    slurm.desk.clients.ssm().put_parameter(Name=name, Value=text, Type="String")
    assert len(_told(slurm)) == 1
    slurm.allocate("lab1", 5000, "lab1")
    slurm.desk.run("approve", "lab1", "--apply", "--justification", "right")
    assert _told(slurm) == []


def test_numbers_that_can_not_be_read(slurm: HoldsDesk) -> None:
    slurm.define("cluster", {"aws_budget": "nosuch"})
    slurm.sweep()
    (line,) = _told(slurm)
    assert line.startswith("gpu: budget cluster keeps its state, since its numbers can't be used (")


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Outcome.CANNOT_BIND, "gpu: account lab1 is not held as it should be (cannot bind): "),
        (Outcome.LEFT_ALONE, "gpu: account lab1 is not held as it should be (left alone): "),
    ],
)
def test_a_hold_that_does_not_bind_until_it_does(slurm: HoldsDesk, outcome: Outcome, told: str) -> None:
    slurm.allocate("lab1", 5000, "lab1")
    slurm.spend("lab1", 55)
    slurm.sweep()
    slurm.agent_reports(outcome, "QOS lab1 has OverPartQOS")
    slurm.sweep()
    (line,) = _told(slurm)
    assert line.startswith(told)
    moved(slurm, minutes=1)
    slurm.agent_reports()
    slurm.sweep()
    assert _told(slurm) == []


def test_a_hold_that_has_nowhere_to_take_hold(slurm: HoldsDesk) -> None:
    hold = {"level": "partition"}
    slurm.define(
        "gpu-money", {"account": "lab1", "allocation": {"limit": 5000}, "partitions": ["gpu"], "hold": hold}
    )
    slurm.spend("lab1", 55)
    slurm.sweep()
    told = _told(slurm)
    assert told == [
        "gpu: budget gpu-money should hold and has nowhere to; look at: proctor budgets show gpu-money"
    ]


def test_more_than_ten_are_counted(slurm: HoldsDesk) -> None:
    for number in range(13):
        slurm.define(f"odd{number:02}", {"colour": "red"})
    slurm.sweep()
    told = _told(slurm)
    assert len(told) == 11
    assert told[-1] == "and 3 more refused definitions: proctor budgets"


def test_definitions_that_may_not_be_read_hide_nothing_else(slurm: HoldsDesk) -> None:
    _doubt(slurm)
    with Stubber(slurm.desk.clients.sqs()) as stub:
        stub.add_client_error("get_queue_attributes", "AccessDenied", "not yours")
        told = slurm.desk.run("status", "--json")
    assert told.exit == Exit.REFUSED
    assert any("budget lab1 needs a person" in line for line in told.json["attention"])


def test_a_stack_of_sessions_only_needs_no_agent(desk: Desk) -> None:
    assert not any("agent" in line for line in desk.run("status", "--json").json["attention"])
