"""Talks to the keeper process of one stack."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from proctor_slurm import keeper
from proctor_slurm.errors import SlurmStackError

_CLOSE_SECONDS = 60.0


def clear_leftovers(root: Path) -> None:
    """End the daemons of an earlier stack in `root` whose keeper was killed, and remove its files.

    A pid is ended only when its start time is the recorded one. A directory without the stack's marker and
    with anything in it is refused.
    """
    if not root.exists():
        return
    if not (root / keeper.MARKER).exists():
        if any(root.iterdir()):
            raise SlurmStackError(f"{root}: not empty and not made by proctor_slurm; give a new directory")
        return
    with contextlib.suppress(FileNotFoundError):
        for line in (root / keeper.PIDS).read_text(encoding="ascii").splitlines():
            pid, ticks = (int(word) for word in line.split())
            if ticks and keeper.start_ticks(pid) == ticks:
                _kill(pid)
    for pid in _step_daemons(root):
        for below in (*keeper.descendants(pid), pid):
            _kill(below)
    shutil.rmtree(root, ignore_errors=True)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _step_daemons(root: Path) -> list[int]:
    """Slurmstepd processes that log below `root`: they outlive their slurmd and hide their environment."""
    found = []
    for comm in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if comm.read_text(encoding="ascii", errors="replace").strip() == "slurmstepd":
                targets = [str(link.readlink()) for link in (comm.parent / "fd").iterdir()]
                if any(target.startswith(f"{root}/") for target in targets):
                    found.append(int(comm.parent.name))
    return found


class KeeperClient:
    """One keeper: spawn, signal and wait for daemons by name; `close` ends all and removes the directory."""

    def __init__(self, root: Path) -> None:
        """Start the keeper for a directory that carries the marker."""
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", keeper.__file__, str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Pid of the keeper."""
        return self._process.pid

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send one request and return the answer; SlurmStackError when the keeper is gone or says no."""
        if self._process.stdin is None or self._process.stdout is None:
            raise SlurmStackError("keeper: no pipe")
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except (OSError, ValueError) as error:
            raise SlurmStackError(f"keeper is gone: {error}") from error
        if not line:
            raise SlurmStackError("keeper is gone")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise SlurmStackError(answer["error"])
        return answer

    def close(self) -> None:
        """End all daemons and wait for the keeper; it is killed when it takes over a minute."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self._process.wait(_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
