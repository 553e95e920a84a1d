"""The samples in events/agent_reports: one story of a controller and a node, told by the agents' own code."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from proctor.domain.agent_protocol import (
    IntentResult,
    ObservedAssociation,
    ObservedJob,
    ObservedLimits,
    ObservedPartition,
    ObservedUsage,
    Outcome,
    Report,
    Role,
    Undone,
    UndoneBy,
)
from proctor_agent.tracker import Packer
from tests.fakes.agent_world import heartbeat
from tests.fakes.agents import NodeAgent, record_of
from tests.fakes.values import NOW

CONTROLLER_KEY = bytes.fromhex("0123456789abcdef" * 4)
NODE_KEY = bytes.fromhex("fedcba9876543210" * 4)


class _Clock:
    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0

    def jitter(self, seconds: float) -> float:
        return seconds

    def sleep(self, seconds: float) -> None:
        return


def partition(name: str, state: str = "UP", *, is_default: bool = False) -> ObservedPartition:
    return ObservedPartition(name, state, "ip-10-1-0-[7-8]", 2, None, is_default)


def job(job_id: str, state: str, reason: str = "None") -> ObservedJob:
    started = NOW - timedelta(minutes=5) if state == "RUNNING" else None
    nodes = "ip-10-1-0-7" if state == "RUNNING" else ""
    return ObservedJob(
        job_id,
        state,
        reason,
        "gpu",
        "physics",
        "ada",
        "normal",
        1,
        "gpu:8",
        nodes,
        NOW - timedelta(minutes=9),
        started,
        120,
    )


def samples() -> dict[str, dict[str, Any]]:
    """Name → event, in the order of the story."""
    controller = NodeAgent("i-0c0c0c0c0c0c0c0c0", "ip-10-1-0-1", Role.CONTROLLER, key=CONTROLLER_KEY)
    node = NodeAgent(key=NODE_KEY, boot_id="1788256805000-1a1b1c1d")
    thief = NodeAgent(key=b"\x13" * 32, boot_id="1788256806000-2a2b2c2d")
    found: dict[str, dict[str, Any]] = {}

    def tell(name: str, agent: NodeAgent, message: str) -> None:
        found[name] = {
            "Records": [record_of(message, agent.role, NOW, f"00000000-0000-4000-8000-{len(found):012d}")]
        }

    tell("controller_enrolment", controller, controller.enrolment())
    for n, body in enumerate(_snapshot()):
        tell(f"controller_snapshot_{n}", controller, controller.raw_report(body))
    tell("controller_heartbeat", controller, controller.report(heartbeat()))
    tell("controller_delta", controller, controller.raw_report(_packed(_delta)))
    use = ObservedUsage("physics", "gpu", NOW - timedelta(hours=1), 7200, 57_600, 2)
    tell(
        "controller_usage",
        controller,
        controller.raw_report(_packed(lambda packer: packer.add("usage", use))),
    )
    tell("controller_results", controller, controller.report(_results()))
    tell("node_enrolment", node, node.enrolment())
    tell("node_heartbeat", node, node.report(heartbeat()))
    tell("node_forged", node, thief.report(heartbeat()))
    tell("node_second_enrolment", node, thief.enrolment())
    found["node_replayed"] = {"Records": found["node_heartbeat"]["Records"]}
    found["sqs_batch"] = {
        "Records": [
            *found["controller_delta"]["Records"],
            {**found["node_heartbeat"]["Records"][0], "body": "{"},
            *found["node_heartbeat"]["Records"],
        ]
    }
    return found


def as_text(event: dict[str, Any]) -> str:
    """As it stands in its file."""
    return json.dumps(event, indent=2, ensure_ascii=False) + "\n"


def _packed(fill: Callable[[Packer], None], snapshot: str = "") -> str:
    bodies: list[str] = []
    packer = Packer(_Clock(), bodies.append, snapshot)
    fill(packer)
    packer.close()
    (body,) = bodies
    return body


def _snapshot() -> list[str]:
    """Two parts; the agent parts them at 140 KB, which a sample need not have."""
    bodies: list[str] = []
    packer = Packer(_Clock(), bodies.append, "20260901T100000Z")
    packer.add("partitions", partition("dev", is_default=True))
    packer.add("partitions", partition("gpu"))
    enforce = ("associations", "limits", "qos")
    packer.add("limits", ObservedLimits(True, enforce, "accounting_storage/slurmdbd", "24.11.5", "alpha"))
    packer._flush(is_last=False)
    packer.add("associations", ObservedAssociation("physics", "", "", "root", None, None, "", ("normal",)))
    packer.add(
        "associations", ObservedAssociation("physics", "ada", "", "physics", None, None, "", ("normal",))
    )
    packer.add("jobs", job("4711", "RUNNING"))
    packer.add("jobs", job("4712", "PENDING", "Priority"))
    packer.close()
    return bodies


def _delta(packer: Packer) -> None:
    packer.add("partitions", partition("gpu", "DOWN"))
    packer.add("jobs", job("4712", "PENDING", "PartitionDown"))
    packer.remove("jobs", "4711")


def _results() -> Report:
    result = IntentResult("partition#gpu", 1, Outcome.APPLIED, "", "State", {"State": "UP"}, NOW)
    lost = Undone("partition#gpu", "UP", UndoneBy.RECONFIGURE, NOW, NOW + timedelta(seconds=3))
    return Report(sent_at=NOW, results=(result,), undone=(lost,))
