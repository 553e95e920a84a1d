"""LimitAccount and LimitPartitionQos on a real Slurm: who is held, who is not, and when a hold can't bind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.domain.agent_protocol import LimitAccount, LimitPartitionQos, Outcome
from proctor_slurm import ClusterShape, NodeGroup, SlurmStack
from tests.agent.hold_desk import HoldDesk

pytestmark = pytest.mark.slurm


def limits_of(stack: SlurmStack, account: str) -> tuple[str, str, str]:
    where = ("where", "cluster=university", f"account={account}", "user=")
    words = stack.run("sacctmgr", "-P", "-n", "show", "assoc", *where, "format=grpjobs,grpsubmit,grptres")
    jobs, submit, tres = words.splitlines()[0].split("|")
    return jobs, submit, tres


def set_qos(stack: SlurmStack, *values: str) -> None:
    stack.run("sacctmgr", "-i", "-Q", "modify", "qos", "where", "name=team", "set", *values)


@pytest.fixture
def shared_qos(stack: SlurmStack) -> Iterator[None]:
    """Both accounts use the QOS `team`, as when a department's QOS was copied."""
    names = ("lab1", "lab2", "lab1-vision")
    for name in names:
        stack.run(
            "sacctmgr", "-i", "-Q", "modify", "account", "where", f"name={name}", "set", "qos=normal,team"
        )
        stack.run(
            "sacctmgr", "-i", "-Q", "modify", "user", "where", f"account={name}", "set", "qos=normal,team"
        )
    yield
    stack.jobs.cancel_all()
    for name in names:
        stack.run("sacctmgr", "-i", "-Q", "modify", "account", "where", f"name={name}", "set", "qos=normal")
        stack.run("sacctmgr", "-i", "-Q", "modify", "user", "where", f"account={name}", "set", "qos=normal")


def test_pending_stay_running_go_on_others_start(stack: SlurmStack, desk: HoldDesk) -> None:
    running = stack.jobs.submit(partition="nlp", account="lab1", login_name="games")
    stack.jobs.wait_for(running, "RUNNING")
    result = desk.hold(LimitAccount("lab1"))
    assert (result.outcome, result.field, result.previous) == (Outcome.APPLIED, "GrpJobs", {"GrpJobs": "-1"})

    held = stack.jobs.submit(partition="nlp", account="lab1", login_name="games")
    child = stack.jobs.submit(partition="vision", account="lab1-vision", login_name="games")
    innocent = stack.jobs.submit(partition="nlp", account="lab2", login_name="games")
    assert stack.jobs.wait_for(innocent, "RUNNING") < 5
    stack.jobs.wait_for_reason(held, "AssocGrpJobsLimit")
    stack.jobs.wait_for_reason(child, "AssocGrpJobsLimit")
    assert stack.jobs.look(running).state == "RUNNING"

    stack.jobs.cancel(innocent)
    assert desk.release(LimitAccount("lab1")).outcome is Outcome.RELEASED
    assert limits_of(stack, "lab1") == ("", "", "")
    stack.jobs.wait_for(held, "RUNNING")
    stack.jobs.wait_for(child, "RUNNING")


def test_the_former_limit_comes_back(stack: SlurmStack, desk: HoldDesk) -> None:
    where = ("where", "name=lab1", "cluster=university", "set", "GrpJobs=10", "GrpTRES=gres/gpu=16")
    stack.run("sacctmgr", "-i", "-Q", "modify", "account", *where)
    assert desk.hold(LimitAccount("lab1")).previous == {"GrpJobs": "10"}
    assert limits_of(stack, "lab1")[0] == "0"
    desk.release(LimitAccount("lab1"))
    assert limits_of(stack, "lab1") == ("10", "", "gres/gpu=16")
    stack.run("sacctmgr", "-i", "-Q", "modify", "account", *where[:2], "set", "GrpTRES=gres/gpu=-1")


def test_refusing_submissions_too(stack: SlurmStack, desk: HoldDesk) -> None:
    verb = LimitAccount("lab1", refuse_submissions=True)
    assert desk.hold(verb).field == "GrpJobs,GrpSubmitJobs"
    assert stack.jobs.submit_refusal(account="lab1", login_name="games")
    assert not stack.jobs.submit_refusal(account="lab2", login_name="games")
    desk.release(verb)
    assert not stack.jobs.submit_refusal(account="lab1", login_name="games")


@pytest.mark.usefixtures("shared_qos")
def test_a_qos_that_sets_grpjobs_would_void_the_hold(stack: SlurmStack, desk: HoldDesk) -> None:
    set_qos(stack, "GrpJobs=50")
    result = desk.hold(LimitAccount("lab1"))
    assert (result.outcome, result.field) == (Outcome.APPLIED, "GrpTRES/node")
    held = stack.jobs.submit(partition="nlp", account="lab1", login_name="games", qos="team")
    innocent = stack.jobs.submit(partition="nlp", account="lab2", login_name="games", qos="team")
    stack.jobs.wait_for(innocent, "RUNNING")
    stack.jobs.wait_for_reason(held, "AssocGrpNodeLimit")
    desk.release(LimitAccount("lab1"))
    stack.jobs.wait_for(held, "RUNNING")
    assert limits_of(stack, "lab1") == ("", "", "")


@pytest.mark.usefixtures("shared_qos")
def test_proof_that_the_void_is_real(stack: SlurmStack) -> None:
    """What the choice of field avoids: GrpJobs=0 on the account alone does not hold under such a QOS."""
    set_qos(stack, "GrpJobs=50")
    where = ("where", "name=lab1", "cluster=university", "set", "GrpJobs=0")
    stack.run("sacctmgr", "-i", "-Q", "modify", "account", *where)
    job = stack.jobs.submit(partition="nlp", account="lab1", login_name="games", qos="team")
    stack.jobs.wait_for(job, "RUNNING")


