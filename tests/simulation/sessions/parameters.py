"""Parameter Store: versions and labels of the policies, and the pause parameter."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.core.scheduler import Scheduler
from tests.simulation.core.story import Story
from tests.simulation.sessions.scenario import CLUSTERS

LABEL = "in-force"


def policy_name(cluster: str) -> str:
    """The parameter of a cluster's policy."""
    return f"/proctor/{cluster}/session_limits"


@dataclass
class Parameters:
    """Values by name and version; `in_force` keeps every move of the label with its time."""

    scheduler: Scheduler
    story: Story
    values: dict[str, list[str]] = field(default_factory=dict)
    in_force: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    paused: dict[str, list[tuple[float, bool]]] = field(default_factory=dict)

    def write(self, name: str, value: Mapping[str, Any] | str) -> int:
        """A new version, without a label."""
        text = value if isinstance(value, str) else json.dumps(value)
        self.values.setdefault(name, []).append(text)
        self.story.tell("operator", f"writes {name} version {len(self.values[name])}: {text}")
        return len(self.values[name])

    def label(self, name: str, version: int) -> dict[str, list[str]]:
        """Move the label."""
        self.in_force.setdefault(name, []).append((self.scheduler.now, version))
        self.story.tell("ParameterStore", f"puts {name} version {version} in force")
        return {"InvalidLabels": []}

    def set_pause(self, cluster: str, *, is_paused: bool) -> None:
        """The pause switch."""
        self.paused.setdefault(cluster, []).append((self.scheduler.now, is_paused))
        self.story.tell("operator", f"{'pauses' if is_paused else 'resumes'} {cluster}")

    def read(self, names: Sequence[str]) -> dict[str, Any]:
        """GetParameters, with or without a label selector."""
        found = [row for row in map(self._one, names) if row is not None]
        return {"Parameters": found, "InvalidParameters": []}

    def policy(self, cluster: str, version: int) -> dict[str, Any]:
        """A version's policy, as written."""
        policy: dict[str, Any] = json.loads(self.values[policy_name(cluster)][version - 1])
        return policy

    def was_in_force(self, cluster: str, version: int, start: float, end: float) -> bool:
        """Whether the label stood on a version at some moment of a span."""
        moves = self.in_force.get(policy_name(cluster), [])
        following = [at for at, _ in moves[1:]] + [float("inf")]
        spans = zip(moves, following, strict=True)
        return any(v == version and at <= end and until >= start for (at, v), until in spans)

    def final_policy(self, cluster: str) -> dict[str, Any]:
        """What is in force now."""
        return self.policy(cluster, self.in_force[policy_name(cluster)][-1][1])

    def is_paused_throughout(self, cluster: str, start: float, end: float) -> bool:
        """Whether the switch stood on pause all the time from `start` to `end`."""
        is_paused = False
        for at, value in self.paused.get(cluster, []):
            if at > end:
                break
            if at > start and not value:
                return False
            if at <= start:
                is_paused = value
        return is_paused

    def _one(self, name: str) -> dict[str, Any] | None:
        bare, _, label = name.partition(":")
        if bare in {f"/proctor/{c}/pause" for c in CLUSTERS}:
            moves = self.paused.get(bare.split("/")[2], [])
            return (
                {"Name": bare, "Version": 1, "Value": "maintenance" if moves[-1][1] else "off"}
                if moves
                else None
            )
        if bare not in self.values:
            return None
        version = len(self.values[bare])
        if label:
            moves_of_label = self.in_force.get(bare, [])
            if not moves_of_label:
                return None
            version = moves_of_label[-1][1]
        return {"Name": bare, "Version": version, "Value": self.values[bare][version - 1]}
