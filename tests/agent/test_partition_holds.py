"""SetPartitionState on a real Slurm: each state against running, pending and new jobs; what stays open; who wins."""

from datetime import timedelta
from pathlib import Path

import pytest

from proctor.domain.agent_protocol import (
    LimitAccount,
    Outcome,
    PartitionState,
    ReserveNodes,
    SetPartitionState,
)
from proctor_slurm import SlurmStack
from tests.agent.agent_process import seconds_until
from tests.agent.hold_desk import HoldDesk

pytestmark = pytest.mark.slurm


def state_of(stack: SlurmStack, partition: str) -> str:
    line = stack.run("scontrol", "-o", "show", "partition", partition)
    return line.partition(" State=")[2].split()[0]


@pytest.mark.parametrize(
    ("state", "does_pending_start", "is_new_refused"),
    [
        (PartitionState.DOWN, False, False),
        (PartitionState.DRAIN, True, True),
        (PartitionState.INACTIVE, False, True),
    ],
)
def test_each_state_does_what_slurm_says(
    stack: SlurmStack, desk: HoldDesk, state: PartitionState, does_pending_start: bool, is_new_refused: bool
) -> None:
    verb = SetPartitionState("vision", state)
    running = stack.jobs.submit(partition="vision", account="lab2", login_name="news", nodes=2)
    stack.jobs.wait_for(running, "RUNNING")
    pending = stack.jobs.submit(partition="vision", account="lab2", login_name="news")
    result = desk.hold(verb)
    assert (result.outcome, result.field, result.previous) == (Outcome.APPLIED, "State", {"State": "UP"})
    assert state_of(stack, "vision") == state.value

    refusal = stack.jobs.submit_refusal(partition="vision", account="lab2", login_name="news")
    assert bool(refusal) is is_new_refused
    assert stack.jobs.look(running).state == "RUNNING"
    stack.jobs.cancel(running)
    if does_pending_start:
        stack.jobs.wait_for(pending, "RUNNING")
    else:
        wanted = {"DOWN": "PartitionDown", "INACTIVE": "PartitionInactive"}[state.value]
        stack.jobs.wait_for_reason(pending, wanted)

    assert desk.release(verb).outcome is Outcome.RELEASED
    assert state_of(stack, "vision") == "UP"
    stack.jobs.wait_for(pending, "RUNNING")


def test_release_restores_what_was_there(stack: SlurmStack, desk: HoldDesk) -> None:
    stack.run("scontrol", "update", "PartitionName=vision", "State=DRAIN")
    verb = SetPartitionState("vision", PartitionState.DOWN)
    assert desk.hold(verb).previous == {"State": "DRAIN"}
    desk.release(verb)
    assert state_of(stack, "vision") == "DRAIN"


def test_an_operators_own_hold_is_not_released(stack: SlurmStack, desk: HoldDesk) -> None:
    stack.run("scontrol", "update", "PartitionName=vision", "State=DOWN")
    verb = SetPartitionState("vision", PartitionState.DOWN)
    assert desk.hold(verb).outcome is Outcome.APPLIED
    assert desk.release(verb).outcome is Outcome.RELEASED
    assert state_of(stack, "vision") == "DOWN"
    assert desk.writes == []


def test_a_stricter_state_of_somebody_else_is_left(stack: SlurmStack, desk: HoldDesk) -> None:
    verb = SetPartitionState("vision", PartitionState.DOWN)
    desk.hold(verb)
    stack.run("scontrol", "update", "PartitionName=vision", "State=INACTIVE")
    assert desk.hold(verb).detail == "INACTIVE is in force"
    released = desk.release(verb)
    assert (released.outcome, state_of(stack, "vision")) == (Outcome.RELEASED, "INACTIVE")
    assert "somebody else" in released.detail


def test_a_hold_set_after_the_release_is_not_ours(stack: SlurmStack, desk: HoldDesk) -> None:
    verb = SetPartitionState("vision", PartitionState.DOWN)
    desk.hold(verb)
    desk.release(verb)
    stack.run("scontrol", "update", "PartitionName=vision", "State=DOWN")
    assert desk.release(verb).outcome is Outcome.RELEASED
    assert state_of(stack, "vision") == "DOWN"


def test_the_hold_moves_from_one_state_to_another(stack: SlurmStack, desk: HoldDesk) -> None:
    desk.hold(SetPartitionState("vision", PartitionState.INACTIVE))
    moved = desk.hold(SetPartitionState("vision", PartitionState.DOWN), rev=2)
    assert (moved.outcome, moved.previous) == (Outcome.APPLIED, {"State": "UP"})
    assert state_of(stack, "vision") == "DOWN"
    desk.release(SetPartitionState("vision", PartitionState.DOWN), rev=3)
    assert state_of(stack, "vision") == "UP"


