"""The stack itself: shaped like HyperPod's, and gone without a trace, however it ends."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from proctor_slurm import ClusterShape, NodeGroup, SlurmStack, available
from proctor_slurm.errors import SlurmStackError
from proctor_slurm.keeper import descendants, start_ticks
from tests.agent.agent_process import seconds_until

pytestmark = pytest.mark.slurm

ROOT = Path(__file__).resolve().parents[2]
SMALL = ClusterShape(groups=(NodeGroup("nlp", 1),), accounting=False, enforce=())
PROGRAM = """
import os, signal, sys
from pathlib import Path
from proctor_slurm import ClusterShape, NodeGroup, SlurmStack
stack = SlurmStack(ClusterShape(groups=(NodeGroup("nlp", 1),), accounting=False, enforce=()), Path(sys.argv[1]))
stack.start()
stack.jobs.wait_for(stack.jobs.submit(), "RUNNING")
print("running", flush=True)
sys.stdin.read()
"""


def new_descendants(before: list[int]) -> list[int]:
    return [pid for pid in descendants(os.getpid()) if pid not in before]


def is_alive(pids: list[int]) -> bool:
    return any(start_ticks(pid) is not None for pid in pids)


def test_it_is_shaped_like_hyperpods(shared_stack: SlurmStack) -> None:
    lines = shared_stack.run("scontrol", "-o", "show", "partition").splitlines()
    assert [line.split()[0] for line in lines] == [
        "PartitionName=dev",
        "PartitionName=nlp",
        "PartitionName=vision",
    ]
    assert all("OverSubscribe=EXCLUSIVE" in line for line in lines)
    assert "Nodes=ip-10-1-0-[1-2],ip-10-2-0-[1-2]" in lines[0]
    config = shared_stack.run("scontrol", "show", "config")
    for setting in ("proctrack/linuxproc", "task/none", "associations,limits,qos"):
        assert setting in config
    assert "ReturnToService         = 1" in config
    text = shared_stack.layout.slurm_conf.read_text(encoding="utf-8")
    assert f"Include {shared_stack.layout.root}/accounting.conf" in text
    assert "AccountingStorage" not in text
    assert "Gres=gpu:h100:8" in shared_stack.run("scontrol", "-o", "show", "node", "ip-10-2-0-2")


def test_stop_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    before = descendants(os.getpid())
    with SlurmStack(SMALL, tmp_path / "s") as stack:
        job = stack.jobs.submit()
        stack.jobs.wait_for(job, "RUNNING")
        pids = new_descendants(before)
        assert len(pids) >= 5
    seconds_until(lambda: not is_alive(pids), 10, "every process has ended")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_program_that_dies_leaves_nothing_either(tmp_path: Path, number: signal.Signals) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "local")}
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "s")],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert program.stdout is not None
    assert program.stdin is not None
    assert program.stdout.readline() == b"running\n"
    pids = descendants(program.pid)
    program.send_signal(number)
    program.wait(10)
    program.stdout.close()
    program.stdin.close()
    seconds_until(lambda: not is_alive(pids), 20, "every process has ended")
    seconds_until(lambda: not (tmp_path / "s").exists(), 10, "the directory is gone")


def test_what_a_killed_keeper_left_is_cleared_by_the_next_start(tmp_path: Path) -> None:
    before = descendants(os.getpid())
    first = SlurmStack(SMALL, tmp_path / "s")
    first.start()
    job = first.jobs.submit()
    first.jobs.wait_for(job, "RUNNING")
    pids = new_descendants(before)
    assert first._keeper is not None
    os.kill(first._keeper.pid, signal.SIGKILL)
    time.sleep(0.3)
    assert (tmp_path / "s").exists()
    with SlurmStack(SMALL, tmp_path / "s") as second:
        assert second.is_slurmctld_up()
        assert not is_alive(pids)
    first.stop()


def test_a_strangers_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(SlurmStackError, match="not made by proctor_slurm"):
        SlurmStack(SMALL, tmp_path).start()
    assert (tmp_path / "thesis.tex").exists()


def test_two_stacks_side_by_side(tmp_path: Path) -> None:
    with SlurmStack(SMALL, tmp_path / "a") as one, SlurmStack(SMALL, tmp_path / "b") as two:
        one.run("scontrol", "update", "PartitionName=nlp", "State=DOWN")
        assert two.run("sinfo", "-h", "-p", "nlp", "-o", "%a").startswith("up")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="no system Python")
def test_a_plain_account_can_run_it() -> None:
    folder = Path("/tmp") / f"proctor-plain-{os.getpid()}"  # noqa: S108 - readable by somebody else
    shutil.copytree(ROOT / "local" / "proctor_slurm", folder / "proctor_slurm")
    program = (
        "from proctor_slurm import *\n"
        "with SlurmStack(ClusterShape(groups=(NodeGroup('nlp', 1),))) as stack:\n"
        "    stack.add_accounts(['lab1'], ['games'])\n"
        "    stack.jobs.wait_for(stack.jobs.submit(account='lab1'), 'RUNNING')\n"
        "    print('ran as', stack.layout.os_login_name)\n"
    )
    argv = [
        "setpriv",
        "--reuid",
        "games",
        "--regid",
        "games",
        "--clear-groups",
        "/usr/bin/python3",
        "-c",
        program,
    ]
    try:
        done = subprocess.run(
            ["/usr/bin/env", *argv], env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", "HOME": "/"},
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
    finally:
        shutil.rmtree(folder)
    assert done.stdout.strip() == "ran as games", done.stderr


def test_available_says_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor_slurm.packages._SEARCH_PATH", "/nowhere")
    found = available()
    assert not found.is_available
    assert "apt-get install --no-install-recommends mariadb-server munge slurm-client" in found.reason
