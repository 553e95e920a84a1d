from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from proctor.adapters.cluster_api import SageMakerClusters
from proctor.domain.errors import DeniedError, ThrottledError
from proctor.domain.sessions import GovernedClusters, Node, Target, parse_target
from proctor.ports import ClusterApi
from tests.adapters.aws import CountedClients, ScriptedClients, json_error
from tests.fakes.sessions import FakeClusterApi
from tests.fakes.values import CLUSTER_ID, NODE, cluster_target

OTHER_ID = "zyxwvu987654"
BARE = "i-0fedcba9876543210"


def target(raw: str) -> Target:
    found = parse_target(raw)
    assert found is not None
    return found


@dataclass
class HyperPod:
    """Clusters of one account, answering as SageMaker does."""

    ids: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.aws = ScriptedClients(DescribeCluster=self._describe, ListClusterNodes=self._list)

    def api(self, *clusters: str) -> SageMakerClusters:
        return SageMakerClusters(self.aws, clusters, lambda: self.seconds)

    def _describe(self, request: Mapping[str, Any]) -> Any:
        name = request["ClusterName"]
        if name not in self.ids:
            return json_error("ResourceNotFound", f"Cluster {name} not found")
        arn = f"arn:aws:sagemaker:us-east-1:123456789012:cluster/{self.ids[name]}"
        return {"ClusterName": name, "ClusterArn": arn, "ClusterStatus": "InService", "InstanceGroups": []}

    def _list(self, request: Mapping[str, Any]) -> Any:
        if request["ClusterName"] not in self.ids:
            return json_error("ResourceNotFound")
        start, size = int(request.get("NextToken", 0)), request.get("MaxResults", 10)
        rows = self.nodes.get(request["ClusterName"], [])
        page = [
            {"InstanceGroupName": group, "InstanceId": node, "InstanceType": "ml.c5.large", "LaunchTime": 0}
            for group, node in rows[start : start + size]
        ]
        more = {"NextToken": str(start + size)} if start + size < len(rows) else {}
        return {"ClusterNodeSummaries": page, **more}


@dataclass
class Setting:
    """The port over two clusters, and who makes and deletes clusters."""

    api: ClusterApi
    ids: dict[str, str]
    fake: FakeClusterApi | None = None
    hyperpod: HyperPod | None = None

    def add_node(self, cluster: str, group: str, node: str) -> None:
        if self.fake is not None:
            self.fake.nodes.setdefault(cluster, []).append(Node(cluster, group, node))
        if self.hyperpod is not None:
            self.hyperpod.nodes.setdefault(cluster, []).append((group, node))

    def wait(self, seconds: float) -> None:
        if self.hyperpod is not None:
            self.hyperpod.seconds += seconds


@pytest.fixture(params=["fake", "sagemaker"])
def here(request: pytest.FixtureRequest) -> Setting:
    ids = {"alpha": CLUSTER_ID}
    if request.param == "fake":
        fake = FakeClusterApi(ids)
        return Setting(fake, fake.ids, fake=fake)
    hyperpod = HyperPod(ids)
    return Setting(hyperpod.api("alpha", "beta"), hyperpod.ids, hyperpod=hyperpod)


def test_a_target_is_located_by_its_cluster_id(here: Setting) -> None:
    found = here.api.governed([target(cluster_target("gpu"))])

    assert found.locate(target(cluster_target("gpu"))) == Node("alpha", "gpu", NODE)
    assert found.locate(target(cluster_target(cluster_id=OTHER_ID))) is None


def test_a_bare_node_is_located_by_the_node_lists(here: Setting) -> None:
    here.add_node("alpha", "login", BARE)

    found = here.api.governed([target(BARE)])

    assert found.locate(target(BARE)) == Node("alpha", "login", BARE)
    assert found.locate(target(NODE)) is None


def test_without_targets_only_ids_are_known(here: Setting) -> None:
    assert here.api.governed([]) == GovernedClusters({CLUSTER_ID: "alpha"}, {})


def test_a_deleted_cluster_governs_nothing(here: Setting) -> None:
    del here.ids["alpha"]

    found = here.api.governed([target(cluster_target()), target(BARE)])

    assert (found.names_by_id, found.nodes) == ({}, {})


def test_a_cluster_made_again_is_known_by_its_new_id(here: Setting) -> None:
    assert here.api.governed([target(cluster_target())]).names_by_id == {CLUSTER_ID: "alpha"}
    here.ids["alpha"] = OTHER_ID
    here.wait(60)

    found = here.api.governed([target(cluster_target(cluster_id=OTHER_ID))])

    assert found.names_by_id == {OTHER_ID: "alpha"}


# SageMaker


