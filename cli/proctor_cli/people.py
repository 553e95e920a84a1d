"""people.jsonl: one person a line, checked strictly before anything is written.

    {"login_name": "ada", "identities": [{"kind": "role_session", "value": "ada@uni.example"}], "email": "ada@uni.example"}

UTF-8, with or without a BOM, LF or CRLF; the last line counts without a newline too; empty lines are skipped.
"""

import re
import zoneinfo
from collections.abc import Callable
from difflib import get_close_matches
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from proctor.domain.identity import Identity, IdentityKind, Person

LOGIN_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}"
_ACCOUNT_ID = r"[0-9]{12}"
_ROLE_SESSION = r"[A-Za-z0-9_+=,.@-]{2,64}"
_IAM_USER = r"[A-Za-z0-9_+=,.@-]{1,64}"
_ROLE_PATTERN = r"[A-Za-z0-9_+=,.@*?\[\]!-]{1,128}"
_EMAIL = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})+"


def _matching(pattern: str, fix: str) -> Callable[[str], str]:
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if compiled.fullmatch(value) is None:
            raise ValueError(fix)
        return value

    return check


def _shape(pattern: str) -> object:
    return Field(json_schema_extra={"pattern": f"^{pattern}$"})


def _printable(value: str) -> str:
    if not value.isprintable() or value != value.strip():
        raise ValueError("take out control characters and the space around it")
    return value


def _real_time_zone(name: str) -> str:
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        known = zoneinfo.available_timezones()
        if not known:
            raise ValueError("this machine has no time zone database; install the system's tzdata") from None
        close = get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise ValueError(f"use a name of the IANA database, e.g. Europe/London{hint}") from None
    return name


def _narrow_role(pattern: str) -> str:
    if re.search(r"[A-Za-z0-9]{3}", pattern) is None:
        raise ValueError("name the role; under a pattern as wide as this anybody could take the name")
    return pattern


def _email_length(value: str) -> str:
    if len(value) > 254 or ".." in value or value.startswith(".") or ".@" in value:
        raise ValueError("give one plain address, e.g. ada@uni.example")
    return value


_Text = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_printable)]
_Role = Annotated[
    str,
    AfterValidator(
        _matching(_ROLE_PATTERN, "give a role's name, without path or ARN; * and ? stand for anything")
    ),
    AfterValidator(_narrow_role),
    _shape(_ROLE_PATTERN),
]
_Email = Annotated[
    str,
    AfterValidator(_matching(_EMAIL, "give one plain address, e.g. ada@uni.example")),
    AfterValidator(_email_length),
    Field(json_schema_extra={"format": "email"}),
]

_STRICT = ConfigDict(strict=True, extra="forbid", frozen=True)


class IdentityLine(BaseModel):
    """One way in which the person appears in AWS: as a role session, or as an IAM user."""

    model_config = _STRICT

    kind: Annotated[
        IdentityKind,
        Field(
            description="role_session: a name in an assumed role, e.g. by Identity Center. iam_user: an IAM user."
        ),
    ]
    value: Annotated[
        str,
        Field(
            description="Role session name (Identity Center: the user name) or IAM user name, without path or ARN. "
            "Compared without case.",
            json_schema_extra={"pattern": f"^{_IAM_USER}$", "examples": ["ada@uni.example"]},
        ),
    ]
    account_id: Annotated[
        str | None,
        AfterValidator(
            lambda v: v if v is None else _matching(_ACCOUNT_ID, "give the account's 12 digits, or null")(v)
        ),
        Field(
            description="Account in which this identity counts, 12 digits; null means any account.",
            json_schema_extra={"pattern": f"^{_ACCOUNT_ID}$", "examples": ["123456789012"]},
        ),
    ] = None
    roles: Annotated[
        tuple[_Role, ...],
        Field(
            description="Role names (* and ? stand for anything) under which this session name is believed; empty means "
            "the policy's trusted_roles. For role_session only.",
            examples=[["AWSReservedSSO_Researcher_*"]],
        ),
    ] = ()

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        is_role = self.kind is IdentityKind.ROLE_SESSION
        if re.fullmatch(_ROLE_SESSION if is_role else _IAM_USER, self.value) is None:
            what = "role session name, 2 to 64" if is_role else "IAM user name, 1 to 64"
            raise ValueError(f"value: give the {what} of letters, digits and _+=,.@-, without path or ARN")
        if self.roles and not is_role:
            raise ValueError("roles: an IAM user has none; leave them out")
        return self

    def identity(self) -> Identity:
        """As the domain knows it."""
        return Identity(self.kind, self.value, self.account_id, self.roles)


class PersonLine(BaseModel):
    """One line of people.jsonl: one human, the POSIX login name and every identity in AWS."""

    model_config = _STRICT

    login_name: Annotated[
        str,
        AfterValidator(
            _matching(LOGIN_NAME, "use up to 32 letters, digits and _.- and begin with a letter, digit or _")
        ),
        Field(
            description="POSIX login name: the key of everything that Proctor keeps about the person. Two names that differ "
            "by case only are refused.",
            json_schema_extra={"pattern": f"^{LOGIN_NAME}$", "examples": ["ada"]},
        ),
    ]
    identities: Annotated[
        tuple[IdentityLine, ...],
        Field(description="Every identity in AWS. No two people may have the same one.", max_length=50),
    ]
    email: Annotated[
        _Email | None,
        Field(description="Where notices go; null means that the person can't be told by mail."),
    ] = None
    time_zone: Annotated[
        str,
        AfterValidator(_real_time_zone),
        Field(description="IANA time zone in which deadlines are shown.", examples=["Europe/London"]),
    ] = "UTC"
    groups: Annotated[
        tuple[_Text, ...],
        Field(
            description="Directory groups, as policies name them in group_caps and node_groups.",
            max_length=200,
        ),
    ] = ()
    run_as: Annotated[
        _Text | None,
        Field(
            description="Value of the tag SSMSessionRunAs; null means the login name. root, ssm-user and names that the SSM "
            "agent can't run leave the person unmapped."
        ),
    ] = None
    is_disabled: Annotated[
        bool, Field(description="Sessions of a disabled person are ended or reported, as policy says.")
    ] = False
    is_break_glass: Annotated[
        bool, Field(description="Sessions of a break-glass person are never ended, and reported loudly.")
    ] = False

    @model_validator(mode="after")
    def _no_identity_twice(self) -> Self:
        keys = [line.identity().key for line in self.identities]
        if len(set(keys)) != len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ValueError(f"identities: {twice} stands there twice; put its roles into one entry")
        return self

    def person(self) -> Person:
        """As the domain knows it."""
        return Person(
            login_name=self.login_name,
            identities=tuple(line.identity() for line in self.identities),
            email=self.email,
            time_zone=self.time_zone,
            groups=frozenset(self.groups),
            run_as=self.run_as,
            is_disabled=self.is_disabled,
            is_break_glass=self.is_break_glass,
        )
