"""Nodes of HyperPod clusters by ListClusterNodes: launch time, software update, and the Slurm name out of the host name.

PrivateDnsHostname is `ip-10-1-2-3.ec2.internal` or `ip-10-1-2-3.<region>.compute.internal`; its first part is the node's name
in Slurm.
"""

import time
from collections.abc import Callable, Mapping
from datetime import UTC
from typing import TYPE_CHECKING

from proctor.adapters.aws_errors import translated
from proctor.domain.agents import ListedNode
from proctor.domain.errors import NotFoundError

if TYPE_CHECKING:
    from mypy_boto3_sagemaker.type_defs import ClusterNodeSummaryTypeDef

    from proctor.adapters.aws_clients import AwsClients

_KEPT_SECONDS = 60.0
_KEPT_IF_NEW_SECONDS = 10.0
_PAGE_SIZE = 100


class SageMakerNodeList:
    """Implements the NodeList port. Cached for a minute, so that unknown instance ids cause no storm of listings."""

    def __init__(self, clients: "AwsClients", monotonic: Callable[[], float] = time.monotonic) -> None:
        """Take the clients."""
        self._clients = clients
        self._monotonic = monotonic
        self._read: dict[str, tuple[float, Mapping[str, ListedNode]]] = {}

    def nodes(self, cluster: str, looked_for: str | None = None) -> Mapping[str, ListedNode]:
        """Every node of a cluster; none when there is no such cluster."""
        kept = self._read.get(cluster)
        is_there = kept is not None and (looked_for is None or looked_for in kept[1])
        if kept is None or self._monotonic() - kept[0] >= (
            _KEPT_SECONDS if is_there else _KEPT_IF_NEW_SECONDS
        ):
            kept = (self._monotonic(), self._list(cluster))
            self._read[cluster] = kept
        return kept[1]

    def _list(self, cluster: str) -> dict[str, ListedNode]:
        found: dict[str, ListedNode] = {}
        try:
            with translated("sagemaker:ListClusterNodes"):
                pages = (
                    self._clients.sagemaker()
                    .get_paginator("list_cluster_nodes")
                    .paginate(ClusterName=cluster, PaginationConfig={"PageSize": _PAGE_SIZE})
                )
                for page in pages:
                    found |= {
                        n["InstanceId"]: _node(n) for n in page["ClusterNodeSummaries"] if n.get("InstanceId")
                    }
        except NotFoundError:
            return {}
        return found


def _node(row: "ClusterNodeSummaryTypeDef") -> ListedNode:
    host, updated_at = row.get("PrivateDnsHostname"), row.get("LastSoftwareUpdateTime")
    return ListedNode(
        instance_id=row["InstanceId"],
        instance_group=row.get("InstanceGroupName", ""),
        launched_at=row["LaunchTime"].astimezone(UTC),
        node=host.partition(".")[0] if host else None,
        updated_at=updated_at.astimezone(UTC) if updated_at else None,
    )
