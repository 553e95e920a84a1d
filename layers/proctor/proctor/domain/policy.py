"""Policies as they stand in Parameter Store, with their versions.

A policy parameter is `/proctor/<cluster>/<function>`. A written version is validated first; only then the label `in-force`
moves to it. Readers read `<name>:in-force`, so the last good version stays in force.
"""

from dataclasses import dataclass

IN_FORCE = "in-force"


@dataclass(frozen=True, slots=True)
class PolicyInForce[P]:
    """A validated policy and the parameter version it came from."""

    cluster: str
    version: int
    policy: P


@dataclass(frozen=True, slots=True)
class PolicyDraft:
    """The newest version of a policy parameter: in force already, valid, or refused with `error` (a sentence for people)."""

    cluster: str
    parameter_name: str
    version: int
    is_in_force: bool
    error: str | None = None


def policy_parameter(cluster: str, function: str) -> str:
    """Name of the parameter that holds a function's policy for one cluster."""
    return f"/proctor/{cluster}/{function}"


def pause_parameter(cluster: str) -> str:
    """Name of the parameter that stops all functions and agents of one cluster."""
    return f"/proctor/{cluster}/pause"
