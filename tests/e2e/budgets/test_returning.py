"""A hold is back after the agent itself, or slurmctld, was killed; the hold is an operator's, so no money is needed."""

import time
from collections.abc import Iterator
from signal import Signals

import pytest

from proctor_local.budget_week import cast
from proctor_local.budget_week.slurm_acts import Cluster
from proctor_local.budget_week.university import University
from proctor_local.control import wait_until

pytestmark = [pytest.mark.stack, pytest.mark.slurm, pytest.mark.timeout(300)]

BACK_WITHIN = 10.0
NOTICED_WITHIN = 35.0
"""A wake-up may be lost; intents are read every 20 s anyway."""


@pytest.fixture(scope="module")
def held(university: University, cluster: Cluster) -> Iterator[Cluster]:
    """Optics' partition is held by hand, once for all tests: each of them leaves it held."""
    order = ("--justification", "a drill", "--apply")
    university.stack.proctor("hold", cast.OPTICS, *order)
    wait_until(cluster.is_down, NOTICED_WITHIN, what="the partition held")
    yield cluster
    university.stack.proctor("release", cast.OPTICS, *order)
    wait_until(lambda: cluster.partition_state(cast.VISION) == "UP", NOTICED_WITHIN, what="the partition up")


def seconds_until_down(cluster: Cluster) -> float:
    since = time.monotonic()
    wait_until(cluster.is_down, BACK_WITHIN, what="the partition held again")
    return time.monotonic() - since


def test_after_the_agent_was_killed_and_the_hold_undone(university: University, held: Cluster) -> None:
    held.agent.kill()
    # The dead agent's long poll lives on in the local AWS and would take the next wake-up: this one ends it.
    queue_url = university.stack.outputs["ControllerWakeQueueUrl"]
    university.local.aws().call("sqs", "SendMessage", QueueUrl=queue_url, MessageBody="{}")
    held.slurm.run("scontrol", "update", f"PartitionName={cast.VISION}", "State=UP")
    assert not held.is_down()
    held.agent.start()
    assert seconds_until_down(held) <= BACK_WITHIN


def test_after_slurmctld_was_killed(held: Cluster) -> None:
    running_before = held.state("the corpus")
    held.slurm.end("slurmctld", Signals.SIGKILL)
    held.slurm.start_slurmctld()
    assert seconds_until_down(held) <= BACK_WITHIN
    assert held.state("the corpus") == running_before == "RUNNING"
