import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.domain.sessions import (
    DocumentKind,
    GovernedClusters,
    Node,
    SessionStatus,
    document_kind,
    parse_status,
    parse_target,
    split_session_id,
)
from tests.fakes.values import session

NODE = "i-0123456789abcdef0"


@pytest.mark.parametrize(
    ("raw", "cluster_id", "group", "instance_id"),
    [
        pytest.param(
            f"sagemaker-cluster:abcdef012345_login-{NODE}",
            "abcdef012345",
            "login",
            NODE,
            id="a HyperPod node",
        ),
        pytest.param(
            f"sagemaker-cluster:abcdef012345_gpu-a-b-{NODE}",
            "abcdef012345",
            "gpu-a-b",
            NODE,
            id="a group with dashes",
        ),
        pytest.param(
            f"sagemaker-cluster:abcdef012345_gpu_a-i-0abcdef12-{NODE}",
            "abcdef012345",
            "gpu_a-i-0abcdef12",
            NODE,
            id="a group that looks like a node",
        ),
        pytest.param(
            "sagemaker-cluster:abcdef012345_login-i-0abcdef1",
            "abcdef012345",
            "login",
            "i-0abcdef1",
            id="an instance id of eight digits",
        ),
        pytest.param(NODE, None, None, NODE, id="a bare EC2 instance"),
        pytest.param("mi-0123456789abcdef0", None, None, "mi-0123456789abcdef0", id="a managed instance"),
    ],
)
def test_a_target_is_taken_apart(
    raw: str, cluster_id: str | None, group: str | None, instance_id: str
) -> None:
    target = parse_target(raw)

    assert target is not None
    assert (target.cluster_id, target.instance_group, target.instance_id) == (cluster_id, group, instance_id)
    assert target.raw == raw


@pytest.mark.parametrize(
    "raw",
    [
        None,
        "",
        "ecs:cluster_task_container",
        f"sagemaker-cluster:ABCDEF012345_login-{NODE}",
        f"sagemaker-cluster:abcdef01234_login-{NODE}",
        f"sagemaker-cluster:abcdef012345_-{NODE}",
        "sagemaker-cluster:abcdef012345_login-i-0123",
        f"sagemaker-cluster:abcdef012345_login-{NODE}\n",
        "i-0123456789ABCDEF0",
        f"{NODE}\n",
        f"x{NODE}",
    ],
)
def test_what_is_neither_a_hyperpod_target_nor_an_instance_is_no_target(raw: str | None) -> None:
    assert parse_target(raw) is None


def test_a_target_is_ours_by_its_cluster_id_and_a_bare_one_by_its_node() -> None:
    governed = GovernedClusters({"abcdef012345": "alpha"}, {NODE: Node("alpha", "login", NODE)})

    assert governed.locate(parse_target(f"sagemaker-cluster:abcdef012345_gpu-{NODE}")) == Node(
        "alpha", "gpu", NODE
    )
    assert governed.locate(parse_target(NODE)) == Node("alpha", "login", NODE)


@pytest.mark.parametrize("raw", [None, "i-00000000000000000", f"sagemaker-cluster:zzzzzz012345_login-{NODE}"])
def test_everything_else_in_the_account_is_not_ours(raw: str | None) -> None:
    governed = GovernedClusters({"abcdef012345": "alpha"}, {NODE: Node("alpha", "login", NODE)})

    assert governed.locate(parse_target(raw)) is None


@pytest.mark.parametrize(
    ("status", "is_counted"),
    [
        (SessionStatus.CONNECTING, True),
        (SessionStatus.CONNECTED, True),
        (SessionStatus.DISCONNECTED, True),
        (SessionStatus.TERMINATING, False),
        (SessionStatus.TERMINATED, False),
        (SessionStatus.FAILED, False),
        (SessionStatus.UNRECOGNISED, False),
    ],
)
def test_connecting_connected_and_disconnected_count(status: SessionStatus, is_counted: bool) -> None:
    assert session(status=status).is_counted is is_counted


@pytest.mark.parametrize("raw", ["Hibernated", "", None, "connected"])
def test_an_unknown_status_is_unrecognised_and_no_error(raw: str | None) -> None:
    assert parse_status(raw) is SessionStatus.UNRECOGNISED


@pytest.mark.parametrize(
    ("session_id", "name", "suffix"),
    [
        ("ada-0e34861185201706f", "ada", "0e34861185201706f"),
        ("ada-lovelace@uni.example-t59j8", "ada-lovelace@uni.example", "t59j8"),
        ("a.b+c-d-0f", "a.b+c-d", "0f"),
    ],
)
def test_a_session_id_is_split_from_the_right(session_id: str, name: str, suffix: str) -> None:
    assert split_session_id(session_id) == (name, suffix)


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        ("SSM-SessionManagerRunShell", DocumentKind.SHELL),
        ("Uni-Shell", DocumentKind.SHELL),
        ("AWS-StartSSHSession", DocumentKind.SSH),
        ("AWS-StartPortForwardingSession", DocumentKind.PORT_FORWARD),
        ("AWS-StartPortForwardingSessionToRemoteHost", DocumentKind.PORT_FORWARD),
        ("AWS-StartInteractiveCommand", DocumentKind.COMMAND),
        ("AWS-StartNonInteractiveCommand", DocumentKind.COMMAND),
        ("Else", DocumentKind.OTHER),
    ],
)
def test_a_document_is_known_by_what_it_opens(document: str, kind: DocumentKind) -> None:
    assert document_kind(document, own_shells=("Uni-Shell",)) is kind


@given(st.text(max_size=120))
def test_no_text_makes_parsing_a_target_fail(text: str) -> None:
    target = parse_target(text)

    assert target is None or text.endswith(target.instance_id)