@pytest.mark.usefixtures("shared_qos")
def test_the_field_changes_when_a_qos_begins_to_void_it(stack: SlurmStack, desk: HoldDesk) -> None:
    assert desk.hold(LimitAccount("lab1")).field == "GrpJobs"
    set_qos(stack, "GrpJobs=50")
    moved = desk.hold(LimitAccount("lab1"))
    assert (moved.outcome, moved.field) == (Outcome.APPLIED, "GrpTRES/node")
    assert limits_of(stack, "lab1") == ("", "", "node=0")
    desk.release(LimitAccount("lab1"))
    assert limits_of(stack, "lab1") == ("", "", "")


@pytest.mark.usefixtures("shared_qos")
def test_no_field_left_is_an_alarm(stack: SlurmStack, desk: HoldDesk) -> None:
    set_qos(stack, "GrpJobs=50", "GrpTRES=node=100")
    result = desk.hold(LimitAccount("lab1"))
    assert result.outcome is Outcome.CANNOT_BIND
    assert "team" in result.detail
    assert (limits_of(stack, "lab1"), desk.writes) == (("", "", ""), [])


def test_a_limit_lifted_by_hand_is_put_back(stack: SlurmStack, desk: HoldDesk) -> None:
    desk.hold(LimitAccount("lab1"))
    where = ("where", "name=lab1", "cluster=university", "set", "GrpJobs=-1")
    stack.run("sacctmgr", "-i", "-Q", "modify", "account", *where)
    outcome = desk.pass_over(LimitAccount("lab1"))
    assert outcome.undone == [("account#lab1", "GrpJobs=-1")]
    assert limits_of(stack, "lab1")[0] == "0"


def test_a_lost_record_does_not_make_the_hold_permanent(stack: SlurmStack, tmp_path: Path) -> None:
    HoldDesk(stack, tmp_path / "lost").hold(LimitAccount("lab1"))
    fresh = HoldDesk(stack, tmp_path / "fresh")
    assert fresh.hold(LimitAccount("lab1"), previous={"GrpJobs": "10"}).previous == {"GrpJobs": "10"}
    fresh.release(LimitAccount("lab1"))
    assert limits_of(stack, "lab1")[0] == "10"


def test_an_unknown_account_is_refused(stack: SlurmStack, desk: HoldDesk) -> None:
    assert desk.hold(LimitAccount("lab9")).outcome is Outcome.REFUSED
    assert desk.writes == []
    assert stack.jobs.submit_refusal(account="lab1", login_name="games") == ""


def test_a_partition_qos_holds_its_partition(stack: SlurmStack, desk: HoldDesk) -> None:
    verb = LimitPartitionQos("nlp", "part-nlp")
    assert desk.hold(verb).outcome is Outcome.APPLIED
    held = stack.jobs.submit(partition="nlp", account="lab1", login_name="games")
    other = stack.jobs.submit(partition="vision", account="lab1", login_name="games")
    stack.jobs.wait_for_reason(held, "QOSGrpJobsLimit")
    stack.jobs.wait_for(other, "RUNNING")
    stack.run("scontrol", "reconfigure")
    assert desk.pass_over(verb).undone == []
    assert desk.release(verb).outcome is Outcome.RELEASED
    stack.jobs.wait_for(held, "RUNNING")


def test_a_partition_qos_of_another_partition_is_refused(desk: HoldDesk) -> None:
    result = desk.hold(LimitPartitionQos("vision", "part-nlp"))
    assert (result.outcome, result.detail) == (Outcome.REFUSED, "partition vision has QOS=none, not part-nlp")
    assert desk.hold(LimitPartitionQos("vision", "normal")).outcome is Outcome.REFUSED


@pytest.mark.usefixtures("shared_qos")
def test_a_qos_that_accounts_may_use_is_never_limited(stack: SlurmStack, desk: HoldDesk) -> None:
    stack.run("sacctmgr", "-i", "-Q", "modify", "account", "where", "name=lab2", "set", "qos=normal,part-nlp")
    result = desk.hold(LimitPartitionQos("nlp", "part-nlp"))
    assert result.outcome is Outcome.REFUSED
    assert "lab2" in result.detail
    assert desk.writes == []


def test_without_enforcement_a_hold_is_an_alarm_not_a_success(tmp_path: Path) -> None:
    shape = ClusterShape(groups=(NodeGroup("nlp", 1),), enforce=())
    with SlurmStack(shape) as stack:
        stack.add_accounts(["lab1"], ["games"])
        desk = HoldDesk(stack, tmp_path / "state")
        result = desk.hold(LimitAccount("lab1"))
        assert result.outcome is Outcome.CANNOT_BIND
        assert "AccountingStorageEnforce has nothing" in result.detail
        assert desk.writes == []
        # The proof: the limit would be recorded and would hold nobody.
        stack.run("sacctmgr", "-i", "-Q", "modify", "account", "where", "name=lab1", "set", "GrpJobs=0")
        job = stack.jobs.submit(account="lab1", login_name="games")
        stack.jobs.wait_for(job, "RUNNING")


def test_without_slurmdbd_a_hold_is_an_alarm(tmp_path: Path) -> None:
    shape = ClusterShape(groups=(NodeGroup("nlp", 1),), accounting=False, enforce=())
    with SlurmStack(shape) as stack:
        desk = HoldDesk(stack, tmp_path / "state")
        assert desk.hold(LimitAccount("lab1")).outcome is Outcome.CANNOT_BIND
        assert desk.writes == []
