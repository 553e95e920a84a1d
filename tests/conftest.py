"""What holds for every test: no network but loopback, no AWS or Proctor environment, repeatable properties.

The network ban is an audit hook, which no library call can go around and no test can take away.
"""

import ipaddress
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

CONNECTING_EVENTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
RESOLVING_EVENTS = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})
OWN_PREFIXES = ("AWS_", "PROCTOR_")

# Credentials that no AWS accepts, and nothing to read others from.
AWS_ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}


class NetworkBannedError(RuntimeError):
    """A test wanted to speak to something outside this machine."""


class LeakedEnvironmentError(AssertionError):
    """A test left an AWS_ or PROCTOR_ variable changed for the next one."""


def is_loopback(host: object) -> bool:
    """Whether a host, as a socket call takes it, is this machine: "127.0.0.1", "::1", "localhost", None."""
    name = host.decode("idna") if isinstance(host, bytes) else host
    if name is None or name in {"", "localhost"}:
        return True
    try:
        return ipaddress.ip_address(str(name)).is_loopback
    except ValueError:
        return False


def refuse_network(event: str, args: tuple[Any, ...]) -> None:
    """Audit hook: refuse to resolve or reach any host but loopback. Unix sockets stay open.

    Raises:
        NetworkBannedError: naming the host.
    """
    if event in RESOLVING_EVENTS:
        host = args[0]
    elif event in CONNECTING_EVENTS and isinstance(args[1], tuple):
        host = args[1][0]
    else:
        return
    if not is_loopback(host):
        message = f"{event} to {host!r}: a test reaches loopback only; use a fake, or a server on 127.0.0.1"
        raise NetworkBannedError(message)


def own_environment() -> dict[str, str]:
    """The AWS_ and PROCTOR_ variables as they are now."""
    return {name: value for name, value in os.environ.items() if name.startswith(OWN_PREFIXES)}


def pytest_configure() -> None:
    """Before any test is imported: clean the environment, close the network, choose hypothesis' profile."""
    for name in own_environment():
        del os.environ[name]
    os.environ.update(AWS_ENVIRONMENT)
    sys.addaudithook(refuse_network)

    # Shared machines are slow at times, which says nothing about the code.
    quiet = [HealthCheck.too_slow]
    settings.register_profile("local", deadline=None, suppress_health_check=quiet)
    settings.register_profile(
        "ci", deadline=None, suppress_health_check=quiet, derandomize=True, database=None
    )
    settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(autouse=True)
def _environment_stays() -> Iterator[None]:
    before = own_environment()
    yield
    after = own_environment()
    if after != before:
        for name in after:
            del os.environ[name]
        os.environ.update(before)
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        raise LeakedEnvironmentError(
            f"the test left {', '.join(changed)} changed; set it with monkeypatch.setenv"
        )
