"""Nodes' agents: the agents' own protocol code, sent into the queue of its role under the role of its instance group."""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from proctor.domain.agent_protocol import (
    Chunk,
    Heartbeat,
    ObservedAssociation,
    ObservedNode,
    ObservedPartition,
    Report,
    Role,
)
from proctor_local.aws_client import AwsClient, assume_role
from proctor_local.control import wait_until
from proctor_local.deployed import DeployedStack
from tests.e2e import directory
from tests.fakes.agents import NodeAgent

VERBS = ("LimitAccount", "SetPartitionState", "LimitPartitionQos", "ReserveNodes", "DrainNode")
DEPARTMENT, MEMBER = "lab", "owner011"
QUEUES = {Role.CONTROLLER: "ControllerReportsQueueUrl", Role.NODE: "NodeReportsQueueUrl"}


@dataclass
class Agents:
    """The agents of one stack. `role_arns`: the IAM role of the controller's instance group, and of all others."""

    stack: DeployedStack
    role_arns: Mapping[Role, str]
    clusters: Mapping[str, Mapping[str, Any]]
    controller: NodeAgent = field(init=False)
    silent: NodeAgent = field(init=False)
    silent_since: datetime = field(init=False)
    _clients: dict[Role, AwsClient] = field(default_factory=dict)
    _workers: Iterator[Mapping[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        """Nobody has spoken yet."""
        nodes = self.clusters[directory.ALPHA]["nodes"]
        self._workers = (n for n in nodes if n["instance_group_name"] == "worker")
        (controller,) = (n for n in nodes if n["instance_group_name"] == "controller")
        self.controller = _agent(controller, directory.ALPHA, Role.CONTROLLER)
        self.silent = _agent(self.clusters[directory.GAMMA]["nodes"][0], directory.GAMMA, Role.CONTROLLER)

    def begin(self) -> None:
        """The controllers of two clusters enrol; one tells what its Slurm looks like, the other says nothing more."""
        for agent in (self.controller, self.silent):
            self.send(agent, agent.enrolment(now()))
            wait_until(partial(self.enrolled, agent), 20, what=f"the enrolment of {agent.node}")
        self.silent_since = now()
        snapshot = Report(
            sent_at=now(),
            chunk=Chunk(f"{now():%Y%m%dT%H%M%SZ}", 0, 1),
            partitions=(ObservedPartition("dev", "UP", "ip-10-1-0-[4-9]", 6, None, is_default=True),),
            nodes=tuple(ObservedNode(f"ip-10-1-0-{n}", "idle", "", "", "", None) for n in range(4, 10)),
            associations=tuple(_association(name) for name in ("", MEMBER)),
        )
        self.send(self.controller, self.controller.report(snapshot))
        wait_until(lambda: self.observed("partitions", "dev"), 20, what="the controller's first report")
        self.beat()

    def new(self) -> NodeAgent:
        """The agent of a node of ALPHA that has not spoken yet."""
        return _agent(next(self._workers), directory.ALPHA, Role.NODE)

    def send(self, agent: NodeAgent, message: str) -> None:
        """Put a message into the queue of the agent's role, under that role's credentials."""
        if agent.role not in self._clients:
            local = self.stack.local
            self._clients[agent.role] = local.aws(
                assume_role(local.aws(), self.role_arns[agent.role], agent.instance_id)
            )
        url = self.stack.outputs[QUEUES[agent.role]]
        self._clients[agent.role].call("sqs", "SendMessage", QueueUrl=url, MessageBody=message)

    def tell(self, **sections: Any) -> None:
        """The controller's agent reports changes: sections as `Report` names them."""
        self.send(self.controller, self.controller.report(Report(sent_at=now(), **sections)))

    def beat(self) -> None:
        """The controller's agent is alive and reads Slurm."""
        self.send(self.controller, self.controller.report(heartbeat()))

    def observed(self, section: str, key: str) -> dict[str, Any]:
        """A row of what is known of ALPHA; empty when there is none."""
        scope = f"{directory.ALPHA}#{section}"
        rows = (r for r in self.stack.rows("Observed") if (r["scope"], r["key"]) == (scope, key))
        return next(rows, {})

    def enrolled(self, agent: NodeAgent) -> dict[str, Any]:
        """The row of an agent; empty when there is none."""
        wanted = f"{agent.cluster}#{agent.instance_id}"
        return next((r for r in self.stack.rows("Agents") if r["agent"] == wanted), {})


def now() -> datetime:
    """The present second."""
    return datetime.now(UTC).replace(microsecond=0)


def heartbeat(version: str = "0.1.0") -> Report:
    """What an agent says once a minute."""
    beat = Heartbeat(
        agent_version=version,
        python_version="3.10.12",
        slurm_version="24.11.5",
        verbs=VERBS,
        is_acting=True,
        is_dry_run=False,
        started_at=now(),
        intents_read_at=now(),
        slurm_read_at=now(),
        spooled_reports=0,
        dropped_reports=0,
    )
    return Report(sent_at=now(), heartbeat=beat)


def impostor(agent: NodeAgent) -> NodeAgent:
    """Somebody on the agent's node who made a key of their own."""
    return _keyed(agent.instance_id, agent.node, agent.cluster, agent.role)


def _agent(node: Mapping[str, Any], cluster: str, role: Role) -> NodeAgent:
    host = "ip-" + str(node["private_ip"]).replace(".", "-")
    return _keyed(str(node["instance_id"]), host, cluster, role)


def _keyed(instance_id: str, host: str, cluster: str, role: Role) -> NodeAgent:
    boot_id = f"{int(now().timestamp() * 1000)}-{secrets.token_hex(4)}"
    return NodeAgent(instance_id, host, role, cluster, secrets.token_bytes(32), boot_id)


def _association(login_name: str) -> ObservedAssociation:
    parent = DEPARTMENT if login_name else "root"
    return ObservedAssociation(DEPARTMENT, login_name, "", parent, None, None, "", ("normal",))