def test_an_undone_hold_is_told_as_undone(stack: SlurmStack, desk: HoldDesk) -> None:
    verb = SetPartitionState("vision", PartitionState.DOWN)
    assert desk.pass_over(verb).undone == []
    stack.run("scontrol", "reconfigure")
    seconds_until(lambda: state_of(stack, "vision") == "UP", 10, "the reconfigure forgets the hold")
    outcome = desk.pass_over(verb)
    assert outcome.undone == [("partition#vision", "UP")]
    assert state_of(stack, "vision") == "DOWN"


def test_an_expired_intent_is_a_release(stack: SlurmStack, desk: HoldDesk) -> None:
    verb = SetPartitionState("vision", PartitionState.DOWN)
    desk.hold(verb)
    assert desk.pass_over(verb, lasts=timedelta(seconds=-1)).results[0].outcome is Outcome.RELEASED
    assert state_of(stack, "vision") == "UP"


def test_release_without_a_record_trusts_the_intent_or_leaves_it(stack: SlurmStack, tmp_path: Path) -> None:
    verb = SetPartitionState("vision", PartitionState.DOWN)
    HoldDesk(stack, tmp_path / "lost").hold(verb)
    fresh = HoldDesk(stack, tmp_path / "fresh")
    assert fresh.release(verb).outcome is Outcome.LEFT_ALONE
    assert state_of(stack, "vision") == "DOWN"
    assert fresh.release(verb, previous={"State": "UP"}).outcome is Outcome.RELEASED
    assert state_of(stack, "vision") == "UP"


def test_an_unknown_partition_is_refused_and_not_created(stack: SlurmStack, desk: HoldDesk) -> None:
    result = desk.hold(SetPartitionState("no-such", PartitionState.DOWN))
    assert result.outcome is Outcome.REFUSED
    assert "no-such" in result.detail
    assert desk.writes == []
    assert "no-such" not in stack.run("sinfo", "-a", "-h", "-o", "%R")


def test_dry_run_changes_nothing(stack: SlurmStack, tmp_path: Path) -> None:
    desk = HoldDesk(stack, tmp_path / "state", is_dry_run=True)
    result = desk.hold(SetPartitionState("vision", PartitionState.DOWN))
    assert result.outcome is Outcome.DRY_RUN
    assert result.detail == "would run: scontrol update PartitionName=vision State=DOWN"
    assert (state_of(stack, "vision"), list(desk.records), desk.writes) == ("UP", [], [])


def test_open_several_partitions_bypass_a_partition_hold(stack: SlurmStack, desk: HoldDesk) -> None:
    """Documented as open: only account and nodes holds close it."""
    desk.hold(SetPartitionState("nlp", PartitionState.INACTIVE))
    job = stack.jobs.submit(partition="nlp,vision", account="lab1", login_name="games")
    stack.jobs.wait_for(job, "RUNNING")
    assert stack.jobs.look(job).partition == "vision"


def test_open_a_person_moves_a_pending_job_out_of_a_held_partition(stack: SlurmStack, desk: HoldDesk) -> None:
    """Documented as open: only account and nodes holds close it."""
    desk.hold(SetPartitionState("nlp", PartitionState.DOWN))
    job = stack.jobs.submit(partition="nlp", account="lab1", login_name="games")
    stack.jobs.wait_for_reason(job, "PartitionDown")
    argv = ("scontrol", "update", f"JobId={job}", "Partition=vision")
    stack.run("setpriv", "--reuid", "games", "--regid", "games", "--clear-groups", *argv)
    stack.jobs.wait_for(job, "RUNNING")


def test_open_dev_holds_every_node_and_stays_open(stack: SlurmStack, desk: HoldDesk) -> None:
    desk.hold(SetPartitionState("nlp", PartitionState.INACTIVE))
    job = stack.jobs.submit(partition="dev", account="lab1", login_name="games", nodes=4)
    stack.jobs.wait_for(job, "RUNNING")


@pytest.mark.parametrize("way", ["account", "nodes"])
def test_account_and_nodes_holds_close_both_bypasses(stack: SlurmStack, desk: HoldDesk, way: str) -> None:
    names = stack.shape.node_names()
    verb = LimitAccount("lab1") if way == "account" else ReserveNodes("proctor-b-1", nodes=names)
    assert desk.hold(verb).outcome is Outcome.APPLIED
    several = stack.jobs.submit(partition="nlp,vision", account="lab1", login_name="games")
    moved = stack.jobs.submit(partition="nlp", account="lab1", login_name="games")
    default = stack.jobs.submit(account="lab1", login_name="games")
    stack.run("scontrol", "update", f"JobId={moved}", "Partition=vision")
    wanted = "AssocGrpJobsLimit" if way == "account" else "ReqNodeNotAvail, Reserved for maintenance"
    for job in (several, moved, default):
        stack.jobs.wait_for_reason(job, wanted, seconds=30)
    desk.release(verb)
    for job in (several, moved, default):
        stack.jobs.wait_for(job, "RUNNING")
