"""`install --check`: can the agent work on this node? Reads only; every finding is a line a person can act on."""

import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proctor_agent import link
from proctor_agent.agent import own_pk
from proctor_agent.aws.credentials import CredentialSource
from proctor_agent.clock import SystemClock
from proctor_agent.errors import AgentError, AwsError, SettingsError, SlurmError
from proctor_agent.settings import AgentSettings, load_settings
from proctor_agent.slurm.command import SlurmCommands
from proctor_agent.slurm.reads import SlurmReads

OLDEST_PYTHON = (3, 10)


@dataclass(frozen=True)
class Finding:
    """One line of the check; a warning does not fail it."""

    is_good: bool
    text: str
    is_warning: bool = False

    def __str__(self) -> str:
        """`ok`, `warning` or `FAILED`, and what was found."""
        word = "ok" if self.is_good else "warning" if self.is_warning else "FAILED"
        return f"{word}: {self.text}"


def check(settings_path: Path) -> Iterator[Finding]:
    """Every finding, in order; it ends early when the settings can't be read."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    is_new_enough = sys.version_info >= OLDEST_PYTHON
    yield Finding(is_new_enough, f"Python {version}; 3.10 or later is needed")
    try:
        settings = load_settings(settings_path)
    except SettingsError as error:
        yield Finding(False, str(error))
        return
    yield Finding(True, f"settings {settings_path}: {settings.role.value} of {settings.cluster}")
    yield _root()
    yield _state(Path(settings.state_directory))
    if settings.is_controller:
        yield from _slurm(settings)
    yield _aws(settings)


def _root() -> Finding:
    return Finding(os.geteuid() == 0, "root: the agent changes Slurm as root", is_warning=True)


def _state(directory: Path) -> Finding:
    try:
        mode = directory.stat().st_mode
    except OSError as error:
        return Finding(False, f"state directory {directory}: {error.strerror}")
    is_private = stat.S_ISDIR(mode) and not mode & 0o077
    return Finding(is_private, f"state directory {directory}: mode {mode & 0o777:o}, 700 is needed")


def _slurm(settings: AgentSettings) -> Iterator[Finding]:
    reads = SlurmReads(SlurmCommands(settings.slurm_bin, settings.slurm_conf))
    try:
        config = reads.config()
        yield Finding(True, f"Slurm {config.limits.slurm_version} answers as {config.limits.cluster_name}")
        names = ", ".join(sorted(reads.partitions()))
        yield Finding(True, f"partitions: {names}")
    except SlurmError as error:
        yield Finding(False, f"Slurm: {error}")
        return
    enforce = ",".join(config.limits.enforce) or "nothing"
    binds = config.limits.do_limits_bind
    hint = "" if binds else "; account holds can't bind, run lifecycle/accounting.sh"
    yield Finding(binds, f"AccountingStorageEnforce={enforce}{hint}", is_warning=True)


def _aws(settings: AgentSettings) -> Finding:
    clock = SystemClock()
    pk = own_pk(settings)
    try:
        items = link.make_table(settings, CredentialSource(clock), clock).query(pk)
    except (AwsError, AgentError) as error:
        return Finding(False, f"intents of {pk}: {error}")
    return Finding(True, f"intents of {pk}: {len(items)} readable")
