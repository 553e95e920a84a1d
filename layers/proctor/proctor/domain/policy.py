"""Policies as they stand in Parameter Store, with their versions.

A policy parameter is `/proctor/<cluster>/<function>`. A written version is validated first; only then the label `in-force`
moves to it. Readers read `<name>:in-force`, so the last good version stays in force. Labelling, and telling of what can't be
labelled, is housekeeping: the same verdicts in every function, each under subjects of its own.
"""

from dataclasses import dataclass
from datetime import datetime

from proctor.domain.actions import Action, LabelPolicyVersion, NotifyOperators
from proctor.domain.decision import Case, Mode, Verdict

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


def draft_case(
    draft: PolicyDraft,
    *,
    subject: str,
    named: str,
    policy_version: int | None,
    mode: Mode = Mode.APPLY,
    alarm: type[NotifyOperators] = NotifyOperators,
) -> Case:
    """Put a valid version in force, or tell operators that it is refused.

    `named` is what the alarm calls it, e.g. `policy /proctor/alpha/session_limits`; `policy_version` the one judged by.
    """
    is_valid = draft.error is None
    name, version = draft.parameter_name, draft.version
    action: Action = LabelPolicyVersion(
        subject=subject, cluster=draft.cluster, parameter_name=name, version=version
    )
    if not is_valid:
        action = alarm(
            subject=subject,
            headline=f"Proctor: {named} version {version} is refused",
            text=f"{draft.error}. The version in force stays in force.",
            next_steps=(f"correct {name} and write it again",),
        )
    verdict = Verdict(
        subject=subject,
        cluster=draft.cluster,
        rule="policy",
        reason="policy_valid" if is_valid else "policy_refused",
        text=f"{name} version {version}: {draft.error or 'valid'}",
        mode=mode,
        policy_version=policy_version,
        action=action,
        episode=f"version-{version}",
        step="label" if is_valid else "refuse",
        is_housekeeping=True,
    )
    return Case(subject=subject, verdicts=(verdict,))


def missing_case(cluster: str, function: str, *, subject: str, consequence: str, now: datetime) -> Case:
    """Tell operators, once a day, that a cluster has no policy; `consequence` as in "nothing is counted or ended"."""
    name = policy_parameter(cluster, function)
    action = NotifyOperators(
        subject=subject,
        headline=f"Proctor: {cluster} has no policy for {function}",
        text=f"{name} does not exist, so {consequence} on {cluster}.",
        next_steps=(f"write {name}; an empty object {{}} is valid and starts in dry-run",),
    )
    verdict = Verdict(
        subject=subject,
        cluster=cluster,
        rule="policy",
        reason="no_policy",
        text=action.text,
        mode=Mode.APPLY,
        policy_version=None,
        action=action,
        episode=f"{now:%Y-%m-%d}",
        step="missing",
        is_housekeeping=True,
    )
    return Case(subject=subject, verdicts=(verdict,))
