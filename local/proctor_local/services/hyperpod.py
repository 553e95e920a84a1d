"""SageMaker HyperPod: the cluster and node actions Proctor reads, and reboot, replace and delete of nodes.

Shapes and limits: the SageMaker API reference. The changes are states that move by timers, not machines: a
replaced node gets a new instance id, a rebooted one is Pending for a while. NodeIds are refused one by one,
in ``Failed``.
"""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proctor_local.emulator.calls import Action, ApiCall, ApiError, Check
from proctor_local.services.hyperpod_store import Cluster, ClusterStore, Node
from proctor_local.timers import Timers

NODE_CHANGE_SECONDS = 0.5
MAX_PAGE = 100
DEFAULT_PAGE = 10


class HyperPod:
    """The actions, over a store of clusters."""

    def __init__(self, store: ClusterStore, timers: Timers) -> None:
        self.store = store
        self._timers = timers

    def actions(self) -> dict[str, Action]:
        """The actions by name, for ``Hooks.add_service("sagemaker", ...)``."""
        named = self._cluster_resources
        return {
            "ListClusters": Action(self.list_clusters),
            "DescribeCluster": Action(self.describe_cluster, named),
            "ListClusterNodes": Action(self.list_nodes, named),
            "DescribeClusterNode": Action(self.describe_node, named),
            "BatchRebootClusterNodes": Action(self.reboot_nodes, named),
            "BatchReplaceClusterNodes": Action(self.replace_nodes, named),
            "BatchDeleteClusterNodes": Action(self.delete_nodes, named),
        }

    def list_clusters(self, call: ApiCall) -> dict[str, Any]:
        """ListClusters, by name."""
        mine = [c for c in self.store.all() if (c.account, c.region) == (call.account, call.region)]
        contains = str(call.input.get("NameContains") or "")
        summaries = [
            {
                "ClusterArn": c.arn,
                "ClusterName": c.name,
                "ClusterStatus": c.status,
                "CreationTime": c.created_at.timestamp(),
            }
            for c in sorted(mine, key=lambda c: c.name)
            if contains in c.name
        ]
        return _paged(call, "ClusterSummaries", summaries)

    def describe_cluster(self, call: ApiCall) -> dict[str, Any]:
        """DescribeCluster."""
        cluster = self._cluster(call)
        groups: dict[str, list[Node]] = {}
        for node in cluster.nodes.values():
            groups.setdefault(node.instance_group_name, []).append(node)
        answer: dict[str, Any] = {
            "ClusterArn": cluster.arn,
            "ClusterName": cluster.name,
            "ClusterStatus": cluster.status,
            "CreationTime": cluster.created_at.timestamp(),
            "NodeRecovery": cluster.node_recovery,
            "InstanceGroups": [
                {
                    "InstanceGroupName": name,
                    "InstanceType": nodes[0].instance_type,
                    "CurrentCount": len(nodes),
                    "TargetCount": len(nodes),
                    "Status": "InService",
                    "ThreadsPerCore": 1,
                }
                for name, nodes in groups.items()
            ],
        }
        if cluster.node_provisioning_mode:
            answer["NodeProvisioningMode"] = cluster.node_provisioning_mode
        return answer

    def list_nodes(self, call: ApiCall) -> dict[str, Any]:
        """ListClusterNodes; CreationTimeAfter and CreationTimeBefore are epoch seconds on the wire."""
        contains = str(call.input.get("InstanceGroupNameContains") or "")
        after, before = call.input.get("CreationTimeAfter"), call.input.get("CreationTimeBefore")
        nodes = [
            n
            for n in self._cluster(call).nodes.values()
            if contains in n.instance_group_name
            and (after is None or n.launched_at.timestamp() > after)
            and (before is None or n.launched_at.timestamp() < before)
        ]
        with_logical = bool(call.input.get("IncludeNodeLogicalIds"))
        return _paged(
            call, "ClusterNodeSummaries", [_summary(node, with_logical=with_logical) for node in nodes]
        )

    def describe_node(self, call: ApiCall) -> dict[str, Any]:
        """DescribeClusterNode, by NodeId or NodeLogicalId."""
        cluster = self._cluster(call)
        wanted, logical = call.input.get("NodeId"), call.input.get("NodeLogicalId")
        for node in cluster.nodes.values():
            if node.instance_id == wanted or (logical and node.node_logical_id == logical):
                details = _summary(node, with_logical=True)
                return {"NodeDetails": details | {"PrivatePrimaryIp": node.private_ip}}
        raise ApiError(
            "ResourceNotFound", f"Node {wanted or logical} was not found in cluster {cluster.name}."
        )

    def reboot_nodes(self, call: ApiCall) -> dict[str, Any]:
        """BatchRebootClusterNodes: Running or Failure becomes Pending, then Running."""

        def reboot(cluster: Cluster, node: Node) -> None:
            node.status = "Pending"
            self._later(lambda: self._settle(cluster, node.instance_id))

        return self._each(call, reboot)

    def replace_nodes(self, call: ApiCall) -> dict[str, Any]:
        """BatchReplaceClusterNodes: the node shuts down and a fresh instance takes its place."""

        def replace(cluster: Cluster, node: Node) -> None:
            node.status = "ShuttingDown"
            self._later(lambda: self._swap(cluster, node.instance_id))

        return self._each(call, replace)

    def delete_nodes(self, call: ApiCall) -> dict[str, Any]:
        """BatchDeleteClusterNodes: the node shuts down and is gone."""

        def delete(cluster: Cluster, node: Node) -> None:
            node.status = "ShuttingDown"
            self._later(lambda: self.store.remove_node(cluster, node.instance_id))

        answer = self._each(call, delete, missing="NodeIdNotFound", refused="InvalidNodeStatus")
        answer["Failed"] = [{"Code": item.pop("ErrorCode"), **item} for item in answer["Failed"]]
        return answer

    def _each(
        self,
        call: ApiCall,
        act: Callable[[Cluster, Node], None],
        missing: str = "InstanceIdNotFound",
        refused: str = "InvalidInstanceStatus",
    ) -> dict[str, Any]:
        cluster, done, failed = self._cluster(call), [], []
        for node_id in call.input.get("NodeIds") or []:
            node = cluster.nodes.get(node_id)
            if node is None:
                failed.append(
                    {"NodeId": node_id, "ErrorCode": missing, "Message": f"{node_id} was not found."}
                )
            elif node.status not in ("Running", "Failure"):
                failed.append(
                    {"NodeId": node_id, "ErrorCode": refused, "Message": f"{node_id} is {node.status}."}
                )
            else:
                act(cluster, node)
                done.append(node_id)
        return {"Successful": done, "Failed": failed}

    def _settle(self, cluster: Cluster, instance_id: str) -> None:
        node = cluster.nodes.get(instance_id)
        if node is not None and node.status == "Pending":
            node.status = "Running"

    def _swap(self, cluster: Cluster, instance_id: str) -> None:
        if instance_id in cluster.nodes:
            fresh = self.store.replace_node(cluster, instance_id)
            self._later(lambda: self._settle(cluster, fresh.instance_id))

    def _later(self, function: Callable[[], None]) -> None:
        self._timers.after(NODE_CHANGE_SECONDS, function)

    def _cluster(self, call: ApiCall) -> Cluster:
        name = str(call.input.get("ClusterName") or "")
        cluster = self.store.find(call.account, call.region, name)
        if cluster is None:
            raise ApiError("ResourceNotFound", f"Cluster with name or ARN {name} was not found.")
        return cluster

    def _cluster_resources(self, call: ApiCall) -> list[Check]:
        name = str(call.input.get("ClusterName") or "")
        cluster = self.store.find(call.account, call.region, name)
        if cluster is not None:
            return [Check((cluster.arn,))]
        unknown = (
            name
            if name.startswith("arn:")
            else f"arn:aws:sagemaker:{call.region}:{call.account}:cluster/{name}"
        )
        return [Check((unknown,))]


