"""However the launcher ends, no process and no file of it stays."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from proctor_local.control import LocalAwsClient, running, wait_until
from proctor_local.deploy import deploy
from tests.local_aws.conftest import EMULATOR_PYTHON, HERE

pytestmark = pytest.mark.emulator

LOCAL = HERE.parents[1] / "local"


class Started:
    """A launcher of this test's own, with a function worker running."""

    def __init__(self, process: "subprocess.Popen[bytes]", ready: dict[str, Any], built: Path) -> None:
        self.process = process
        self.client = LocalAwsClient(ready["endpoint"], ready["account"], ready["region"])
        self.workspace = Path(self.client.control("GET", "workers")["workspace"])
        outputs = deploy(self.client, built, "test")
        self.client.aws().rest(
            "lambda", "POST", f"/2015-03-31/functions/{outputs['Function']}/invocations", b"{}"
        )
        self.workers = list(self.client.control("GET", "workers")["pids"])

    def is_gone(self) -> bool:
        return not self.workspace.exists() and not any(is_running(pid) for pid in self.workers)


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def start(built: Path, *arguments: str) -> Started:
    process = subprocess.Popen(
        [str(EMULATOR_PYTHON), "-m", "proctor_local.launcher", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(LOCAL)},
    )
    assert process.stdout is not None
    return Started(process, json.loads(process.stdout.readline()), built)


def finish(started: Started) -> None:
    for stream in (started.process.stdin, started.process.stdout):
        if stream is not None:
            stream.close()
    if started.process.poll() is None:
        started.process.kill()
    started.process.wait(timeout=10)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_leaves_nothing(built: Path, number: signal.Signals) -> None:
    started = start(built)
    try:
        assert started.workers
        assert started.workspace.is_dir()
        started.process.send_signal(number)
        code = started.process.wait(timeout=15)
        assert code == (-number if number == signal.SIGKILL else 0)
        wait_until(started.is_gone, seconds=10, what="workers and folder gone")
    finally:
        finish(started)


def test_it_ends_when_its_parent_crashes(built: Path) -> None:
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"""
import os, subprocess, sys
child = subprocess.Popen([{str(EMULATOR_PYTHON)!r}, "-m", "proctor_local.launcher", "--lifeline"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
sys.stdout.buffer.write(child.stdout.readline()); sys.stdout.flush()
sys.stdin.read()
os.abort()
""",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(LOCAL)},
    )
    assert parent.stdout is not None
    started = Started(parent, json.loads(parent.stdout.readline()), built)
    launcher = json.loads(json.dumps(started.client.control("GET", "health")))["pid"]
    finish(started)
    wait_until(lambda: started.is_gone() and not is_running(launcher), seconds=15, what="all gone")


def test_a_taken_port_is_refused_and_a_given_one_is_used() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        tried = subprocess.run(
            [str(EMULATOR_PYTHON), "-m", "proctor_local.launcher", "--port", str(port)],
            env={**os.environ, "PYTHONPATH": str(LOCAL)},
            capture_output=True,
            timeout=30,
            check=False,
        )
        assert tried.returncode == 1
        assert f"port {port}" in tried.stderr.decode()
    with running(EMULATOR_PYTHON, port) as client:
        assert client.endpoint == f"http://127.0.0.1:{port}"
        began = time.monotonic()
    assert time.monotonic() - began < 10
