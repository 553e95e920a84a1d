"""Reads slurmctld's log as it grows: a reconfigure or a partition update makes the agent look at once.

The log is a hint and gives the cause of a lost hold; without it the look every 5 s finds the same.
"""

from pathlib import Path

from proctor.domain.agent_protocol import UndoneBy

_MOST_BYTES = 262_144
_MARKS = (
    (b"slurmctld version", UndoneBy.RESTART),
    (b"Processing Reconfiguration Request", UndoneBy.RECONFIGURE),
    (b"update_part: setting state_up", UndoneBy.UPDATE),
)


class LogWatch:
    """Follows one file by size; a rotated or shortened file is read from its start."""

    def __init__(self) -> None:
        """No file is known yet."""
        self._path = ""
        self._inode = 0
        self._offset = 0

    def follow(self, path: str) -> None:
        """Follow this file from its present end."""
        if path == self._path or not path:
            return
        self._path = path
        try:
            status = Path(path).stat()
        except OSError:
            self._inode, self._offset = 0, 0
            return
        self._inode, self._offset = status.st_ino, status.st_size

    def news(self) -> UndoneBy | None:
        """The weightiest thing that was logged since the last call: restart, reconfigure, update; else None."""
        if not self._path:
            return None
        try:
            status = Path(self._path).stat()
            if status.st_ino != self._inode or status.st_size < self._offset:
                self._inode, self._offset = status.st_ino, 0
            if status.st_size == self._offset:
                return None
            with Path(self._path).open("rb") as log:
                log.seek(max(self._offset, status.st_size - _MOST_BYTES))
                text = log.read(_MOST_BYTES)
        except OSError:
            return None
        self._offset = status.st_size
        return next((cause for mark, cause in _MARKS if mark in text), None)
