"""Parameter Store as Proctor uses it: versions, the label `in-force`, and the pause switch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from proctor.domain.errors import InvalidInputError, NotFoundError
from proctor.domain.policy import PolicyDraft, PolicyInForce, policy_parameter

_KEPT_FOR = timedelta(seconds=60)


@dataclass
class FakePolicyStore[P]:
    """Every version of a function's policy in each governed cluster; version n is the n-th text written.

    With `clock`, what is in force is kept for 60 s as by the adapter, until this very store moves a label; without, it is read
    anew each time. `parse` raises InvalidInputError.
    """

    function: str
    clusters: tuple[str, ...]
    parse: Callable[[str], P]
    clock: Callable[[], datetime] | None = None
    versions: dict[str, list[str]] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    _kept: dict[str, PolicyInForce[P]] = field(default_factory=dict)
    _kept_at: datetime | None = None

    def write(self, cluster: str, text: str) -> int:
        """Someone writes a new version, valid or not; the label stays where it is."""
        texts = self.versions.setdefault(policy_parameter(cluster, self.function), [])
        texts.append(text)
        return len(texts)

    def in_force(self) -> Mapping[str, PolicyInForce[P]]:
        if not self._is_fresh():
            self._kept = self._read()
            self._kept_at = self.clock() if self.clock is not None else None
        return dict(self._kept)

    def draft(self, cluster: str) -> PolicyDraft | None:
        name = policy_parameter(cluster, self.function)
        texts = self.versions.get(name)
        if not texts:
            return None
        error: str | None = None
        try:
            self.parse(texts[-1])
        except InvalidInputError as invalid:
            error = str(invalid)
        return PolicyDraft(cluster, name, len(texts), self.labels.get(name) == len(texts), error)

    def put_in_force(self, parameter_name: str, version: int) -> None:
        if not 1 <= version <= len(self.versions.get(parameter_name, ())):
            message = f"ssm:LabelParameterVersion: ParameterVersionNotFound {parameter_name}:{version}"
            raise NotFoundError(message)
        self.labels[parameter_name] = version
        self._kept_at = None

    def _is_fresh(self) -> bool:
        if self.clock is None or self._kept_at is None:
            return False
        return timedelta(0) <= self.clock() - self._kept_at < _KEPT_FOR

    def _read(self) -> dict[str, PolicyInForce[P]]:
        found: dict[str, PolicyInForce[P]] = {}
        for cluster in self.clusters:
            name = policy_parameter(cluster, self.function)
            version = self.labels.get(name)
            if version is None:
                continue
            try:
                policy = self.parse(self.versions[name][version - 1])
            except InvalidInputError:
                if cluster in self._kept:
                    found[cluster] = self._kept[cluster]
            else:
                found[cluster] = PolicyInForce(cluster, version, policy)
        return found


@dataclass
class FakePauseSwitch:
    """Cluster → why it is paused."""

    paused: dict[str, str] = field(default_factory=dict)

    def paused_clusters(self) -> Mapping[str, str]:
        return dict(self.paused)
