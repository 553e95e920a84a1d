"""What becomes of reports, over the whole path."""

from datetime import timedelta

import pytest

from proctor.domain.agent_protocol import (
    IntentResult,
    Outcome,
    Removed,
    Role,
    Undone,
    UndoneBy,
)
from proctor.domain.errors import TransientError
from tests.fakes.agent_world import AgentWorld, heartbeat
from tests.fakes.taps import FailAt, ProcessDiedError
from tests.fakes.values import NOW
from tests.reactions.agent_reports.rows import job, partition, sent, usage

CONTROLLER, NODE = Role.CONTROLLER, Role.NODE


def test_a_delta_is_stored_with_who_said_it_and_when() -> None:
    world = AgentWorld()
    controller = world.controller()

    assert world.deliver(controller.report(sent(partitions=(partition(),))), role=CONTROLLER) == []

    row = world.observed.section("partitions")["gpu"]
    assert (row["state"], row["total_nodes"], row["qos"]) == ("UP", 3, None)
    assert (row["sender"], row["role"], row["node"]) == ("i-0c0c0c0c0c0c0c0c0", "controller", "ip-10-1-0-1")
    assert row["observed_at"] == int(NOW.timestamp())
    assert world.changes.told == [("alpha", "partitions")]
    assert world.telemetry.counts["ReportApplied"] == 1


def test_a_report_costs_no_claim_and_no_verdict() -> None:
    world = AgentWorld()
    controller = world.controller()
    world.taps.journal.clear()

    world.deliver(controller.report(sent(partitions=(partition(),))), role=CONTROLLER)

    assert world.taps.journal == ["agents.get", "policies.in_force", "observed.apply", "changes.announce"]


def test_a_redelivered_report_changes_nothing() -> None:
    world = AgentWorld()
    controller = world.controller()
    message = controller.report(sent(usage=(usage(3600),)))
    world.deliver(message, role=CONTROLLER)
    before = dict(world.observed.rows)

    assert world.deliver(message, message, role=CONTROLLER) == []

    assert world.observed.rows == before
    assert world.telemetry.counts["ReportDroppedReplayed"] == 2


def test_use_is_absolute_so_that_the_last_word_counts() -> None:
    world = AgentWorld()
    controller = world.controller()
    for seconds in (600, 1800, 3600):
        world.deliver(controller.report(sent(usage=(usage(seconds),))), role=CONTROLLER)

    (row,) = world.observed.section("usage").values()
    assert row["node_seconds"] == 3600
    assert list(world.observed.section("usage")) == ["20260901T10|physics|gpu"]


def test_an_overtaken_report_adds_what_nobody_said_later() -> None:
    world = AgentWorld()
    controller = world.controller()
    first = controller.report(sent(jobs=(job("1", "PENDING"), job("2"))))
    second = controller.report(sent(jobs=(job("1", "RUNNING"),)))

    world.deliver(second, role=CONTROLLER)
    world.deliver(first, role=CONTROLLER)

    assert {key: row["state"] for key, row in world.observed.section("jobs").items()} == {
        "1": "RUNNING",
        "2": "PENDING",
    }


def test_an_overtaken_report_does_not_bring_back_what_is_gone() -> None:
    world = AgentWorld()
    controller = world.controller()
    first = controller.report(sent(jobs=(job("1"),)))
    second = controller.report(sent(removed=(Removed("jobs", "1"),)))

    world.deliver(second, role=CONTROLLER)
    world.deliver(first, role=CONTROLLER)

    assert world.observed.section("jobs") == {}


def test_a_batch_is_taken_in_the_order_of_its_messages() -> None:
    world = AgentWorld()
    controller = world.controller()
    messages = [
        controller.report(sent(jobs=(job("1", state),))) for state in ("PENDING", "RUNNING", "COMPLETING")
    ]

    world.deliver(*reversed(messages), role=CONTROLLER)

    assert world.observed.section("jobs")["1"]["state"] == "COMPLETING"
    assert world.telemetry.counts["ReportApplied"] == 3


def test_a_message_far_behind_is_dropped() -> None:
    world = AgentWorld()
    controller = world.controller()
    old = controller.report(sent(jobs=(job("1"),)))
    controller.sequence += 70
    world.deliver(controller.report(heartbeat()), role=CONTROLLER)
    world.deliver(old, role=CONTROLLER)

    assert world.observed.section("jobs") == {}
    assert world.telemetry.counts["ReportDroppedTooOld"] == 1


def test_messages_of_an_earlier_start_are_dropped() -> None:
    world = AgentWorld()
    controller = world.controller()
    old = controller.report(sent(jobs=(job("1"),)))
    controller.restart()
    world.deliver(controller.report(heartbeat()), role=CONTROLLER)
    world.deliver(old, role=CONTROLLER)

    assert world.observed.section("jobs") == {}
    assert world.telemetry.counts["ReportDroppedTooOld"] == 1


# Times


def test_a_heartbeat_tells_when_the_agent_was_last_heard() -> None:
    world = AgentWorld()
    agent = world.enrolled()
    world.advance(seconds=60)
    world.deliver(agent.report(heartbeat(world.now)), role=NODE)

    assert world.record(agent).last_seen_at == world.now
    assert list(world.observed.section("heartbeat#nodes")) == [agent.instance_id]


