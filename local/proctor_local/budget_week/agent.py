"""The real agent beside slurmctld: its bundle, its settings, its process, under the controller role's credentials."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proctor_local.aws_client import Credentials, assume_role
from proctor_local.budget_week import cast
from proctor_local.control import LocalAwsClient
from proctor_local.deployed import ROOT
from proctor_slurm import SlurmStack

_BUILD_SECONDS = 60
_NAME = "agent"


class Agent:
    """One agent process; it ends with the Slurm it stands beside."""

    def __init__(
        self,
        local: LocalAwsClient,
        slurm: SlurmStack,
        outputs: Mapping[str, str],
        node: Mapping[str, Any],
        role_arn: str,
    ) -> None:
        """`node` is the controller as DescribeClusterNode shows it, `role_arn` the role of its instance group."""
        self._slurm = slurm
        self._folder = slurm.layout.root / "agent"
        self._credentials = assume_role(local.aws(), role_arn, str(node["instance_id"]))
        self._settings = {
            "cluster": cast.CLUSTER,
            "role": "controller",
            "node": "ip-" + str(node["private_ip"]).replace(".", "-"),
            "instance_id": node["instance_id"],
            "region": local.region,
            "intents_table": outputs["IntentsTableName"],
            "report_queue_url": outputs["ControllerReportsQueueUrl"],
            "wakeup_queue_url": outputs["ControllerWakeQueueUrl"],
            "state_directory": str(self._folder / "state"),
            "slurm_bin": "/usr/bin",
            "slurm_conf": str(slurm.layout.slurm_conf),
            "endpoint_url": local.endpoint,
        }

    def install(self) -> None:
        """Make the bundle and the settings file, as `make agent` and the installer do."""
        self._folder.mkdir(mode=0o700)
        subprocess.run(
            [sys.executable, str(ROOT / "agent" / "build_agent.py"), "--output", str(self._folder)],
            env={"PATH": os.environ.get("PATH", ""), "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.DEVNULL,
            timeout=_BUILD_SECONDS,
            check=True,
        )
        (self._folder / "agent.json").write_text(json.dumps(self._settings), encoding="utf-8")

    def enrol(self) -> None:
        """Make the key and send it, as the installer does before anybody can log in."""
        subprocess.run(
            self._argv("install"),
            env=self._slurm.environment | _environment(self._credentials),
            timeout=_BUILD_SECONDS,
            check=True,
        )

    def start(self) -> None:
        """Start `run`, as the systemd unit does."""
        self._slurm.attach(_NAME, self._argv("run"), **_environment(self._credentials))

    def _argv(self, command: str) -> list[str]:
        bundle, settings = self._folder / "proctor-agent.pyz", self._folder / "agent.json"
        return [sys.executable, "-I", str(bundle), "--settings", str(settings), command]

    def kill(self) -> None:
        """End it without a word (kill -9)."""
        self._slurm.end(_NAME, signal.SIGKILL)

    def log_text(self) -> str:
        """What it wrote."""
        log = Path(self._slurm.layout.root / "log" / f"{_NAME}.out")
        return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""


def _environment(credentials: Credentials) -> dict[str, str]:
    """What stands in agent.env and in the unit."""
    return {
        "AWS_ACCESS_KEY_ID": credentials.access_key_id,
        "AWS_SECRET_ACCESS_KEY": credentials.secret_access_key,
        "AWS_SESSION_TOKEN": credentials.session_token,
        "MALLOC_ARENA_MAX": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
