"""Writing Parameter Store: the pause switch and policies. The newest version is read with its text, to build on it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from proctor.adapters.aws_errors import translated
from proctor.domain.errors import NotFoundError

if TYPE_CHECKING:
    from proctor.adapters.aws_clients import AwsClients

POLICY_AT_MOST = 4096
"""Bytes of a standard parameter."""


@dataclass(frozen=True, slots=True)
class ParameterText:
    """One version of a parameter."""

    version: int
    text: str


def read_parameter(clients: "AwsClients", name: str, label: str | None = None) -> ParameterText | None:
    """The newest version, or the one under a label; None when there is none."""
    try:
        with translated("ssm:GetParameter"):
            found = clients.ssm().get_parameter(Name=f"{name}:{label}" if label else name)["Parameter"]
    except NotFoundError:
        return None
    return ParameterText(found["Version"], found["Value"])


def write_parameter(clients: "AwsClients", name: str, text: str) -> int:
    """Write a new version and return its number."""
    with translated("ssm:PutParameter"):
        answer = clients.ssm().put_parameter(Name=name, Value=text, Type="String", Overwrite=True)
    return answer["Version"]
