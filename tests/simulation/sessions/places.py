"""Where sessions go: nodes of governed clusters under HyperPod targets and under bare ids, and places that are not ours."""

from dataclasses import dataclass
from random import Random

from tests.simulation.sessions.scenario import CLUSTERS

type Place = tuple[str | None, str | None, str]
"""Governed cluster or None, instance group, target."""


@dataclass(frozen=True, slots=True)
class TrueNode:
    """A node of a governed cluster."""

    cluster: str
    group: str
    instance_id: str

    @property
    def target(self) -> str:
        """Its HyperPod target."""
        return f"sagemaker-cluster:{CLUSTERS[self.cluster]}_{self.group}-{self.instance_id}"


NODES = tuple(
    TrueNode(cluster, group, f"i-{number:02d}{index:02d}aaaaaaaaaaaa5")
    for number, cluster in enumerate(CLUSTERS, 1)
    for index, group in enumerate(("login", "gpu-a", "controller"))
)

FOREIGN: tuple[Place, ...] = (
    (None, None, "i-0feed0feed0feed00"),
    (None, None, "mi-0feed0feed0feed01"),
    (None, None, "sagemaker-cluster:zzzzzz999999_login-i-0feed0feed0feed02"),
)


def draw_place(chance: Random) -> Place:
    """Mostly login nodes, at times a bare instance id, the controller, or somewhere else in the account."""
    dice = chance.random()
    if dice < 0.07:
        return chance.choice(FOREIGN)
    node = NODES[chance.choice([0, 0, 0, 1, 3, 3, 4])]
    if dice < 0.12:
        node = NODES[chance.choice([2, 5])]
    if dice > 0.93:
        return node.cluster, node.group, node.instance_id
    return node.cluster, node.group, node.target
