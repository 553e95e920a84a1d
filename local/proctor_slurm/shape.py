"""What the cluster looks like: groups, nodes, GPUs, accounting. Plain values, no I/O."""

from dataclasses import dataclass, field

NODES_PER_SUBNET = 250


@dataclass(frozen=True)
class NodeGroup:
    """One HyperPod instance group: its nodes are in the partition of its name, and in `dev`."""

    instance_group_name: str
    node_count: int
    partition_qos: str | None = None
    gpus_per_node: int = 8


@dataclass(frozen=True)
class ClusterShape:
    """A cluster as HyperPod's own agent writes it: `dev` with every node, one more partition a group.

    `accounting` starts MariaDB and slurmdbd. `enforce` is AccountingStorageEnforce; empty means that limits
    are recorded and never bind, as in the public lifecycle scripts. `has_daemons` False makes every node a
    powered-down CLOUD node without slurmd, which only exercises slurmctld (5,000 nodes fit in 40 MB).
    """

    groups: tuple[NodeGroup, ...] = (NodeGroup("nlp", 2), NodeGroup("vision", 2))
    cluster_name: str = "university"
    accounting: bool = True
    enforce: tuple[str, ...] = ("associations", "limits", "qos")
    has_daemons: bool = True
    extra_lines: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        """Refuse an empty cluster and limits without accounting."""
        if self.node_count < 1:
            raise ValueError("groups: at least one node is needed")
        if self.enforce and not self.accounting:
            raise ValueError(f"enforce={self.enforce!r}: limits need accounting=True; pass enforce=()")

    @property
    def node_count(self) -> int:
        """Nodes of all groups."""
        return sum(group.node_count for group in self.groups)

    def nodes_of(self, group_index: int) -> tuple[str, ...]:
        """NodeNames of one group, `ip-10-<1 + group>-<block>-<1..250>`."""
        group = self.groups[group_index]
        return tuple(
            f"ip-10-{group_index + 1}-{number // NODES_PER_SUBNET}-{number % NODES_PER_SUBNET + 1}"
            for number in range(group.node_count)
        )

    def node_names(self) -> tuple[str, ...]:
        """Every NodeName, in the order of the groups."""
        return tuple(name for index in range(len(self.groups)) for name in self.nodes_of(index))
