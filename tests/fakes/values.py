"""Values of one small university: ada and her sessions, unless a test says otherwise."""

from collections.abc import Iterable
from datetime import UTC, datetime

from proctor.domain.identity import Identity, IdentityKind, Person, parse_owner
from proctor.domain.sessions import (
    DEFAULT_DOCUMENT,
    Session,
    SessionStatus,
    Work,
    parse_target,
)

ACCOUNT = "123456789012"
ROLE = "AWSReservedSSO_HyperPod_0123456789abcdef"
CLUSTER = "alpha"
CLUSTER_ID = "abcdef012345"
NODE = "i-0123456789abcdef0"
NOW = datetime(2026, 9, 1, 10, 0, tzinfo=UTC)


def role_arn(name: str, role: str = ROLE, account: str = ACCOUNT) -> str:
    """A role session's ARN, as DescribeSessions shows it."""
    return f"arn:aws:sts::{account}:assumed-role/{role}/{name}"


def iam_user_arn(name: str, path: str = "", account: str = ACCOUNT) -> str:
    """An IAM user's ARN; `path` without its leading slash, e.g. `staff/`."""
    return f"arn:aws:iam::{account}:user/{path}{name}"


def cluster_target(group: str = "login", node: str = NODE, cluster_id: str = CLUSTER_ID) -> str:
    """A HyperPod target."""
    return f"sagemaker-cluster:{cluster_id}_{group}-{node}"


def person(
    login_name: str = "ada",
    *,
    identities: Iterable[Identity] | None = None,
    groups: Iterable[str] = (),
    email: str | None = "",
    run_as: str | None = None,
    is_disabled: bool = False,
    is_break_glass: bool = False,
) -> Person:
    """A person whose role session name is `<login name>@uni.example`; `email` "" means that address."""
    address = f"{login_name}@uni.example"
    return Person(
        login_name=login_name,
        identities=tuple(identities)
        if identities is not None
        else (Identity(IdentityKind.ROLE_SESSION, address),),
        email=address if email == "" else email,
        groups=frozenset(groups),
        run_as=run_as,
        is_disabled=is_disabled,
        is_break_glass=is_break_glass,
    )


def session(
    session_id: str = "ada@uni.example-0a",
    *,
    owner_arn: str | None = None,
    target: str | None = None,
    status: SessionStatus = SessionStatus.CONNECTED,
    started_at: datetime | None = NOW,
    document_name: str = DEFAULT_DOCUMENT,
    work: Work = Work.UNKNOWN,
    idle_minutes: int | None = None,
) -> Session:
    """A session of the person named by the id's part before its suffix, on the cluster's login node."""
    arn = owner_arn if owner_arn is not None else role_arn(session_id.rpartition("-")[0])
    return Session(
        session_id=session_id,
        owner_arn=arn,
        owner=parse_owner(arn),
        target=parse_target(target if target is not None else cluster_target()),
        status=status,
        started_at=started_at,
        document_name=document_name,
        work=work,
        idle_minutes=idle_minutes,
    )
