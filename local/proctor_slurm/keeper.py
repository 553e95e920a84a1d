"""The process that owns every daemon of one stack, so that none outlives the program that asked for it.

Run as a script: `python keeper.py ROOT`. It reads one JSON request a line on stdin and answers one JSON line
on stdout. End of input, however the other side ended, means: stop the daemons in reverse order, end whatever
they left running, remove ROOT. As child subreaper it is the parent of every orphan (slurmstepd, jobs), so
nothing escapes it; and the kernel ends the daemons when the keeper itself is killed.
"""

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MARKER = ".proctor-slurm"
PIDS = "keeper.pids"
_PR_SET_CHILD_SUBREAPER = 36
_STOP_SECONDS = 10.0


def start_ticks(pid: int) -> int | None:
    """Start time of a live process in clock ticks, None when gone or a zombie (proc(5), field 22)."""
    try:
        fields = (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        )
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])


def descendants(root_pid: int) -> list[int]:
    """Live pids below a process, from one walk over /proc."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                stat = (folder / "stat").read_text(encoding="ascii", errors="replace")
                fields = stat.rpartition(")")[2].split()
                if fields[0] != "Z":
                    parents[int(folder.name)] = int(fields[1])
    found: list[int] = []
    level = {root_pid}
    while level:
        level = {pid for pid, parent in parents.items() if parent in level}
        found.extend(level)
    return found


class Keeper:
    """Starts daemons in the foreground as children and ends all of them."""

    def __init__(self, root: Path) -> None:
        """Remember the directory; nothing is started yet."""
        self._root = root
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def spawn(self, name: str, argv: list[str], environment: dict[str, str], log: str) -> int:
        """Start one daemon; its output goes to the named log file. Answers the pid."""
        with Path(log).open("ab") as output:
            child = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *argv],  # noqa: S607
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd="/",
                start_new_session=True,
            )
        self._children[name] = child
        with contextlib.suppress(OSError), (self._root / PIDS).open("a", encoding="ascii") as pids:
            pids.write(f"{child.pid} {start_ticks(child.pid) or 0}\n")
        return child.pid

    def signal(self, name: str, number: int) -> None:
        """Send a signal to one daemon."""
        self._children[name].send_signal(number)

    def wait(self, name: str, seconds: float) -> int | None:
        """Exit status of a daemon, or None when it still runs after `seconds`."""
        try:
            return self._children[name].wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def stop_all(self) -> None:
        """End everything, newest first: asked, then killed; then every orphan."""
        for child in reversed(list(self._children.values())):
            if child.poll() is None:
                child.send_signal(signal.SIGCONT)
                child.terminate()
                try:
                    child.wait(_STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    child.kill()
        deadline = time.monotonic() + _STOP_SECONDS
        while time.monotonic() < deadline:
            left = descendants(os.getpid())
            if not left:
                break
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._reap()
            time.sleep(0.02)
        if (self._root / MARKER).exists():
            shutil.rmtree(self._root, ignore_errors=True)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass

    def reap_orphans(self) -> None:
        """Collect dead orphans, and only those: a daemon's own status is left for `wait`."""
        ours = {child.pid for child in self._children.values()}
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        with contextlib.suppress(ChildProcessError):
            while (dead := os.waitid(os.P_ALL, 0, options)) is not None and dead.si_pid not in ours:
                os.waitpid(dead.si_pid, os.WNOHANG)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one request; errors are answers too."""
        self.reap_orphans()
        try:
            if request["do"] == "spawn":
                pid = self.spawn(request["name"], request["argv"], request["environment"], request["log"])
                return {"pid": pid}
            if request["do"] == "signal":
                self.signal(request["name"], request["number"])
                return {}
            return {"status": self.wait(request["name"], request["seconds"])}
        except (KeyError, OSError) as error:
            return {"error": f"{request.get('do')} {request.get('name')}: {error!r}"}


def main() -> None:
    """Serve requests until end of input or a termination signal."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    keeper = Keeper(Path(sys.argv[1]))
    try:
        for line in sys.stdin:
            request = json.loads(line)
            print(json.dumps(keeper.answer(request)), flush=True)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with contextlib.suppress(BrokenPipeError):
            keeper.stop_all()


if __name__ == "__main__":
    main()
