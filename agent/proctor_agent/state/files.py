"""Small JSON files in the state directory, replaced atomically, that survive a full disk.

A ballast file keeps room: when a write finds the disk full, the ballast is given up and the write tried again. It is put
back when there is room.
"""

import contextlib
import errno
import fcntl
import json
import os
from pathlib import Path
from typing import IO, Any

from proctor_agent.errors import AgentError

_BALLAST_BYTES = 262_144
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


class StateFiles:
    """Reads and writes the files of one state directory (root-only, mode 0700)."""

    def __init__(self, directory: Path) -> None:
        """Make the directory when missing; a directory that can't be made is an error, a full disk is not."""
        self._directory = directory
        self._lock: IO[str] | None = None
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            directory.chmod(0o700)
        except OSError as error:
            raise AgentError(f"state directory {directory}: {error.strerror}") from error

    @property
    def directory(self) -> Path:
        """Where the files are."""
        return self._directory

    def lock(self) -> bool:
        """Take the one-agent lock; False when another process has it."""
        handle = (self._directory / "lock").open("w", encoding="ascii")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            handle.close()
            return False
        self._lock = handle
        return True

    def unlock(self) -> None:
        """Give the lock back."""
        held, self._lock = self._lock, None
        if held is not None:
            held.close()

    def read(self, name: str) -> Any:
        """The file's JSON value, or None when it is missing or spoilt."""
        try:
            return json.loads((self._directory / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def write(self, name: str, value: Any) -> bool:
        """Replace the file; False when it can't be written (the caller decides what that forbids)."""
        content = json.dumps(value, separators=(",", ":"))
        try:
            self._replace(name, content)
        except OSError as error:
            if error.errno not in _NO_ROOM or not self._give_up_ballast():
                return False
            try:
                self._replace(name, content)
            except OSError:
                return False
            return True
        self._keep_ballast()
        return True

    def _replace(self, name: str, content: str) -> None:
        target = self._directory / name
        draft = self._directory / f"{name}.new"
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with open(descriptor, "w", encoding="utf-8") as handle:  # noqa: PTH123 - a descriptor with a mode
                handle.write(content)
                handle.flush()
                os.fsync(handle.fileno())
            draft.replace(target)
        except OSError:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise

    def _give_up_ballast(self) -> bool:
        try:
            (self._directory / "ballast").unlink()
        except OSError:
            return False
        return True

    def _keep_ballast(self) -> None:
        ballast = self._directory / "ballast"
        with contextlib.suppress(OSError):
            if not ballast.exists():
                try:
                    ballast.write_bytes(b"\0" * _BALLAST_BYTES)
                except OSError:
                    ballast.unlink()
