"""What the tests of the running agent have in common: one partition hold, and what was reported about it."""

from proctor.domain.agent_protocol import PartitionState, SetPartitionState, UndoneBy
from proctor_slurm import SlurmStack
from tests.agent.agent_process import intent, seconds_until
from tests.agent.loopback_aws import LoopbackAws

HOLD = SetPartitionState("vision", PartitionState.DOWN)
SK = "partition#vision"
REHELD_WITHIN = 10.0


def is_down(stack: SlurmStack) -> bool:
    return stack.try_run("sinfo", "-h", "-p", "vision", "-o", "%a").stdout.startswith("down")


def hold(stack: SlurmStack, aws: LoopbackAws) -> None:
    aws.put(intent(HOLD))
    seconds_until(lambda: "applied" in aws.outcomes(SK), 5, "applied and reported")
    assert is_down(stack)


def causes(aws: LoopbackAws) -> list[UndoneBy]:
    return [undone.by for report in aws.reports() for undone in report.undone]


def problems(aws: LoopbackAws) -> list[str]:
    beats = [report.heartbeat for report in aws.reports() if report.heartbeat]
    return list(beats[-1].problems) if beats else []
