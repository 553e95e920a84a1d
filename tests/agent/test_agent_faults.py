"""What can be taken away from the running agent: its life, slurmctld, the network, the disk, sense."""

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.domain.agent_protocol import (
    LimitAccount,
    UndoneBy,
)
from proctor_slurm import SlurmStack
from tests.agent.agent_process import AgentProcess, intent, seconds_until
from tests.agent.loopback_aws import LoopbackAws
from tests.agent.one_hold import HOLD, REHELD_WITHIN, SK, causes, hold, is_down, problems

pytestmark = pytest.mark.slurm


def test_a_hold_is_back_after_the_agent_was_killed(
    stack: SlurmStack, aws: LoopbackAws, agent: AgentProcess
) -> None:
    agent.start()
    hold(stack, aws)
    agent.stop(signal.SIGKILL)
    stack.run("scontrol", "update", "PartitionName=vision", "State=UP")
    aws.is_down = True
    with agent:
        seconds_until(
            lambda: is_down(stack), REHELD_WITHIN, "held from what it had stored, without a network"
        )


def test_a_hung_slurmctld_is_survived(stack: SlurmStack, aws: LoopbackAws, agent: AgentProcess) -> None:
    with agent:
        hold(stack, aws)
        stack.run("scontrol", "update", "PartitionName=vision", "State=UP")
        stack.send_signal("slurmctld", signal.SIGSTOP)
        try:
            seconds_until(lambda: any("slurm:" in text for text in problems(aws)), 40, "the problem is told")
        finally:
            stack.send_signal("slurmctld", signal.SIGCONT)
        seconds_until(lambda: is_down(stack), REHELD_WITHIN, "held again")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("partition", "vision State=UP"),
        ("partition", "vision;reboot"),
        ("partition", "-a"),
        ("partition", "../vision"),
        ("partition", "vision\nnlp"),
        ("partition", "ALL,vision"),
        ("state", "UP"),
        ("state", "down"),
        ("verb", "Reboot"),
    ],
)
def test_odd_items_are_refused_and_the_last_good_one_stays(
    stack: SlurmStack, aws: LoopbackAws, agent: AgentProcess, field: str, value: str
) -> None:
    item = intent(HOLD, rev=2).to_item()
    item["value"] |= {field: value}
    with agent:
        hold(stack, aws)
        aws.put_raw(item)
        seconds_until(lambda: "refused" in aws.outcomes(SK), 10, "refused and told")
        stack.run("scontrol", "update", "PartitionName=vision", "State=UP")
        seconds_until(lambda: is_down(stack), REHELD_WITHIN, "revision 1 is in force")


def test_a_network_outage_loses_nothing_that_counts(
    stack: SlurmStack, aws: LoopbackAws, agent: AgentProcess
) -> None:
    with agent:
        hold(stack, aws)
        aws.is_down = True
        stack.run("scontrol", "update", "PartitionName=vision", "State=UP")
        seconds_until(lambda: is_down(stack), REHELD_WITHIN, "held without a network")
        time.sleep(3)
        aws.is_down = False
        seconds_until(lambda: UndoneBy.UPDATE in causes(aws), 70, "told once the network is back")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    argv = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", str(folder)]
    if subprocess.run(argv, check=False, capture_output=True).returncode:
        pytest.skip("a small tmpfs can't be mounted here")
    yield folder
    subprocess.run(["/bin/umount", "-l", str(folder)], check=False)


def test_a_full_disk_still_holds_and_releases(
    stack: SlurmStack, aws: LoopbackAws, small_disk: Path, tmp_path: Path
) -> None:
    agent = AgentProcess(stack, aws, tmp_path, state_directory=str(small_disk / "state"))
    with agent:
        seconds_until(lambda: bool(aws.reports()), 20, "started")
        with (small_disk / "filler").open("wb") as filler:
            free = shutil.disk_usage(small_disk).free
            filler.write(b"\0" * free)
        assert shutil.disk_usage(small_disk).free == 0
        aws.put(intent(LimitAccount("lab1")))
        seconds_until(lambda: "applied" in aws.outcomes("account#lab1"), 10, "held by means of the ballast")
    stored = json.loads((small_disk / "state" / "records.json").read_text(encoding="utf-8"))
    assert [(record["sk"], record["previous"]) for record in stored] == [("account#lab1", {"GrpJobs": "-1"})]
    with agent:
        aws.put(intent(LimitAccount("lab1"), rev=2, is_held=False))
        seconds_until(lambda: aws.outcomes("account#lab1")[-1] == "released", 10, "released")


def test_only_one_agent_runs_on_a_state_directory(agent: AgentProcess, aws: LoopbackAws) -> None:
    with agent:
        seconds_until(lambda: bool(aws.reports()), 20, "started")
        second = agent.command("run", "--once")
        assert second.returncode == 1
        assert "another agent runs" in second.stderr
