"""`proctor agents`: who reports, in which role and version, and with which problems."""

from datetime import timedelta
from typing import Any

from botocore.stub import Stubber

from proctor.adapters.agents_table import DynamoAgents
from proctor.domain.agent_protocol import Role
from proctor.domain.agents import AgentRecord, AgentState
from proctor_cli.exits import Exit
from tests.unit.cli import golden
from tests.unit.cli.desk import CLUSTER, NOW
from tests.unit.cli.holds_desk import CONTROLLER, HoldsDesk

KEY = bytes(range(32))
NODE = "i-0aaaaaaaaaaaaaaaa"


def _enrol(slurm: HoldsDesk, instance_id: str, node: str, role: Role, **fields: Any) -> None:
    values: dict[str, Any] = {
        "state": AgentState.ENROLLED,
        "enrolled_at": NOW - timedelta(days=3),
        "last_seen_at": NOW - timedelta(seconds=20),
    }
    record = AgentRecord(
        cluster=CLUSTER, instance_id=instance_id, node=node, role=role, key=KEY, **{**values, **fields}
    )
    DynamoAgents(slurm.desk.clients, "agents").enrol(record)


def _fleet(slurm: HoldsDesk) -> None:
    _enrol(slurm, CONTROLLER, "ip-10-0-0-1", Role.CONTROLLER, state=AgentState.DISPUTED, contender=KEY[::-1])
    _enrol(slurm, NODE, "ip-10-0-0-2", Role.NODE, last_seen_at=NOW - timedelta(minutes=10))
    slurm.beat(NOW, problems=("slurm: scontrol gave no answer",))
    _enrol(slurm, "i-0bbbbbbbbbbbbbbbb", "ip-10-0-0-3", Role.NODE, state=AgentState.GONE)


def _rows(slurm: HoldsDesk, *argv: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = slurm.desk.run("agents", "--json", *argv).json["agents"]
    return rows


def test_the_table_is_as_in_the_golden_file(slurm: HoldsDesk) -> None:
    _fleet(slurm)
    printed = slurm.desk.run("agents")
    assert (printed.exit, printed.err) == (0, "")
    assert printed.out == golden.read("agents.txt")


def test_role_version_last_report_and_problems(slurm: HoldsDesk) -> None:
    _fleet(slurm)
    controller, silent, gone = _rows(slurm)
    assert (controller["role"], controller["version"], controller["is_acting"]) == (
        "controller",
        "1.0.0",
        True,
    )
    assert controller["problems"] == ["another key claims to be this agent", "slurm: scontrol gave no answer"]
    assert (silent["role"], silent["age_seconds"], silent["version"]) == ("node", 600, None)
    assert silent["problems"] == ["silent for 10m", "no heartbeat yet"]
    assert (gone["state"], gone["problems"]) == ("gone", [])
    assert [row["node"] for row in _rows(slurm, "--problems")] == ["ip-10-0-0-1", "ip-10-0-0-2"]


def test_keys_are_never_shown(slurm: HoldsDesk) -> None:
    _fleet(slurm)
    out = slurm.desk.run("agents", "--json").out + slurm.desk.run("agents").out
    assert KEY.hex() not in out
    assert KEY[::-1].hex() not in out


def test_nodes_report_under_their_own_scope(slurm: HoldsDesk) -> None:
    from proctor.adapters.items import from_item, to_item  # noqa: PLC0415 - only here

    dynamodb = slurm.desk.clients.dynamodb()
    key = {"scope": {"S": "gpu#heartbeat"}, "key": {"S": CONTROLLER}}
    row = from_item(dynamodb.get_item(TableName="observed", Key=key)["Item"])
    node = {**row, "scope": "gpu#heartbeat#nodes", "key": NODE, "node": "ip-10-0-0-2", "role": "node"}
    dynamodb.put_item(TableName="observed", Item=to_item({**node, "agent_version": "0.9.0"}))
    dynamodb.put_item(TableName="observed", Item=to_item({**node, "key": "i-0cccccccc", "verbs": "all"}))
    rows = {row["instance_id"]: row for row in _rows(slurm)}
    assert (rows[NODE]["role"], rows[NODE]["version"]) == ("node", "0.9.0")
    assert rows["i-0cccccccc"]["problems"] == ["its heartbeat can't be read by this version"]


def test_without_the_right_to_read_agents_heartbeats_are_shown(slurm: HoldsDesk) -> None:
    with Stubber(slurm.desk.clients.dynamodb()) as stub:
        stub.add_client_error("scan", "AccessDeniedException", "not yours")
        stub.add_response("query", {"Items": []})
        stub.add_response("query", {"Items": []})
        printed = slurm.desk.run("agents", "--cluster", "gpu")
    assert printed.exit == Exit.REFUSED
    assert "Enrolled agents were not read, only heartbeats are shown: dynamodb:Scan" in printed.out


def test_no_agent_and_no_problem(slurm: HoldsDesk) -> None:
    assert "No agent has enrolled" in slurm.desk.run("agents", "--cluster", "cpu").out
    assert slurm.desk.run("agents", "--problems").out == "None of 1 agents has a problem.\n"
