"""Runs one Slurm command by argv list, streams its lines, and never waits for ever."""

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Protocol

from proctor_agent.errors import SlurmError

_CHUNK = 65_536
_TURN_SECONDS = 2.0
_LONGEST_ERROR = 2_000
_LARGEST_OUTPUT = 256_000_000
# Words of Slurm's clients when nothing answers, and for what may pass in a moment.
_SILENT = ("Unable to contact slurm controller", "Socket timed out", "Connection refused", "connect failure")
_TRANSIENT = (
    "Slurm backup controller in standby mode",
    "Slurm temporarily unable to accept job",
    "Unable to contact the slurm database",
    "Problem talking to the database",
    "Invalid node state specified",
)


class Commands(Protocol):
    """What the reads and writes need of a runner."""

    def lines(self, argv: Sequence[str], seconds: float) -> Iterator[str]:
        """Stream the output; SlurmError at the end when the command failed."""
        ...

    def run(self, argv: Sequence[str], seconds: float) -> str:
        """The whole output."""
        ...


class SlurmCommands:
    """Runs scontrol, sinfo, squeue, sacct and sacctmgr from one directory, in UTC and the C locale."""

    def __init__(self, bin_directory: str, slurm_conf: str = "") -> None:
        """Commands not in the directory are looked up on PATH."""
        self._path = os.pathsep.join((bin_directory, os.environ.get("PATH", ""), "/usr/bin", "/usr/sbin"))
        # Two commands at once would need their memory at once; a slow one is not waited for, though.
        self._turn = threading.Lock()
        self._environment = {"PATH": self._path, "LC_ALL": "C", "TZ": "UTC"}
        conf = slurm_conf or os.environ.get("SLURM_CONF", "")
        if conf:
            self._environment["SLURM_CONF"] = conf

    def run(self, argv: Sequence[str], seconds: float) -> str:
        """The whole output of a short command."""
        return "\n".join(self.lines(argv, seconds))

    def lines(self, argv: Sequence[str], seconds: float) -> Iterator[str]:
        """Each line as it comes. SlurmError when the command is missing, fails, or takes too long."""
        program = shutil.which(argv[0], path=self._path)
        if program is None:
            raise SlurmError(f"{argv[0]}: not found in {self._path}")
        has_turn = self._turn.acquire(timeout=_TURN_SECONDS)
        try:
            process = self._start(program, argv)
            with contextlib.closing(_Output(process, seconds, argv[0])) as output:
                yield from output.lines()
        finally:
            if has_turn:
                self._turn.release()

    def _start(self, program: str, argv: Sequence[str]) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [program, *argv[1:]],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            cwd="/",
        )


class _Output:
    """Reads both pipes of one process until the end or the deadline."""

    def __init__(self, process: "subprocess.Popen[bytes]", seconds: float, name: str) -> None:
        self._process = process
        self._deadline = time.monotonic() + seconds
        self._seconds = seconds
        self._name = name
        self._error = b""
        self._selector = selectors.DefaultSelector()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                self._selector.register(pipe, selectors.EVENT_READ)

    def lines(self) -> Iterator[str]:
        rest = b""
        for chunk in self._chunks():
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield line.decode("utf-8", "replace")
        if rest:
            yield rest.decode("utf-8", "replace")
        self._check()

    def _chunks(self) -> Iterator[bytes]:
        total = 0
        while self._selector.get_map():
            left = self._deadline - time.monotonic()
            ready = self._selector.select(left) if left > 0 else []
            if not ready:
                raise SlurmError(f"{self._name}: no answer within {self._seconds:g} s", is_silent=True)
            for key, _ in ready:
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    self._selector.unregister(key.fileobj)
                elif key.fileobj is self._process.stderr:
                    self._error = (self._error + chunk)[:_LONGEST_ERROR]
                else:
                    total += len(chunk)
                    if total > _LARGEST_OUTPUT:
                        raise SlurmError(f"{self._name}: output is over {_LARGEST_OUTPUT} bytes")
                    yield chunk

    def _check(self) -> None:
        try:
            status = self._process.wait(max(0.1, self._deadline - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            raise SlurmError(
                f"{self._name}: did not end within {self._seconds:g} s", is_transient=True
            ) from error
        if status != 0:
            said = " ".join(self._error.decode("utf-8", "replace").split())[:300]
            raise SlurmError(
                f"{self._name}: {said or f'exit status {status}'}",
                is_transient=any(words in said for words in _TRANSIENT),
                is_silent=any(words in said for words in _SILENT),
            )

    def close(self) -> None:
        self._selector.close()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(2)