def _summary(node: Node, *, with_logical: bool) -> dict[str, Any]:
    status: dict[str, Any] = {"Status": node.status}
    if node.message:
        status["Message"] = node.message
    summary: dict[str, Any] = {
        "InstanceGroupName": node.instance_group_name,
        "InstanceId": node.instance_id,
        "InstanceType": node.instance_type,
        "LaunchTime": node.launched_at.timestamp(),
        "InstanceStatus": status,
        "PrivateDnsHostname": _hostname(node),
    }
    if with_logical and node.node_logical_id:
        summary["NodeLogicalId"] = node.node_logical_id
    return summary


def _hostname(node: Node) -> str:
    return "ip-" + node.private_ip.replace(".", "-") + ".ec2.internal"


def _paged(call: ApiCall, member: str, items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    size, token = call.input.get("MaxResults") or DEFAULT_PAGE, call.input.get("NextToken")
    if not isinstance(size, int) or not 1 <= size <= MAX_PAGE:
        raise ApiError("ValidationException", f"MaxResults must be between 1 and {MAX_PAGE}.")
    try:
        start = int(base64.urlsafe_b64decode(token)) if token else 0
    except (ValueError, binascii.Error) as error:
        raise ApiError("ValidationException", "NextToken is not valid.") from error
    answer: dict[str, Any] = {member: items[start : start + size]}
    if start + size < len(items):
        answer["NextToken"] = base64.urlsafe_b64encode(str(start + size).encode()).decode()
    return answer
