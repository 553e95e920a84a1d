"""Clears up after the launcher, however it ended: ends its function workers and removes its folder.

Runs as a process of its own (``python -I -S janitor.py <folder>``) and reads its standard input, which ends
when the launcher is gone, killed outright included. It touches only processes whose working folder lies in
the given folder.
"""

import contextlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path

GRACE_SECONDS = 2.0


def workers_in(folder: Path) -> list[int]:
    """The pids of processes that work inside ``folder``, this one excepted."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            place = Path(str((entry / "cwd").readlink()).removesuffix(" (deleted)"))
            if place.is_relative_to(folder):
                found.append(int(entry.name))
    return found


def clear(folder: Path) -> None:
    """End the workers, first asking, and remove the folder. Bounded in time."""
    deadline = time.monotonic() + GRACE_SECONDS
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in workers_in(folder):
            with contextlib.suppress(OSError):
                os.kill(pid, number)
        while workers_in(folder) and time.monotonic() < deadline:
            time.sleep(0.02)
        deadline = time.monotonic() + GRACE_SECONDS
    shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Wait for the launcher's end, then clear."""
    folder = Path(sys.argv[1]).resolve()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while os.read(0, 4096):
        pass
    clear(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
