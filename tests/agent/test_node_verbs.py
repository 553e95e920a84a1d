"""DrainNode, ResumeNode and ReserveNodes on a real Slurm; whose word wins."""

import pytest

from proctor.domain.agent_protocol import DrainNode, LimitAccount, Outcome, ReserveNodes, ResumeNode
from proctor_slurm import SlurmStack
from tests.agent.agent_process import INSTANCE_ID, seconds_until
from tests.agent.hold_desk import HoldDesk

pytestmark = pytest.mark.slurm

NODE = "ip-10-2-0-1"
DRAIN = DrainNode(NODE, INSTANCE_ID, "proctor: xid 79 on gpu 3")


def node_of(stack: SlurmStack, node: str = NODE) -> tuple[str, str]:
    words = stack.run("sinfo", "-h", "-n", node, "-p", "dev", "-o", "%T|%E").strip()
    state, _, reason = words.partition("|")
    return state.rstrip("*"), reason


def set_node(stack: SlurmStack, *words: str) -> None:
    stack.run("scontrol", "update", f"NodeName={NODE}", *words)


def test_drain_and_undo(stack: SlurmStack, desk: HoldDesk) -> None:
    job = stack.jobs.submit(partition="vision", account="lab1", login_name="games", nodes=2)
    stack.jobs.wait_for(job, "RUNNING")
    assert desk.hold(DRAIN).outcome is Outcome.APPLIED
    assert node_of(stack) == ("draining", "proctor: xid 79 on gpu 3")
    assert stack.jobs.look(job).state == "RUNNING"
    stack.jobs.cancel(job)
    seconds_until(lambda: node_of(stack)[0] == "drained", 20, "drained once the job has ended")
    assert desk.release(DRAIN).outcome is Outcome.RELEASED
    seconds_until(lambda: node_of(stack)[0] == "idle", 10, "idle again")


def test_resume_is_a_verb_of_its_own(stack: SlurmStack, desk: HoldDesk) -> None:
    desk.hold(DRAIN)
    assert desk.hold(ResumeNode(NODE, INSTANCE_ID), rev=2).outcome is Outcome.RELEASED
    seconds_until(lambda: node_of(stack)[0] == "idle", 10, "idle again")


def test_an_administrators_drain_is_never_overwritten_nor_cleared(stack: SlurmStack, desk: HoldDesk) -> None:
    set_node(stack, "State=DRAIN", "Reason=bad cable, Ana")
    result = desk.hold(DRAIN)
    assert (result.outcome, result.detail) == (Outcome.LEFT_ALONE, "drained: bad cable, Ana")
    assert desk.release(DRAIN).outcome is Outcome.LEFT_ALONE
    assert desk.hold(ResumeNode(NODE, INSTANCE_ID), rev=3).outcome is Outcome.LEFT_ALONE
    assert (node_of(stack), desk.writes) == (("drained", "bad cable, Ana"), [])


@pytest.mark.parametrize("command", ["Action:Reboot", "Action:Replace"])
def test_hyperpods_commands_are_never_touched(stack: SlurmStack, desk: HoldDesk, command: str) -> None:
    desk.hold(DRAIN)
    set_node(stack, "State=FAIL", f"Reason={command}")
    assert desk.hold(DRAIN).outcome is Outcome.LEFT_ALONE
    assert desk.release(DRAIN).outcome is Outcome.LEFT_ALONE
    assert (
        desk.hold(ResumeNode(NODE, INSTANCE_ID, may_clear_rebooted=True), rev=3).outcome is Outcome.LEFT_ALONE
    )
    assert node_of(stack)[1] == command


def test_a_drain_that_a_person_resumed_stays_resumed_until_a_new_observation(
    stack: SlurmStack, desk: HoldDesk
) -> None:
    desk.hold(DRAIN)
    set_node(stack, "State=RESUME")
    seconds_until(lambda: node_of(stack)[0] == "idle", 10, "resumed")
    assert desk.hold(DRAIN).outcome is Outcome.UNDONE_BY_PERSON
    assert desk.hold(DRAIN).outcome is Outcome.UNDONE_BY_PERSON
    assert node_of(stack)[0] == "idle"
    assert desk.hold(DRAIN, rev=2).outcome is Outcome.APPLIED
    assert node_of(stack)[0] == "drained"


