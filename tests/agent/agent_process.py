"""The real agent as its own process, wired to a Slurm stack and the loopback services."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from proctor.domain.agent_protocol import Intent, Verb, controller_pk
from proctor_slurm import SlurmStack
from tests.agent.loopback_aws import LoopbackAws

CLUSTER = "ml-cluster"
CONTROLLER_NODE = "ip-10-0-0-1"
INSTANCE_ID = "i-0123456789abcdef0"
# As in agent/proctor-agent.service.
UNIT_ENVIRONMENT = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TRIM_THRESHOLD_": "65536",
    "MALLOC_TOP_PAD_": "0",
}
_ROOT = Path(__file__).resolve().parents[2]


def intent(
    verb: Verb,
    *,
    rev: int = 1,
    is_held: bool = True,
    previous: dict[str, str] | None = None,
    lasts: timedelta = timedelta(days=1),
    owner: str = "budget_holds",
) -> Intent:
    """An intent for the controller of the test cluster."""
    expires_at = datetime.now(tz=UTC).replace(microsecond=0) + lasts
    return Intent(controller_pk(CLUSTER), verb, is_held, owner, rev, expires_at, previous)


class AgentProcess:
    """Starts, kills and asks one agent; its state directory outlives it."""

    def __init__(
        self,
        stack: SlurmStack,
        aws: LoopbackAws,
        folder: Path,
        program: tuple[str, ...] = (sys.executable, "-m", "proctor_agent"),
        **settings: Any,
    ) -> None:
        self._stack = stack
        self._aws = aws
        self._program = program
        self.folder = folder
        self.settings_path = folder / "agent.json"
        self.state_directory = folder / "state"
        self._log = folder / "agent.log"
        self._process: subprocess.Popen[bytes] | None = None
        values = {
            "cluster": CLUSTER,
            "role": "controller",
            "node": CONTROLLER_NODE,
            "instance_id": INSTANCE_ID,
            "region": "us-west-2",
            "intents_table": "intents",
            "report_queue_url": f"{aws.url}/123456789012/reports",
            "wakeup_queue_url": f"{aws.url}/123456789012/wakeup",
            "state_directory": str(self.state_directory),
            "slurm_bin": "/usr/bin",
            "slurm_conf": str(stack.layout.slurm_conf),
            "endpoint_url": aws.url,
        }
        self.settings_path.write_text(json.dumps(values | settings), encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        """Where the agent's packages and its credentials are."""
        path = os.pathsep.join((str(_ROOT / "agent"), str(_ROOT / "layers" / "proctor")))
        keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"} | UNIT_ENVIRONMENT
        return self._stack.environment | {"PYTHONPATH": path} | keys

    @property
    def pid(self) -> int:
        """Pid of the running agent."""
        assert self._process is not None
        return self._process.pid

    def argv(self, *arguments: str) -> list[str]:
        """Command line of the agent."""
        return [*self._program, "--settings", str(self.settings_path), *arguments]

    def command(self, *arguments: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
        """Run one of its commands to the end."""
        return subprocess.run(
            self.argv(*arguments),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def start(self) -> None:
        """Start `run` in the background."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self.argv("run"), env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it, asked or killed."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def log_text(self) -> str:
        """What it wrote on stderr."""
        return self._log.read_text(encoding="utf-8") if self._log.exists() else ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def seconds_until(is_true: Callable[[], bool], within: float, what: str) -> float:
    """Wait; how long it took. An AssertionError names what did not happen."""
    started = time.monotonic()
    while not is_true():
        waited = time.monotonic() - started
        assert waited <= within, f"{what}: not within {within:g} s"
        time.sleep(0.05)
    return time.monotonic() - started
