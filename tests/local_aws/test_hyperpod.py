"""HyperPod clusters and nodes."""

import pytest

from proctor_local.aws_client import AwsClient, AwsError
from proctor_local.control import LocalAwsClient, LocalAwsError, wait_until
from proctor_local.identities import Identities

pytestmark = pytest.mark.emulator


@pytest.fixture
def root(local: LocalAwsClient) -> AwsClient:
    local.seed_cluster(
        "demo",
        {"login": {"count": 2}, "gpu": {"type": "ml.p5.48xlarge", "count": 3}},
        cluster_id="abcdef012345",
    )
    return local.aws()


def statuses(root: AwsClient) -> dict[str, str]:
    nodes = root.call("sagemaker", "ListClusterNodes", ClusterName="demo", MaxResults=100)[
        "ClusterNodeSummaries"
    ]
    return {node["InstanceId"]: node["InstanceStatus"]["Status"] for node in nodes}


def test_a_cluster_is_found_by_name_and_by_arn(local: LocalAwsClient, root: AwsClient) -> None:
    arn = f"arn:aws:sagemaker:{local.region}:{local.account}:cluster/abcdef012345"
    assert root.call("sagemaker", "DescribeCluster", ClusterName="demo")["ClusterArn"] == arn
    described = root.call("sagemaker", "DescribeCluster", ClusterName=arn)
    assert {g["InstanceGroupName"]: g["CurrentCount"] for g in described["InstanceGroups"]} == {
        "login": 2,
        "gpu": 3,
    }
    assert [c["ClusterName"] for c in root.call("sagemaker", "ListClusters")["ClusterSummaries"]] == ["demo"]
    with pytest.raises(AwsError) as missing:
        root.call("sagemaker", "DescribeCluster", ClusterName="other")
    assert missing.value.code == "ResourceNotFound"


def test_nodes_are_listed_in_pages(root: AwsClient) -> None:
    pages, token = [], None
    while True:
        more: dict[str, str] = {"NextToken": token} if token else {}
        answer = root.call("sagemaker", "ListClusterNodes", ClusterName="demo", MaxResults=2, **more)
        pages.append(len(answer["ClusterNodeSummaries"]))
        token = answer.get("NextToken")
        if token is None:
            break
    assert pages == [2, 2, 1]
    only = root.call("sagemaker", "ListClusterNodes", ClusterName="demo", InstanceGroupNameContains="gp")
    assert {n["InstanceGroupName"] for n in only["ClusterNodeSummaries"]} == {"gpu"}


def test_a_reboot_comes_back_and_a_replacement_is_another_instance(root: AwsClient) -> None:
    before = statuses(root)
    rebooted, replaced = list(before)[2:4]
    assert (
        root.call("sagemaker", "BatchRebootClusterNodes", ClusterName="demo", NodeIds=[rebooted])["Failed"]
        == []
    )
    answer = root.call(
        "sagemaker", "BatchReplaceClusterNodes", ClusterName="demo", NodeIds=[replaced, "i-0123456789abcdef0"]
    )
    assert answer["Successful"] == [replaced]
    assert answer["Failed"][0]["ErrorCode"] == "InstanceIdNotFound"
    assert statuses(root)[rebooted] == "Pending"
    again = root.call("sagemaker", "BatchReplaceClusterNodes", ClusterName="demo", NodeIds=[replaced])
    assert again["Failed"][0]["ErrorCode"] == "InvalidInstanceStatus"

    wait_until(
        lambda: set(statuses(root).values()) == {"Running"} and replaced not in statuses(root), what="settled"
    )
    assert rebooted in statuses(root)
    assert len(statuses(root)) == len(before)


def test_a_cluster_action_is_allowed_on_its_arn(local: LocalAwsClient, root: AwsClient) -> None:
    local.seed_cluster("other", {"login": {"count": 1}})
    reader = (
        Identities(local)
        .iam_user(
            "reader",
            policy={
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Action": "sagemaker:ListClusterNodes",
                        "Resource": f"arn:aws:sagemaker:*:{local.account}:cluster/abcdef012345",
                    }
                ],
            },
        )
        .client
    )
    assert reader.call("sagemaker", "ListClusterNodes", ClusterName="demo")["ClusterNodeSummaries"]
    for action, cluster in (("ListClusterNodes", "other"), ("DescribeCluster", "demo")):
        with pytest.raises(AwsError) as refused:
            reader.call("sagemaker", action, ClusterName=cluster)
        assert refused.value.code == "AccessDeniedException"


def test_a_wrong_seed_is_refused_by_its_field(local: LocalAwsClient) -> None:
    with pytest.raises(LocalAwsError, match="cluster_id = 'short': 12 of a-z0-9"):
        local.seed_cluster("demo", {}, cluster_id="short")