def test_resume_right_after_a_restart_comes_through(stack: SlurmStack, desk: HoldDesk) -> None:
    desk.hold(DRAIN)
    stack.end("slurmctld")
    stack.start_slurmctld()
    assert node_of(stack) == ("drained", "proctor: xid 79 on gpu 3")

    def is_released() -> bool:
        result = desk.release(DRAIN)
        # Nodes that have not registered yet refuse RESUME: that is "again", not "failed".
        assert result.outcome in {Outcome.RELEASED, Outcome.UNCONFIRMED}, result.detail
        return result.outcome is Outcome.RELEASED

    seconds_until(is_released, 20, "released after the restart")
    seconds_until(lambda: node_of(stack)[0] == "idle", 20, "idle again")


def test_a_rebooted_node_is_resumed_only_when_that_is_allowed(stack: SlurmStack, desk: HoldDesk) -> None:
    set_node(stack, "State=DOWN", "Reason=Node unexpectedly rebooted")
    assert desk.hold(ResumeNode(NODE, INSTANCE_ID)).outcome is Outcome.LEFT_ALONE
    allowed = ResumeNode(NODE, INSTANCE_ID, may_clear_rebooted=True)
    assert desk.hold(allowed, rev=2).outcome is Outcome.RELEASED
    seconds_until(lambda: node_of(stack)[0] == "idle", 20, "idle again")


def test_unknown_nodes_are_refused(desk: HoldDesk) -> None:
    unknown = DrainNode("ip-10-9-9-9", INSTANCE_ID, "proctor: test")
    assert desk.hold(unknown).outcome is Outcome.REFUSED
    assert desk.hold(ReserveNodes("proctor-x", nodes=("ip-10-9-9-9",))).outcome is Outcome.REFUSED
    assert desk.hold(ReserveNodes("proctor-x", partition="no-such")).outcome is Outcome.REFUSED
    assert desk.writes == []


def test_a_reservation_closes_dev_and_follows_its_partition(stack: SlurmStack, desk: HoldDesk) -> None:
    running = stack.jobs.submit(partition="nlp", account="lab1", login_name="games")
    stack.jobs.wait_for(running, "RUNNING")
    verb = ReserveNodes("proctor-budget-1", partition="nlp")
    assert desk.hold(verb).outcome is Outcome.APPLIED
    held = stack.jobs.submit(partition="dev", account="lab2", login_name="news", nodes=3)
    free = stack.jobs.submit(partition="dev", account="lab2", login_name="news", nodes=2)
    stack.jobs.wait_for(free, "RUNNING")
    assert stack.jobs.look(held).state == "PENDING"
    assert stack.jobs.look(running).state == "RUNNING"

    stack.run("scontrol", "update", "ReservationName=proctor-budget-1", "Nodes=ip-10-1-0-1")
    assert desk.hold(verb).outcome is Outcome.APPLIED
    line = stack.run("scontrol", "-o", "show", "reservation", "proctor-budget-1")
    assert "Nodes=ip-10-1-0-[1-2] " in line

    stack.jobs.cancel(free)
    assert desk.release(verb).outcome is Outcome.RELEASED
    assert "No reservations" in stack.run("scontrol", "show", "reservation")
    stack.jobs.cancel(running)
    stack.jobs.wait_for(held, "RUNNING")


def test_a_deleted_reservation_comes_back(stack: SlurmStack, desk: HoldDesk) -> None:
    verb = ReserveNodes("proctor-budget-2", nodes=("ip-10-1-0-1",))
    desk.hold(verb)
    stack.run("scontrol", "delete", "ReservationName=proctor-budget-2")
    assert desk.pass_over(verb).undone == [("reservation#proctor-budget-2", "no reservation")]
    assert "proctor-budget-2" in stack.run("scontrol", "show", "reservation")


def test_one_failing_intent_does_not_stop_the_others(stack: SlurmStack, desk: HoldDesk) -> None:
    assert desk.hold(LimitAccount("nobody")).outcome is Outcome.REFUSED
    assert desk.hold(DRAIN).outcome is Outcome.APPLIED
    assert node_of(stack)[0] == "drained"