@pytest.mark.parametrize(("minutes", "expected"), [(30, 0), (-30, -30)])
def test_neither_a_fast_clock_nor_a_late_delivery_looks_fresh(minutes: int, expected: int) -> None:
    world = AgentWorld()
    agent = world.enrolled()
    at = NOW + timedelta(minutes=minutes)
    world.deliver(agent.report(heartbeat(at)), role=NODE)

    (row,) = world.observed.section("heartbeat#nodes").values()
    assert row["observed_at"] == int((NOW + timedelta(minutes=expected)).timestamp())


# Changes


def test_changes_are_told_once_in_ten_seconds_and_none_is_lost() -> None:
    world = AgentWorld()
    controller = world.controller()
    for n in range(5):
        world.deliver(controller.report(sent(jobs=(job(str(n)),))), role=CONTROLLER)
        world.advance(seconds=1)
    assert world.changes.told == [("alpha", "jobs")]

    world.advance(seconds=10)
    world.sweep()
    world.sweep()
    assert world.changes.told == [("alpha", "jobs"), ("alpha", "jobs")]


def test_a_heartbeat_is_no_change() -> None:
    world = AgentWorld()
    agent = world.enrolled()
    world.deliver(agent.report(heartbeat()), role=NODE)
    assert world.changes.told == []


# Results and undone holds


def test_a_result_is_stored_and_wakes_its_function() -> None:
    world = AgentWorld()
    controller = world.controller()
    result = IntentResult("partition#gpu", 3, Outcome.APPLIED, "", "State", {"State": "UP"}, NOW)
    world.deliver(controller.report(sent(results=(result,))), role=CONTROLLER)

    row = world.observed.section("results")["partition#gpu"]
    assert (row["rev"], row["outcome"], row["previous"]) == (3, "applied", {"State": "UP"})
    assert ("alpha", "results") in world.changes.told


def undone(by: UndoneBy = UndoneBy.RECONFIGURE) -> Undone:
    return Undone("partition#gpu", "UP", by, NOW, NOW + timedelta(seconds=4))


def test_operators_are_told_of_an_undone_hold_once() -> None:
    world = AgentWorld()
    controller = world.controller()
    message = controller.report(sent(undone=(undone(),)))
    world.deliver(message, role=CONTROLLER)
    world.deliver(message, role=CONTROLLER)

    (notice,) = world.operators.published
    assert "partition#gpu was seen as UP at 10:00:00 UTC: slurmctld was reconfigured" in notice.text
    assert "held again at 10:00:04 UTC" in notice.text
    assert len(world.observed.section("undone")) == 1


def test_a_crash_between_rows_and_message_loses_neither() -> None:
    world = AgentWorld()
    controller = world.controller()
    message = controller.report(sent(undone=(undone(UndoneBy.UPDATE),)))
    world.taps.active.append(FailAt(ProcessDiedError, "claims.put"))
    with pytest.raises(ProcessDiedError):
        world.deliver(message, role=CONTROLLER)
    assert world.operators.published == []

    world.deliver(message, role=CONTROLLER)
    assert len(world.operators.published) == 1


# Faults and races


def test_a_report_that_could_not_be_written_stays_in_the_queue_and_is_whole_later() -> None:
    world = AgentWorld()
    controller = world.controller()
    message = controller.report(sent(partitions=(partition(),)))
    world.taps.active.append(FailAt(lambda: TransientError("dynamodb is away"), "observed.apply"))

    assert world.deliver(message, role=CONTROLLER) == ["m-1"]
    assert world.deliver(message, role=CONTROLLER) == []
    assert list(world.observed.section("partitions")) == ["gpu"]


def test_one_bad_report_of_three_leaves_the_others() -> None:
    world = AgentWorld()
    controller = world.controller()
    messages = [controller.report(sent(jobs=(job(str(n)),))) for n in range(3)]
    world.taps.active.append(FailAt(lambda: TransientError("away"), "observed.apply", nth=2))

    assert world.deliver(*messages, role=CONTROLLER) == ["m-2"]
    assert sorted(world.observed.section("jobs")) == ["0", "2"]
    world.deliver(messages[1], role=CONTROLLER)
    assert sorted(world.observed.section("jobs")) == ["0", "1", "2"]


def test_two_messages_of_one_agent_at_once_are_both_applied() -> None:
    world = AgentWorld()
    controller = world.controller()
    first = controller.report(sent(jobs=(job("1", "PENDING"),)))
    second = controller.report(sent(jobs=(job("1", "RUNNING"), job("2"))))

    class Other:
        """Another evaluator takes the second message just before the first is written."""

        done = False

        def before(self, call: object) -> None:
            if getattr(call, "name", "") == "observed.apply" and not self.done:
                self.done = True
                world.deliver(second, role=CONTROLLER, wiring=world.wiring())

        def after(self, call: object) -> None:
            return

    world.taps.active.append(Other())
    assert world.deliver(first, role=CONTROLLER) == []

    assert world.telemetry.counts["ReportApplied"] == 2
    assert world.observed.section("jobs")["1"]["state"] == "RUNNING"
