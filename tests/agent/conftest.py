"""One real Slurm for all tests here, cleaned between them; and an agent process where a test wants one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor_slurm import ClusterShape, NodeGroup, SlurmStack, ensure_installed
from tests.agent.agent_process import AgentProcess
from tests.agent.hold_desk import HoldDesk
from tests.agent.loopback_aws import LoopbackAws, loopback_aws

SHAPE = ClusterShape(groups=(NodeGroup("nlp", 2, partition_qos="part-nlp"), NodeGroup("vision", 2)))
ACCOUNTS = ("lab1", "lab2")
LOGIN_NAMES = ("games", "news")


@pytest.fixture(scope="session")
def shared_stack() -> Iterator[SlurmStack]:
    found = ensure_installed()
    if not found.is_available:
        pytest.skip(found.reason)
    with SlurmStack(SHAPE) as stack:
        stack.add_accounts(ACCOUNTS, LOGIN_NAMES)
        stack.run(
            "sacctmgr", "-i", "-Q", "add", "account", "lab1-vision", "parent=lab1", "cluster=university"
        )
        stack.run("sacctmgr", "-i", "-Q", "add", "user", "games", "account=lab1-vision")
        stack.run("sacctmgr", "-i", "-Q", "add", "qos", "team")
        yield stack


@pytest.fixture
def stack(shared_stack: SlurmStack) -> Iterator[SlurmStack]:
    yield shared_stack
    clean(shared_stack)


def clean(stack: SlurmStack) -> None:
    """Back to an idle cluster without holds, limits or drains."""
    stack.jobs.cancel_all()
    for name in ("dev", "nlp", "vision"):
        stack.run("scontrol", "update", f"PartitionName={name}", "State=UP")
    for line in stack.run("scontrol", "-a", "-o", "show", "reservation").splitlines():
        if line.startswith("ReservationName="):
            stack.run("scontrol", "delete", line.split()[0])
    for name in (*ACCOUNTS, "lab1-vision"):
        limits = ("GrpJobs=-1", "GrpSubmitJobs=-1", "GrpTRES=node=-1")
        where = ("where", f"name={name}", "cluster=university")
        stack.run("sacctmgr", "-i", "-Q", "modify", "account", *where, "set", *limits)
    for name in ("team", "part-nlp"):
        changes = ("where", f"name={name}", "set", "GrpJobs=-1", "GrpSubmitJobs=-1", "GrpTRES=node=-1")
        stack.run("sacctmgr", "-i", "-Q", "modify", "qos", *changes)
    for name in stack.shape.node_names():
        stack.try_run("scontrol", "update", f"NodeName={name}", "State=RESUME")
    stack.wait_for_idle_nodes()


@pytest.fixture
def desk(stack: SlurmStack, tmp_path: Path) -> HoldDesk:
    return HoldDesk(stack, tmp_path / "state")


@pytest.fixture
def aws() -> Iterator[LoopbackAws]:
    with loopback_aws() as services:
        yield services


@pytest.fixture
def agent(stack: SlurmStack, aws: LoopbackAws, tmp_path: Path) -> Iterator[AgentProcess]:
    made = AgentProcess(stack, aws, tmp_path)
    yield made
    made.stop()
