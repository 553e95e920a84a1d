"""Parameter Store: policies behind the label `in-force`, and the pause switch."""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from proctor.adapters.aws_errors import translated
from proctor.domain.errors import InvalidInputError, NotFoundError, TerminalError
from proctor.domain.policy import IN_FORCE, PolicyDraft, PolicyInForce, pause_parameter, policy_parameter

if TYPE_CHECKING:
    from proctor.adapters.aws_clients import AwsClients

_KEPT_SECONDS = 60.0
_READ_AT_ONCE = 10
NOT_PAUSED = "off"


class ParameterPolicies[P]:
    """Implements the PolicyStore port for one function. `parse` turns JSON into the policy or raises InvalidInputError."""

    def __init__(
        self,
        clients: "AwsClients",
        function: str,
        clusters: tuple[str, ...],
        parse: Callable[[str], P],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the clients, whose policies these are, and the parser."""
        self._clients = clients
        self._names = {policy_parameter(c, function): c for c in clusters}
        self._function = function
        self._parse = parse
        self._monotonic = monotonic
        self._kept: dict[str, PolicyInForce[P]] = {}
        self._kept_at: float | None = None

    def in_force(self) -> Mapping[str, PolicyInForce[P]]:
        """Policies in force, cached for 60 s; one call per ten clusters.

        A version that this release can't read any more leaves the one read before in force, else its cluster without policy.
        """
        if self._kept_at is None or self._monotonic() - self._kept_at >= _KEPT_SECONDS:
            found: dict[str, PolicyInForce[P]] = {}
            for name, (version, value) in read_parameters(
                self._clients, [f"{n}:{IN_FORCE}" for n in self._names]
            ).items():
                cluster = self._names[name]
                try:
                    found[cluster] = PolicyInForce(cluster, version, self._parse(value))
                except InvalidInputError:
                    if cluster in self._kept:
                        found[cluster] = self._kept[cluster]
            self._kept, self._kept_at = found, self._monotonic()
        return dict(self._kept)

    def draft(self, cluster: str) -> PolicyDraft | None:
        """The newest version, and whether the label stands on it; two calls."""
        return newest_draft(self._clients, cluster, policy_parameter(cluster, self._function), self._parse)

    def put_in_force(self, parameter_name: str, version: int) -> None:
        """Move the label; the next read here sees it."""
        label_in_force(self._clients, parameter_name, version)
        self._kept_at = None


class ParameterPause:
    """Implements the PauseSwitch port: any value but `off` pauses, and is the reason shown."""

    def __init__(self, clients: "AwsClients", clusters: tuple[str, ...]) -> None:
        """Take the clients and the governed clusters."""
        self._clients = clients
        self._names = {pause_parameter(c): c for c in clusters}

    def paused_clusters(self) -> Mapping[str, str]:
        """Read at every call; a missing parameter means not paused."""
        found = read_parameters(self._clients, list(self._names))
        return {self._names[n]: v for n, (_, v) in found.items() if v.strip().lower() != NOT_PAUSED}


def newest_draft(
    clients: "AwsClients", cluster: str, name: str, parse: Callable[[str], object]
) -> PolicyDraft | None:
    """The newest version of a parameter, and whether the label stands on it; two calls."""
    newest = read_parameters(clients, [name]).get(name)
    if newest is None:
        return None
    labelled = read_parameters(clients, [f"{name}:{IN_FORCE}"]).get(name)
    return draft_of(cluster, name, newest, labelled, parse)


def draft_of(
    cluster: str,
    name: str,
    newest: tuple[int, str],
    labelled: tuple[int, str] | None,
    parse: Callable[[str], object],
) -> PolicyDraft:
    """A draft from (version, value) of the newest version and of the one under the label."""
    version, value = newest
    error: str | None = None
    try:
        parse(value)
    except InvalidInputError as invalid:
        error = str(invalid)
    return PolicyDraft(cluster, name, version, labelled is not None and labelled[0] == version, error)


def label_in_force(clients: "AwsClients", name: str, version: int) -> None:
    """Move the label `in-force` to a version. Raises TerminalError when it is refused."""
    with translated("ssm:LabelParameterVersion"):
        answer = clients.ssm().label_parameter_version(Name=name, ParameterVersion=version, Labels=[IN_FORCE])
    if answer.get("InvalidLabels"):
        raise TerminalError(f"ssm:LabelParameterVersion refused the label on {name}:{version}")


def read_parameters(clients: "AwsClients", names: list[str]) -> dict[str, tuple[int, str]]:
    """Name without selector → (version, value); names that don't exist are left out."""
    found: dict[str, tuple[int, str]] = {}
    for start in range(0, len(names), _READ_AT_ONCE):
        found |= _read_chunk(clients, names[start : start + _READ_AT_ONCE])
    return found


def _read_chunk(clients: "AwsClients", names: list[str]) -> dict[str, tuple[int, str]]:
    """One call. Should the service ever refuse a chunk for one missing name, the others are read one by one."""
    try:
        with translated("ssm:GetParameters"):
            answer = clients.ssm().get_parameters(Names=names)
    except NotFoundError:
        if len(names) == 1:
            return {}
        return {k: v for name in names for k, v in _read_chunk(clients, [name]).items()}
    return {p["Name"].partition(":")[0]: (p["Version"], p["Value"]) for p in answer["Parameters"]}
