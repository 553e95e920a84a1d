"""SageMaker HyperPod: cluster ids by DescribeCluster, node ids by ListClusterNodes.

The id is the last part of the ClusterArn; a cluster made again under its name gets another. Both are cached, ids ten
minutes and nodes one; an unknown id is looked up again at once, but not more often than once a minute.
"""

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from proctor.adapters.aws_errors import translated
from proctor.domain.errors import NotFoundError
from proctor.domain.sessions import GovernedClusters, Node, Target

if TYPE_CHECKING:
    from proctor.adapters.aws_clients import AwsClients

_IDS_FOR_SECONDS = 600.0
_NODES_FOR_SECONDS = 60.0
_PAGE_SIZE = 100


class SageMakerClusters:
    """Implements the ClusterApi port for the clusters named in the settings."""

    def __init__(
        self,
        clients: "AwsClients",
        clusters: tuple[str, ...],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the clients and the governed clusters' names."""
        self._clients = clients
        self._clusters = clusters
        self._monotonic = monotonic
        self._ids: dict[str, str] = {}
        self._ids_at: float | None = None
        self._nodes: dict[str, Node] = {}
        self._nodes_at: float | None = None

    def governed(self, targets: Iterable[Target]) -> GovernedClusters:
        """Ids always, nodes only if some target is a bare instance id."""
        wanted = list(targets)
        has_unknown = any(t.cluster_id is not None and t.cluster_id not in self._ids for t in wanted)
        if self._is_due(self._ids_at, _NODES_FOR_SECONDS if has_unknown else _IDS_FOR_SECONDS):
            self._ids = self._read_ids()
            self._ids_at = self._monotonic()
        has_bare = any(t.cluster_id is None for t in wanted)
        if has_bare and self._is_due(self._nodes_at, _NODES_FOR_SECONDS):
            self._nodes = {
                node.instance_id: node for name in self._clusters for node in self._read_nodes(name)
            }
            self._nodes_at = self._monotonic()
        return GovernedClusters(dict(self._ids), dict(self._nodes))

    def _is_due(self, read_at: float | None, keep_seconds: float) -> bool:
        return read_at is None or self._monotonic() - read_at >= keep_seconds

    def _read_ids(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in self._clusters:
            try:
                with translated("sagemaker:DescribeCluster"):
                    cluster = self._clients.sagemaker().describe_cluster(ClusterName=name)
            except NotFoundError:
                continue
            found[cluster["ClusterArn"].rpartition("/")[2]] = name
        return found

    def _read_nodes(self, cluster: str) -> list[Node]:
        nodes: list[Node] = []
        try:
            with translated("sagemaker:ListClusterNodes"):
                pages = (
                    self._clients.sagemaker()
                    .get_paginator("list_cluster_nodes")
                    .paginate(ClusterName=cluster, PaginationConfig={"PageSize": _PAGE_SIZE})
                )
                for page in pages:
                    nodes += [
                        Node(cluster, n.get("InstanceGroupName"), n["InstanceId"])
                        for n in page["ClusterNodeSummaries"]
                        if n.get("InstanceId")
                    ]
        except NotFoundError:
            return []
        return nodes
