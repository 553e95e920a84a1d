"""Waiting with a deadline, and free ports on loopback."""

import random
import socket
import time
from collections.abc import Callable

from proctor_slurm.errors import SlurmStackError

_LOWEST_PORT = 15000
_HIGHEST_PORT = 32000
_TRIES = 200


def wait_until(is_done: Callable[[], bool], seconds: float, what: str, every: float = 0.05) -> float:
    """Poll until true; the seconds it took. SlurmStackError names `what` when the time is up."""
    started = time.monotonic()
    while not is_done():
        if time.monotonic() - started > seconds:
            raise SlurmStackError(f"{what}: not within {seconds:g} s")
        time.sleep(every)
    return time.monotonic() - started


def is_listening(port: int) -> bool:
    """Whether something accepts connections on this loopback port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("0.0.0.0", port))  # noqa: S104 - slurmd binds every address; so must the probe
        except OSError:
            return False
    return True


def free_port_block(count: int) -> int:
    """First of `count` consecutive free ports, below the kernel's range for outgoing connections."""
    chooser = random.SystemRandom()
    for _ in range(_TRIES):
        first = chooser.randrange(_LOWEST_PORT, _HIGHEST_PORT - count)
        if all(_is_free(port) for port in range(first, first + count)):
            return first
    raise SlurmStackError(f"no {count} consecutive free ports between {_LOWEST_PORT} and {_HIGHEST_PORT}")
