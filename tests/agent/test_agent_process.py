"""The agent as it runs: enrolment, every kind of undo, and everything that can be taken away from it."""

import signal
import time
from datetime import timedelta
from pathlib import Path

import pytest

from proctor.domain.agent_protocol import (
    DrainNode,
    LimitAccount,
    LimitPartitionQos,
    Report,
    ReserveNodes,
    UndoneBy,
    controller_pk,
)
from proctor_slurm import SlurmStack
from tests.agent.agent_process import CLUSTER, INSTANCE_ID, AgentProcess, intent, seconds_until
from tests.agent.loopback_aws import LoopbackAws
from tests.agent.one_hold import HOLD, REHELD_WITHIN, SK, causes, hold, is_down, problems

pytestmark = pytest.mark.slurm


def test_it_enrols_once_and_signs_everything(aws: LoopbackAws, agent: AgentProcess) -> None:
    with agent:
        seconds_until(lambda: any(report.chunk for report in aws.reports()), 20, "a snapshot")
    with agent:
        seconds_until(lambda: len({e.header.boot_id for e in aws.envelopes()}) == 2, 20, "a second start")
    (key,) = aws.enrolled_keys()
    envelopes = aws.envelopes()
    assert all(envelope.is_from(key) for envelope in envelopes)
    order = [(envelope.header.boot_id, envelope.header.sequence) for envelope in envelopes]
    assert order == sorted(set(order))
    assert (agent.state_directory / "identity.json").stat().st_mode & 0o777 == 0o600


def test_the_snapshot_says_what_slurm_has(stack: SlurmStack, aws: LoopbackAws, agent: AgentProcess) -> None:
    job = stack.jobs.submit(partition="nlp", account="lab1", login_name="games")
    stack.jobs.wait_for(job, "RUNNING")
    with agent:
        seconds_until(lambda: any(report.chunk for report in aws.reports()), 20, "a snapshot")
    snapshot: Report = next(report for report in aws.reports() if report.chunk)
    assert snapshot.chunk is not None
    assert (snapshot.chunk.index, snapshot.chunk.count) == (0, 1)
    assert {row.name for row in snapshot.partitions} == {"dev", "nlp", "vision"}
    assert {row.name for row in snapshot.nodes} == set(stack.shape.node_names())
    (row,) = snapshot.jobs
    assert (row.job_id, row.state, row.account, row.login_name) == (str(job), "RUNNING", "lab1", "games")
    assert {row.account for row in snapshot.associations} >= {"root", "lab1", "lab2", "lab1-vision"}
    assert snapshot.limits is not None
    assert snapshot.limits.do_limits_bind


def test_usage_is_absolute_per_account_partition_and_hour(
    stack: SlurmStack, aws: LoopbackAws, agent: AgentProcess
) -> None:
    job = stack.jobs.submit(partition="vision", account="lab2", login_name="news", nodes=2)
    stack.jobs.wait_for(job, "RUNNING")
    time.sleep(4)

    def rows() -> list[tuple[str, str, int]]:
        agent.command("run", "--once")
        return [
            (row.account, row.partition, row.node_seconds)
            for report in aws.reports()
            for row in report.usage
            if row.account == "lab2" and row.partition == "vision"
        ]

    seconds_until(lambda: bool(rows()) and rows()[-1][2] >= 4, 30, "two nodes for two seconds at least")
    assert all(later[2] >= earlier[2] for earlier, later in zip(rows(), rows()[1:], strict=False))


@pytest.mark.parametrize("undo", ["reconfigure", "restart", "kill -9", "somebody sets UP"])
def test_a_hold_comes_back(stack: SlurmStack, aws: LoopbackAws, agent: AgentProcess, undo: str) -> None:
    with agent:
        hold(stack, aws)
        cause = UndoneBy.RESTART
        if undo == "reconfigure":
            stack.run("scontrol", "reconfigure")
            cause = UndoneBy.RECONFIGURE
        elif undo == "somebody sets UP":
            stack.run("scontrol", "update", "PartitionName=vision", "State=UP")
            cause = UndoneBy.UPDATE
        else:
            stack.end("slurmctld", signal.SIGKILL if undo == "kill -9" else signal.SIGTERM)
            stack.start_slurmctld()
        seconds_until(lambda: bool(causes(aws)) and is_down(stack), REHELD_WITHIN, f"held after {undo}")
        assert causes(aws)[0] is cause


def test_stopping_the_agent_leaves_the_hold(stack: SlurmStack, aws: LoopbackAws, agent: AgentProcess) -> None:
    with agent:
        hold(stack, aws)
    assert is_down(stack)


def test_a_deleted_intent_is_no_release_but_an_alarm(
    stack: SlurmStack, aws: LoopbackAws, agent: AgentProcess
) -> None:
    with agent:
        hold(stack, aws)
        aws.delete(controller_pk(CLUSTER), SK)
        seconds_until(lambda: f"vanished: {SK}" in problems(aws), 10, "told")
        stack.run("scontrol", "update", "PartitionName=vision", "State=UP")
        seconds_until(lambda: is_down(stack), REHELD_WITHIN, "still held")


