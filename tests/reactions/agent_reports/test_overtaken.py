"""Reports that come before their enrolment: applied within seconds, or kept until it comes; a flood holds nothing up."""

from dataclasses import dataclass

import pytest

from proctor.domain.agent_protocol import Role
from proctor.runtime.reaction import ATTEMPTS
from tests.fakes.agent_world import AgentWorld, heartbeat
from tests.fakes.agents import NodeAgent, record_of
from tests.fakes.taps import PortCall
from tests.fakes.values import NOW
from tests.reactions.agent_reports.rows import chunk, partition, sent

CONTROLLER, NODE = Role.CONTROLLER, Role.NODE


@dataclass
class EnrolsAt:
    """Another copy takes the enrolment just before the n-th read of an agent."""

    world: AgentWorld
    message: str
    role: Role
    nth: int
    seen: int = 0

    def before(self, call: PortCall) -> None:
        if call.name != "agents.get":
            return
        self.seen += 1
        if self.seen == self.nth:
            self.seen += 1
            assert self.world.deliver(self.message, role=self.role) == []

    def after(self, call: PortCall) -> None:
        return


@pytest.mark.parametrize("role", [CONTROLLER, NODE])
@pytest.mark.parametrize("nth", range(2, ATTEMPTS + 1))
def test_a_report_waits_seconds_for_an_enrolment_that_another_copy_has_in_hand(role: Role, nth: int) -> None:
    world = AgentWorld()
    agent = world.node(role=role)
    enrolment, report = agent.enrolment(), agent.report(heartbeat())
    world.taps.active.append(EnrolsAt(world, enrolment, role, nth))

    assert world.deliver(report, role=role) == []
    assert world.telemetry.counts["ReportApplied"] == 1
    assert world.telemetry.counts["RecordRetried"] == 0
    assert world.waits == list(range(1, nth))


def test_in_one_batch_the_enrolment_comes_first_whatever_their_order() -> None:
    world = AgentWorld()
    agent = world.node()
    enrolment, report = agent.enrolment(), agent.report(heartbeat())

    assert world.deliver(report, enrolment, role=NODE) == []
    assert (world.telemetry.counts["ReportApplied"], world.waits) == (1, [])


def test_an_enrolment_that_does_not_come_leaves_the_report_in_the_queue() -> None:
    world = AgentWorld()
    agent = world.node()
    enrolment, report = agent.enrolment(), agent.report(heartbeat())

    assert world.deliver(report, role=NODE) == ["m-1"]
    assert world.telemetry.counts["RecordRetried"] == 1
    assert world.deliver(enrolment, role=NODE) == []
    assert world.deliver(report, role=NODE) == []
    assert world.telemetry.counts["ReportApplied"] == 1


def test_a_flood_of_reports_of_nobody_holds_a_batch_up_once() -> None:
    world = AgentWorld()
    silent = [world.node(instance_id=f"i-{n:017x}", node=f"ip-10-2-0-{n}") for n in range(9)]
    agent = world.enrolled()
    messages = [one.report(heartbeat()) for one in silent]

    kept = world.deliver(*messages, agent.report(heartbeat()), role=NODE)
    assert kept == [f"m-{n}" for n in range(1, 10)]
    assert world.telemetry.counts["ReportApplied"] == 1
    assert len(world.waits) <= ATTEMPTS


def test_the_snapshot_of_a_controller_that_is_not_listed_yet_is_kept() -> None:
    """It is said again after an hour only: dropped, Slurm would be unknown for so long."""
    world = AgentWorld()
    controller = NodeAgent("i-0c0c0c0c0c0c0c0c0", "ip-10-1-0-1", CONTROLLER)
    messages = [
        controller.enrolment(),
        controller.report(sent(chunk=chunk(0, of=1), partitions=(partition(),))),
        controller.report(heartbeat()),
    ]
    assert world.deliver(*messages, role=CONTROLLER) == ["m-1", "m-2", "m-3"]
    world.nodes.launch(controller.instance_id, controller.node, world.now)
    world.advance(minutes=3)

    assert world.deliver(*messages, role=CONTROLLER) == []
    beat = world.observed.section("heartbeat")[controller.instance_id]
    assert beat["slurm_read_at"] == int(NOW.timestamp())
    assert list(world.observed.section("partitions")) == ["gpu"]


@pytest.mark.parametrize(("role", "minutes"), [(NODE, 0), (CONTROLLER, 10)])
def test_what_no_listed_node_says_is_dropped(role: Role, minutes: int) -> None:
    world = AgentWorld()
    stranger = NodeAgent(role=role)
    report = stranger.report(heartbeat())

    record = record_of(report, role, world.now, "m-1")
    world.advance(minutes=minutes)
    assert world.batch([record]) == []
    assert world.telemetry.counts["ReportDroppedUnknownAgent"] == 1
    assert world.waits == []
