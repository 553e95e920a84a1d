"""Who owns a session: from the ARN that AWS gives to one person of the directory.

A person has several identities (role session names under several permission sets, IAM users, several accounts). The
link is always a row of the people directory; no name is ever cut apart to guess a person, since two domains may share
a short name.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase

_ASSUMED_ROLE = re.compile(r"^arn:aws[a-z-]*:sts::(\d{12}):assumed-role/([\w+=,.@-]+)/([\w+=,.@-]{2,64})$")
_IAM_USER = re.compile(r"^arn:aws[a-z-]*:iam::(\d{12}):user/(?:[\x21-\x7e]+/)?([\w+=,.@-]{1,64})$")

RUN_AS_PATTERN = re.compile(r"^[a-z_][a-z0-9_.-]{0,31}$")
"""Names that the SSM agent can run as; it passes the name through a shell (facts: anchors, section 3.5)."""

_NEVER_RUN_AS = frozenset({"root", "ssm-user"})

ANY_ACCOUNT = "*"


class IdentityKind(StrEnum):
    """The two kinds of principal that own Session Manager sessions."""

    ROLE_SESSION = "role_session"
    IAM_USER = "iam_user"


@dataclass(frozen=True, slots=True)
class SessionOwner:
    """`DescribeSessions.Owner` taken apart: account, kind, name and, for a role session, the role's name."""

    arn: str
    account_id: str
    kind: IdentityKind
    name: str
    role_name: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """One way in which a person appears in AWS.

    `value` is the role session name or IAM user name, compared without case. `account_id` None means any account.
    `roles` are shell patterns of role names under which this session name is believed, since whoever may assume an
    ordinary role chooses the session name freely; empty means the policy's `trusted_roles`.
    """

    kind: IdentityKind
    value: str
    account_id: str | None = None
    roles: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The directory's lookup key."""
        return identity_key(self.kind, self.account_id or ANY_ACCOUNT, self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """One human. `login_name` is the POSIX account and the key of everything that Proctor keeps about the person."""

    login_name: str
    identities: tuple[Identity, ...]
    email: str | None = None
    time_zone: str = "UTC"
    groups: frozenset[str] = field(default_factory=frozenset)
    run_as: str | None = None
    is_disabled: bool = False
    is_break_glass: bool = False

    @property
    def run_as_name(self) -> str | None:
        """The value of the `SSMSessionRunAs` tag, or None when the mapping can't be run by the SSM agent."""
        name = self.run_as if self.run_as is not None else self.login_name
        return name if is_runnable(name) else None


def is_runnable(name: str) -> bool:
    """Whether the SSM agent can and may run a shell as `name`; `root` and `ssm-user` are never a mapping."""
    return name not in _NEVER_RUN_AS and RUN_AS_PATTERN.fullmatch(name) is not None


def identity_key(kind: IdentityKind, account_id: str, value: str) -> str:
    """Key of one identity; case is folded, because Identity Center user names are case-insensitive."""
    return f"{kind.value}#{account_id}#{value.casefold()}"


def parse_owner(arn: str) -> SessionOwner | None:
    """Take an owner ARN apart; None for the account root, federated users and service principals.

    >>> parse_owner("arn:aws:sts::123456789012:assumed-role/AWSReservedSSO_HyperPod_0123456789abcdef/ada@uni.example").name
    'ada@uni.example'
    """
    if found := _ASSUMED_ROLE.fullmatch(arn):
        return SessionOwner(arn, found[1], IdentityKind.ROLE_SESSION, found[3], found[2])
    if found := _IAM_USER.fullmatch(arn):
        return SessionOwner(arn, found[1], IdentityKind.IAM_USER, found[2])
    return None


def lookup_keys(owner: SessionOwner) -> tuple[str, str]:
    """The keys under which an owner may stand in the directory: its own account first, then any account."""
    return (
        identity_key(owner.kind, owner.account_id, owner.name),
        identity_key(owner.kind, ANY_ACCOUNT, owner.name),
    )


def find_person(
    owner: SessionOwner, directory: Mapping[str, Person], trusted_roles: Iterable[str]
) -> Person | None:
    """The person behind `owner`, from rows already read under `lookup_keys`.

    A role session counts as the person's only under a role whose session names are set by the identity provider
    (the identity's own `roles`, else `trusted_roles`); otherwise anybody who may assume some role could take a
    colleague's name.
    """
    for key in lookup_keys(owner):
        person = directory.get(key)
        if person is not None and owns(person, owner, trusted_roles):
            return person
    return None


def owns(person: Person, owner: SessionOwner, trusted_roles: Iterable[str]) -> bool:
    """Whether one of the person's identities is `owner`."""
    keys = lookup_keys(owner)
    for identity in person.identities:
        if identity.key not in keys:
            continue
        if owner.role_name is None:
            return True
        if has_role(owner.role_name, identity.roles or trusted_roles):
            return True
    return False


def has_role(role_name: str, patterns: Iterable[str]) -> bool:
    """Whether a role name matches one of the shell patterns."""
    return any(fnmatchcase(role_name, pattern) for pattern in patterns)
