"""Which Debian packages a Slurm stack needs, and how to get them."""

import os
import shutil
import subprocess
from dataclasses import dataclass

_CORE = {
    "munged": "munge",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "scontrol": "slurm-client",
}
_ACCOUNTING = {"slurmdbd": "slurmdbd", "mariadbd": "mariadb-server", "mariadb-install-db": "mariadb-server"}
_APT_SECONDS = 300
_SEARCH_PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/bin", "/sbin", "/usr/libexec"))


@dataclass(frozen=True)
class Availability:
    """Whether the stack can run here; `reason` says why not and what to do, empty when it can."""

    is_available: bool
    reason: str = ""


def find_program(name: str) -> str | None:
    """Absolute path of a daemon or client, also where sbin is not on PATH."""
    return shutil.which(name, path=_SEARCH_PATH)


def missing_packages(*, accounting: bool = True) -> tuple[str, ...]:
    """Debian packages whose program is not found."""
    wanted = _CORE | (_ACCOUNTING if accounting else {})
    return tuple(sorted({package for program, package in wanted.items() if find_program(program) is None}))


def available(*, accounting: bool = True) -> Availability:
    """Whether the stack can run here, without installing anything."""
    missing = missing_packages(accounting=accounting)
    if not missing:
        return Availability(is_available=True)
    hint = f"apt-get install --no-install-recommends {' '.join(missing)}"
    return Availability(is_available=False, reason=f"Slurm is not installed; run as root: {hint}")


def ensure_installed(*, accounting: bool = True) -> Availability:
    """Install what is missing where possible (root, apt-get), in about 20 s; otherwise say why not."""
    missing = missing_packages(accounting=accounting)
    if not missing:
        return Availability(is_available=True)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return available(accounting=accounting)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *missing]):
        try:
            done = subprocess.run(
                ["apt-get", *arguments],  # noqa: S607
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_APT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Availability(
                is_available=False, reason=f"apt-get {arguments[0]} took over {_APT_SECONDS} s"
            )
        if done.returncode != 0:
            last_line = (done.stderr.strip().splitlines() or ["no message"])[-1]
            return Availability(is_available=False, reason=f"apt-get {arguments[0]} failed: {last_line}")
    return available(accounting=accounting)