def test_an_intent_ends_by_itself(stack: SlurmStack, aws: LoopbackAws, agent: AgentProcess) -> None:
    with agent:
        aws.put(intent(HOLD, lasts=timedelta(seconds=4)))
        seconds_until(lambda: is_down(stack), 5, "held")
        aws.delete(controller_pk(CLUSTER), SK)
        seconds_until(lambda: not is_down(stack), 12, "let go when it expired")
        assert aws.outcomes(SK)[-1] == "released"


def test_pause_stops_the_agents_hand(stack: SlurmStack, aws: LoopbackAws, agent: AgentProcess) -> None:
    with agent:
        hold(stack, aws)
        pk = controller_pk(CLUSTER)
        aws.put_raw({"pk": pk, "sk": "control#pause", "is_paused": True, "rev": 1})
        seconds_until(lambda: any("paused" in text for text in problems(aws)), 10, "told")
        stack.run("scontrol", "update", "PartitionName=vision", "State=UP")
        time.sleep(7)
        assert not is_down(stack)
        aws.put_raw({"pk": pk, "sk": "control#pause", "is_paused": False, "rev": 2})
        seconds_until(lambda: is_down(stack), REHELD_WITHIN, "at work again")


def test_release_all_ours_lets_go_and_leaves_the_rest(
    stack: SlurmStack, aws: LoopbackAws, agent: AgentProcess
) -> None:
    stack.run("scontrol", "update", "NodeName=ip-10-1-0-1", "State=DRAIN", "Reason=disk, Ana")
    stack.run("scontrol", "update", "PartitionName=nlp", "State=DRAIN")
    with agent:
        hold(stack, aws)
        aws.put(intent(LimitAccount("lab1")))
        aws.put(intent(LimitPartitionQos("nlp", "part-nlp")))
        aws.put(intent(ReserveNodes("proctor-b1", nodes=("ip-10-2-0-2",))))
        aws.put(intent(DrainNode("ip-10-2-0-1", INSTANCE_ID, "proctor: xid 79")))
        for sk in ("account#lab1", "partition_qos#nlp", "reservation#proctor-b1", "node#ip-10-2-0-1"):
            seconds_until(lambda sk=sk: "applied" in aws.outcomes(sk), 15, sk)  # type: ignore[misc]
    # The intents are lost as well: the records alone must do.
    (agent.state_directory / "intents.json").unlink()
    done = agent.command("release", "--all-ours")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not is_down(stack)
    assert "No reservations" in stack.run("scontrol", "show", "reservation")
    reasons = stack.run("sinfo", "-h", "-R", "-o", "%E|%N")
    assert reasons.strip() == "disk, Ana|ip-10-1-0-1"
    assert stack.run("sinfo", "-h", "-p", "nlp", "-o", "%a").startswith("drain")
    limits = stack.run("sacctmgr", "-P", "-n", "show", "qos", "where", "name=part-nlp", "format=grpjobs")
    assert limits.strip() == ""
    job = stack.jobs.submit(partition="vision", account="lab1", login_name="games")
    stack.jobs.wait_for(job, "RUNNING")


def test_once_acts_and_ends(stack: SlurmStack, aws: LoopbackAws, agent: AgentProcess) -> None:
    aws.put(intent(HOLD))
    done = agent.command("run", "--once")
    assert (done.returncode, done.stdout.strip()) == (0, f"{SK} rev 1: applied")
    assert is_down(stack)


def test_dry_run_says_and_does_not(stack: SlurmStack, aws: LoopbackAws, agent: AgentProcess) -> None:
    aws.put(intent(HOLD))
    done = agent.command("run", "--once", "--dry-run")
    assert "dry_run would run: scontrol update PartitionName=vision State=DOWN" in done.stdout
    assert not is_down(stack)
    assert aws.outcomes(SK) == ["dry_run"]


def test_the_check_says_what_is_wrong(stack: SlurmStack, aws: LoopbackAws, agent: AgentProcess) -> None:
    agent.command("run", "--once")
    good = agent.command("install", "--check")
    assert good.returncode == 0, good.stdout
    assert "ok: Slurm 22.05" in good.stdout or "ok: Slurm 24" in good.stdout
    aws.is_down = True
    bad = agent.command("install", "--check")
    assert bad.returncode == 1
    assert "FAILED: intents of ml-cluster#controller: ServiceUnavailable" in bad.stdout


def test_a_node_agent_reads_its_own_intents_and_changes_nothing(
    stack: SlurmStack, aws: LoopbackAws, tmp_path: Path
) -> None:
    agent = AgentProcess(stack, aws, tmp_path, role="node", node="ip-10-2-0-1", wakeup_queue_url="")
    aws.put(intent(HOLD))
    with agent:
        seconds_until(lambda: bool(aws.reports()), 20, "a heartbeat")
    asked = {
        body["ExpressionAttributeValues"][":pk"]["S"] for target, body, _ in aws.requests if "Query" in target
    }
    assert asked == {"ml-cluster#nodes#ip-10-2-0-1"}
    beat = aws.reports()[0].heartbeat
    assert beat is not None
    assert (beat.verbs, beat.is_acting) == ((), False)
    assert not is_down(stack)
