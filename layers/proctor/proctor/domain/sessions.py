"""Session Manager sessions as values: what a session is, which ones are ours, which ones count.

Shapes: ssm DescribeSessions (botocore model 2014-11-06); targets as HyperPod writes them.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from proctor.domain.identity import SessionOwner

_CLUSTER_TARGET = re.compile(r"^sagemaker-cluster:([a-z0-9]{12})_(.+)-(i-[0-9a-f]{8,17})$")
_BARE_TARGET = re.compile(r"^(?:i|mi)-[0-9a-f]{8,17}$")

DEFAULT_DOCUMENT = "SSM-SessionManagerRunShell"
"""The document of a StartSession call that names none."""


class SessionStatus(StrEnum):
    """`Session.Status`; UNRECOGNISED stands for any value this version doesn't know, and is never acted on."""

    CONNECTED = "Connected"
    CONNECTING = "Connecting"
    DISCONNECTED = "Disconnected"
    TERMINATED = "Terminated"
    TERMINATING = "Terminating"
    FAILED = "Failed"
    UNRECOGNISED = "Unrecognised"


COUNTED_STATUSES = frozenset({SessionStatus.CONNECTED, SessionStatus.CONNECTING, SessionStatus.DISCONNECTED})


class DocumentKind(StrEnum):
    """What a session document opens."""

    SHELL = "shell"
    SSH = "ssh"
    PORT_FORWARD = "port_forward"
    COMMAND = "command"
    OTHER = "other"


class Work(StrEnum):
    """What is known about work in a session; UNKNOWN counts as working."""

    NONE = "none"
    WORKING = "working"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a session goes. `cluster_id` and `instance_group` are None for a bare `i-…` or `mi-…`."""

    raw: str
    instance_id: str
    cluster_id: str | None = None
    instance_group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One row of DescribeSessions. `owner` is None when the ARN is of no kind that a person can have."""

    session_id: str
    owner_arn: str
    owner: SessionOwner | None
    target: Target | None
    status: SessionStatus
    started_at: datetime | None
    document_name: str = DEFAULT_DOCUMENT
    work: Work = Work.UNKNOWN
    idle_minutes: int | None = None

    @property
    def is_counted(self) -> bool:
        """Connecting, Connected and Disconnected count; Terminating and the ended ones don't."""
        return self.status in COUNTED_STATUSES


@dataclass(frozen=True, slots=True)
class Node:
    """Where a session's node stands in a governed cluster."""

    cluster: str
    instance_group: str | None
    instance_id: str


@dataclass(frozen=True, slots=True)
class GovernedClusters:
    """Which targets are ours: cluster ids by DescribeCluster, node ids by ListClusterNodes, and extra login nodes."""

    names_by_id: Mapping[str, str]
    nodes: Mapping[str, Node]

    def locate(self, target: Target | None) -> Node | None:
        """The governed node behind a target, or None: not ours, never counted, never ended."""
        if target is None:
            return None
        if target.cluster_id is None:
            return self.nodes.get(target.instance_id)
        name = self.names_by_id.get(target.cluster_id)
        return None if name is None else Node(name, target.instance_group, target.instance_id)


def parse_target(raw: str | None) -> Target | None:
    """Read a target string; None for what is neither a HyperPod target nor an instance id.

    >>> parse_target("sagemaker-cluster:abcdef012345_gpu-a-i-0123456789abcdef0").instance_group
    'gpu-a'
    """
    if not raw:
        return None
    if found := _CLUSTER_TARGET.fullmatch(raw):
        return Target(raw, found[3], found[1], found[2])
    if _BARE_TARGET.fullmatch(raw):
        return Target(raw, raw)
    return None


def parse_status(raw: str | None) -> SessionStatus:
    """Read a status; a value that this version doesn't know is UNRECOGNISED, not an error."""
    try:
        return SessionStatus(raw or "")
    except ValueError:
        return SessionStatus.UNRECOGNISED


def document_kind(name: str, own_shells: Collection[str] = ()) -> DocumentKind:
    """What a document opens, by AWS's own document names; `own_shells` are the site's shell documents."""
    if name == DEFAULT_DOCUMENT or name in own_shells:
        return DocumentKind.SHELL
    if name == "AWS-StartSSHSession":
        return DocumentKind.SSH
    if name.startswith("AWS-StartPortForwardingSession"):
        return DocumentKind.PORT_FORWARD
    if name in {"AWS-StartInteractiveCommand", "AWS-StartNonInteractiveCommand"}:
        return DocumentKind.COMMAND
    return DocumentKind.OTHER


def split_session_id(session_id: str) -> tuple[str, str]:
    """`<role session name or IAM user>-<suffix>`, from the right, since names contain `-`, `.`, `@` and `+`."""
    name, _, suffix = session_id.rpartition("-")
    return name, suffix
