"""Snapshots in parts: what they take away, and what rules may believe until they are whole."""

import pytest

from proctor.domain.agent_protocol import Report, Role
from tests.fakes.agent_world import AgentWorld, heartbeat
from tests.fakes.values import NOW
from tests.reactions.agent_reports.rows import chunk, job, partition, sent, usage

CONTROLLER = Role.CONTROLLER


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_rows_that_a_whole_snapshot_does_not_name_are_gone(order: tuple[int, ...]) -> None:
    world = AgentWorld()
    controller = world.controller()
    world.deliver(controller.report(sent(jobs=(job("old"),), usage=(usage(60),))), role=CONTROLLER)
    parts = [
        controller.report(sent(chunk=chunk(0), partitions=(partition(),))),
        controller.report(sent(chunk=chunk(1), jobs=(job("1"),))),
        controller.report(sent(chunk=chunk(2, of=3), jobs=(job("2"),))),
    ]

    for n in order[:-1]:
        world.deliver(parts[n], role=CONTROLLER)
        assert "old" in world.observed.section("jobs")
    world.deliver(parts[order[-1]], role=CONTROLLER)

    assert sorted(world.observed.section("jobs")) == ["1", "2"]
    assert len(world.observed.section("usage")) == 1


def test_a_snapshot_with_a_part_missing_takes_nothing_away() -> None:
    world = AgentWorld()
    controller = world.controller()
    world.deliver(controller.report(sent(jobs=(job("old"),))), role=CONTROLLER)
    world.deliver(controller.report(sent(chunk=chunk(0))), role=CONTROLLER)
    controller.report(sent(chunk=chunk(1), jobs=(job("lost"),)))
    world.deliver(controller.report(sent(chunk=chunk(2, of=3))), role=CONTROLLER)

    assert "old" in world.observed.section("jobs")

    world.deliver(controller.report(sent(chunk=chunk(0, of=1, name="20260901T110000Z"))), role=CONTROLLER)
    assert world.observed.section("jobs") == {}


def test_what_was_said_between_the_parts_of_a_snapshot_stays() -> None:
    world = AgentWorld()
    controller = world.controller()
    world.deliver(controller.report(sent(chunk=chunk(0))), role=CONTROLLER)
    world.deliver(controller.report(sent(partitions=(partition("new"),))), role=CONTROLLER)
    world.deliver(controller.report(sent(chunk=chunk(1, of=2))), role=CONTROLLER)

    assert list(world.observed.section("partitions")) == ["new"]


def test_rows_of_a_former_controller_go_with_the_new_ones_snapshot() -> None:
    world = AgentWorld()
    former = world.controller(
        instance_id="i-0aaaaaaaaaaaaaaa1", node="ip-10-1-0-2", boot_id="1788999999999-0a0b0c0d"
    )
    world.deliver(former.report(sent(jobs=(job("old"), job("same")))), role=CONTROLLER)
    world.advance(minutes=5)
    controller = world.controller()
    whole = Report(sent_at=world.now, chunk=chunk(0, of=1), jobs=(job("same", "RUNNING"),))
    world.deliver(controller.report(whole), role=CONTROLLER)

    assert {key: row["state"] for key, row in world.observed.section("jobs").items()} == {"same": "RUNNING"}


def test_a_heartbeat_says_that_slurm_was_read_only_when_a_whole_snapshot_is_stored() -> None:
    world = AgentWorld()
    controller = world.controller()
    world.deliver(controller.report(heartbeat()), role=CONTROLLER)
    assert world.observed.section("heartbeat")[controller.instance_id]["slurm_read_at"] is None

    world.deliver(controller.report(sent(chunk=chunk(0, of=1))), role=CONTROLLER)
    world.deliver(controller.report(heartbeat()), role=CONTROLLER)
    assert world.observed.section("heartbeat")[controller.instance_id]["slurm_read_at"] == int(
        NOW.timestamp()
    )

    controller.restart()
    world.deliver(controller.report(heartbeat()), role=CONTROLLER)
    assert world.observed.section("heartbeat")[controller.instance_id]["slurm_read_at"] is None
