"""What one agent needs to know, from one JSON file that the installer writes (default /etc/proctor/agent.json)."""

import json
import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from proctor.domain.agent_protocol import ProtocolError, Role, decode
from proctor.domain.agent_protocol.names import ClusterName, InstanceId, NodeName
from proctor_agent.errors import SettingsError

DEFAULT_PATH = Path("/etc/proctor/agent.json")


class SlurmOutput(str, Enum):
    """How partitions and nodes are asked for. Text is understood from 22.05 to 24.11; JSON needs 23.02."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True)
class AgentSettings:
    """One agent's wiring. `endpoint_url` (also AWS_ENDPOINT_URL) points every AWS call elsewhere, for tests.

    `wakeup_queue_url` is the controller's own queue; without one, intents are read every 20 s all the same.
    """

    cluster: ClusterName
    role: Role
    node: NodeName
    instance_id: InstanceId
    region: str
    intents_table: str
    report_queue_url: str
    wakeup_queue_url: str = ""
    state_directory: str = "/var/lib/proctor-agent"
    slurm_bin: str = "/opt/slurm/bin"
    slurm_conf: str = ""
    endpoint_url: str = ""
    slurm_output: SlurmOutput = SlurmOutput.TEXT
    is_dry_run: bool = False

    @property
    def is_controller(self) -> bool:
        """Whether this agent may change Slurm."""
        return self.role is Role.CONTROLLER


def load_settings(path: Path, environment: dict[str, str] | None = None) -> AgentSettings:
    """Read and check the settings file; SettingsError names what is wrong with it."""
    env = os.environ if environment is None else environment
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SettingsError(f"{path}: not found; run lifecycle/install-agent.sh") from error
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: {error}") from error
    if isinstance(raw, dict) and not raw.get("endpoint_url") and env.get("AWS_ENDPOINT_URL"):
        raw["endpoint_url"] = env["AWS_ENDPOINT_URL"]
    try:
        return decode(AgentSettings, raw, "agent.json")
    except ProtocolError as error:
        raise SettingsError(f"{path}: {error}") from error