def test_ids_are_kept_for_ten_minutes_and_unknown_ones_looked_up_once_a_minute() -> None:
    hyperpod = HyperPod({"alpha": CLUSTER_ID})
    api = hyperpod.api("alpha")
    known, unknown = target(cluster_target()), target(cluster_target(cluster_id=OTHER_ID))
    looks = []
    for seconds, seen in (
        (0, known),
        (0, unknown),
        (59, unknown),
        (60, unknown),
        (61, unknown),
        (660, known),
        (719, known),
    ):
        hyperpod.seconds = seconds
        api.governed([seen])
        looks.append(hyperpod.aws.count("DescribeCluster"))

    assert looks == [1, 1, 1, 2, 2, 3, 3]
    assert hyperpod.aws.count("ListClusterNodes") == 0


def test_bare_ids_list_nodes_once_a_minute() -> None:
    hyperpod = HyperPod({"alpha": CLUSTER_ID, "beta": OTHER_ID})
    api = hyperpod.api("alpha", "beta")
    lists = []
    for seconds in (0, 30, 59.9, 60, 100, 120):
        hyperpod.seconds = seconds
        api.governed([target(BARE)])
        lists.append(hyperpod.aws.count("ListClusterNodes"))

    assert lists == [2, 2, 2, 4, 4, 6]


def test_a_node_of_the_last_minute_is_found_at_the_next_look() -> None:
    hyperpod = HyperPod({"alpha": CLUSTER_ID})
    api = hyperpod.api("alpha")
    assert api.governed([target(BARE)]).locate(target(BARE)) is None
    hyperpod.nodes["alpha"] = [("login", BARE)]
    hyperpod.seconds = 60

    assert api.governed([target(BARE)]).locate(target(BARE)) == Node("alpha", "login", BARE)


def test_all_pages_of_nodes_are_read_100_at_a_time() -> None:
    nodes = [("gpu", f"i-{n:017x}") for n in range(250)]
    hyperpod = HyperPod({"alpha": CLUSTER_ID}, {"alpha": nodes})

    found = hyperpod.api("alpha").governed([target(BARE)])

    assert len(found.nodes) == 250
    assert hyperpod.aws.count("ListClusterNodes") == 3


def test_a_node_without_an_instance_yet_is_left_out() -> None:
    hyperpod = HyperPod({"alpha": CLUSTER_ID}, {"alpha": [("gpu", ""), ("gpu", BARE)]})

    assert set(hyperpod.api("alpha").governed([target(BARE)]).nodes) == {BARE}


@pytest.mark.parametrize(
    ("code", "error"), [("ThrottlingException", ThrottledError), ("AccessDeniedException", DeniedError)]
)
@pytest.mark.parametrize("operation", ["DescribeCluster", "ListClusterNodes"])
def test_a_refusal_is_never_an_empty_list(operation: str, code: str, error: type[Exception]) -> None:
    hyperpod = HyperPod({"alpha": CLUSTER_ID}, {"alpha": [("login", BARE)]})
    api = hyperpod.api("alpha")
    working = hyperpod.aws.script[operation]
    hyperpod.aws.script[operation] = [json_error(code)]

    with pytest.raises(error):
        api.governed([target(BARE)])

    hyperpod.aws.script[operation] = working
    assert api.governed([target(BARE)]).locate(target(BARE)) == Node("alpha", "login", BARE)


def test_a_throttle_later_keeps_what_is_known_for_its_time() -> None:
    hyperpod = HyperPod({"alpha": CLUSTER_ID})
    api = hyperpod.api("alpha")
    api.governed([target(cluster_target())])
    hyperpod.aws.script["DescribeCluster"] = [json_error("ThrottlingException")]
    hyperpod.seconds = 599

    assert api.governed([target(cluster_target())]).names_by_id == {CLUSTER_ID: "alpha"}
    hyperpod.seconds = 600
    with pytest.raises(ThrottledError):
        api.governed([target(cluster_target())])


def test_the_cluster_of_the_in_process_aws(aws: CountedClients) -> None:
    group = {
        "InstanceGroupName": "login",
        "InstanceType": "ml.c5.large",
        "InstanceCount": 2,
        "LifeCycleConfig": {"SourceS3Uri": "s3://sagemaker-lifecycle", "OnCreate": "on_create.sh"},
        "ExecutionRole": "arn:aws:iam::123456789012:role/node",
        "ThreadsPerCore": 1,
    }
    made = aws.sagemaker().create_cluster(ClusterName="alpha", InstanceGroups=[group])  # type: ignore[list-item]

    found = SageMakerClusters(aws, ("alpha",)).governed([target(BARE)])

    assert found.names_by_id == {made["ClusterArn"].rpartition("/")[2]: "alpha"}
    assert {(node.cluster, node.instance_group) for node in found.nodes.values()} == {("alpha", "login")}
