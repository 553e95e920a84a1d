from datetime import UTC, datetime
from typing import Any

import pytest

from proctor.adapters.node_list import SageMakerNodeList
from proctor.domain.agents import ListedNode
from proctor.domain.errors import DeniedError, ThrottledError
from tests.adapters.aws import ScriptedClients, json_error

LAUNCHED, UPDATED = datetime(2026, 9, 1, 9, tzinfo=UTC), datetime(2026, 9, 1, 9, 30, tzinfo=UTC)


def summary(n: int, **fields: Any) -> dict[str, Any]:
    return {
        "InstanceGroupName": "gpu",
        "InstanceId": f"i-{n:017x}",
        "InstanceType": "ml.p5.48xlarge",
        "LaunchTime": LAUNCHED.timestamp(),
        "InstanceStatus": {"Status": "Running"},
        **fields,
    }


def test_a_node_with_its_name_in_slurm() -> None:
    host = {"PrivateDnsHostname": "ip-10-1-0-7.eu-west-1.compute.internal"}
    aws = ScriptedClients(
        ListClusterNodes={
            "ClusterNodeSummaries": [summary(1, **host, LastSoftwareUpdateTime=UPDATED.timestamp())]
        }
    )
    assert SageMakerNodeList(aws).nodes("alpha") == {
        "i-00000000000000001": ListedNode("i-00000000000000001", "gpu", LAUNCHED, "ip-10-1-0-7", UPDATED)
    }


def test_a_node_without_name_or_instance() -> None:
    aws = ScriptedClients(ListClusterNodes={"ClusterNodeSummaries": [summary(1), summary(2, InstanceId="")]})
    (node,) = SageMakerNodeList(aws).nodes("alpha").values()
    assert (node.node, node.updated_at) == (None, None)


def test_all_pages_once_a_minute_for_each_cluster() -> None:
    pages = [
        {"ClusterNodeSummaries": [summary(1)], "NextToken": "t"},
        {"ClusterNodeSummaries": [summary(2)]},
        {"ClusterNodeSummaries": []},
    ]
    seconds = [0.0]
    aws = ScriptedClients(ListClusterNodes=pages)
    nodes = SageMakerNodeList(aws, lambda: seconds[0])
    assert len(nodes.nodes("alpha")) == 2
    assert nodes.nodes("beta") == {}
    seconds[0] = 59.9
    assert len(nodes.nodes("alpha")) == 2
    assert aws.count("ListClusterNodes") == 3
    seconds[0] = 60.0
    assert nodes.nodes("alpha") == {}
    assert aws.sent[0][1]["MaxResults"] == 100


def test_a_cluster_that_is_gone_has_no_nodes_and_a_refusal_is_no_answer() -> None:
    assert (
        SageMakerNodeList(ScriptedClients(ListClusterNodes=json_error("ResourceNotFound"))).nodes("alpha")
        == {}
    )
    for code, error in (("ThrottlingException", ThrottledError), ("AccessDeniedException", DeniedError)):
        with pytest.raises(error):
            SageMakerNodeList(ScriptedClients(ListClusterNodes=json_error(code))).nodes("alpha")


def test_a_node_that_is_not_in_the_list_is_looked_for_again_after_ten_seconds() -> None:
    pages = [{"ClusterNodeSummaries": [summary(n) for n in range(count)]} for count in (1, 2, 2)]
    seconds = [0.0]
    aws = ScriptedClients(ListClusterNodes=pages)
    nodes = SageMakerNodeList(aws, lambda: seconds[0])
    old, new = (summary(n)["InstanceId"] for n in range(2))
    assert new not in nodes.nodes("alpha", new)
    seconds[0] = 9.9
    assert new not in nodes.nodes("alpha", new)
    seconds[0] = 10.0
    assert old in nodes.nodes("alpha", old)
    assert aws.count("ListClusterNodes") == 1
    assert new in nodes.nodes("alpha", new)
    seconds[0] = 60.0
    assert new in nodes.nodes("alpha", new)
    assert aws.count("ListClusterNodes") == 2
