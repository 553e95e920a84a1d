"""HyperPod clusters and their nodes.

Seeded by control calls and changed by the Batch*ClusterNodes actions.
"""

import re
import secrets
import string
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from proctor_local.clock import Clock

NODE_STATUSES = (
    "Running",
    "Failure",
    "Pending",
    "ShuttingDown",
    "SystemUpdating",
    "DeepHealthCheckInProgress",
    "NotFound",
    "DetachInProgress",
    "AttachInProgress",
)
_TARGET = re.compile(r"^sagemaker-cluster:([a-z0-9]{12})_(.+)-(i-[0-9a-f]{8,17})$")
_ALPHABET = string.ascii_lowercase + string.digits


@dataclass(slots=True)
class Node:
    """One node, with what ListClusterNodes and DescribeClusterNode show of it."""

    instance_id: str
    instance_group_name: str
    instance_type: str
    launched_at: datetime
    status: str = "Running"
    message: str = ""
    private_ip: str = ""
    node_logical_id: str = ""


@dataclass(slots=True)
class Cluster:
    """One cluster and its nodes by instance id."""

    name: str
    cluster_id: str
    account: str
    region: str
    created_at: datetime
    status: str = "InService"
    node_recovery: str = "Automatic"
    node_provisioning_mode: str = ""
    nodes: dict[str, Node] = field(default_factory=dict)

    @property
    def arn(self) -> str:
        """``arn:aws:sagemaker:<Region>:<account>:cluster/<12 of a-z0-9>``."""
        return f"arn:aws:sagemaker:{self.region}:{self.account}:cluster/{self.cluster_id}"

    def target(self, node: Node) -> str:
        """The Session Manager target of a node."""
        return f"sagemaker-cluster:{self.cluster_id}_{node.instance_group_name}-{node.instance_id}"


def new_instance_id() -> str:
    """``i-`` and 17 hexadecimal digits."""
    return "i-" + secrets.token_hex(9)[:17]


class ClusterStore:
    """All clusters, and the bare managed nodes (``i-...``, ``mi-...``) that also accept sessions."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._clusters: dict[tuple[str, str, str], Cluster] = {}
        self._plain_targets: set[str] = set()
        self._lock = threading.RLock()

    def reset(self) -> None:
        """Forget everything."""
        with self._lock:
            self._clusters.clear()
            self._plain_targets.clear()

    def seed(self, account: str, region: str, spec: Mapping[str, Any]) -> Cluster:
        """Make a cluster.

        ``{"name", "cluster_id"?, "groups": {group: {"type", "count", "instance_ids"?}}, ...}``. Raises
        ValueError naming the field that is wrong.
        """
        name, cluster_id = str(spec.get("name") or ""), str(spec.get("cluster_id") or _cluster_id())
        if not re.fullmatch(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}", name):
            raise ValueError(f"name = {name!r}: letters, digits and -, at most 63")
        if not re.fullmatch(r"[a-z0-9]{12}", cluster_id):
            raise ValueError(f"cluster_id = {cluster_id!r}: 12 of a-z0-9")
        cluster = Cluster(
            name,
            cluster_id,
            account,
            region,
            self._clock.now(),
            status=str(spec.get("status", "InService")),
            node_recovery=str(spec.get("node_recovery", "Automatic")),
            node_provisioning_mode=str(spec.get("node_provisioning_mode", "")),
        )
        for group, members in dict(spec.get("groups") or {}).items():
            self._add_group(cluster, str(group), members)
        with self._lock:
            self._clusters[(account, region, name)] = cluster
        return cluster

    def find(self, account: str, region: str, name_or_arn: str) -> Cluster | None:
        """The cluster of this name or ARN."""
        with self._lock:
            for cluster in self._clusters.values():
                if (cluster.account, cluster.region) == (account, region) and name_or_arn in (
                    cluster.name,
                    cluster.arn,
                ):
                    return cluster
        return None

    def all(self) -> list[Cluster]:
        """Every cluster."""
        with self._lock:
            return list(self._clusters.values())

    def add_plain_target(self, target: str) -> None:
        """Let a managed node that isn't HyperPod's accept sessions."""
        with self._lock:
            self._plain_targets.add(target)

    def is_connected(self, target: str) -> bool:
        """Whether a session may be started to this target: a plain one, or a running node of a cluster."""
        with self._lock:
            if target in self._plain_targets:
                return True
            match = _TARGET.match(target)
            if match is None:
                return any(
                    node.instance_id == target and node.status == "Running"
                    for cluster in self._clusters.values()
                    for node in cluster.nodes.values()
                )
            for cluster in self._clusters.values():
                node = cluster.nodes.get(match[3])
                if cluster.cluster_id == match[1] and node is not None:
                    return node.status == "Running" and node.instance_group_name == match[2]
        return False

    def change_node(self, instance_id: str, **changes: str) -> Node:
        """Set fields of a node (``status``, ``message``). Raises LookupError, ValueError."""
        status = changes.get("status")
        if status is not None and status not in NODE_STATUSES:
            raise ValueError(f"status = {status!r}: give one of {', '.join(NODE_STATUSES)}")
        with self._lock:
            node = self._node(instance_id)
            for name, value in changes.items():
                setattr(node, name, value)
        return node

    def replace_node(self, cluster: Cluster, instance_id: str) -> Node:
        """Put a fresh instance in a node's place; it keeps group, type, address and logical id."""
        with self._lock:
            old = cluster.nodes.pop(instance_id)
            fresh = Node(
                new_instance_id(),
                old.instance_group_name,
                old.instance_type,
                self._clock.now(),
                "Pending",
                private_ip=old.private_ip,
                node_logical_id=old.node_logical_id,
            )
            cluster.nodes[fresh.instance_id] = fresh
        return fresh

    def remove_node(self, cluster: Cluster, instance_id: str) -> None:
        """Take a node out of its cluster."""
        with self._lock:
            cluster.nodes.pop(instance_id, None)

    def _node(self, instance_id: str) -> Node:
        for cluster in self._clusters.values():
            if instance_id in cluster.nodes:
                return cluster.nodes[instance_id]
        raise LookupError(f"instance_id = {instance_id}: no cluster has this node")

    def _add_group(self, cluster: Cluster, group: str, members: Mapping[str, Any]) -> None:
        ids = list(members.get("instance_ids") or ())
        ids += [new_instance_id() for _ in range(int(members.get("count", 0)) - len(ids))]
        for instance_id in ids:
            number = len(cluster.nodes) + 1
            cluster.nodes[instance_id] = Node(
                instance_id,
                group,
                str(members.get("type", "ml.m5.xlarge")),
                self._clock.now(),
                private_ip=f"10.1.{number // 250}.{number % 250 + 1}",
                node_logical_id=f"{group}-{number}" if cluster.node_provisioning_mode == "Continuous" else "",
            )


def _cluster_id() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(12))
