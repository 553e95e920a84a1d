"""Verdicts about Proctor itself: policies, and requests about what is not known."""

from agent_reports.snapshot import Snapshot
from agent_reports.verdicts import found
from proctor.domain.actions import Action, LabelPolicyVersion
from proctor.domain.agent_writes import AlarmOperators
from proctor.domain.decision import Case
from proctor.domain.policy import PolicyDraft


def policy_cases(snapshot: Snapshot) -> list[Case]:
    """Put a valid new version in force; tell about a refused one."""
    return [_draft_case(draft, snapshot) for draft in snapshot.drafts if not draft.is_in_force]


def unknown_cases(snapshot: Snapshot) -> list[Case]:
    """Subjects of a request that are not known."""
    return [
        Case(
            subject=subject,
            verdicts=(
                found(
                    snapshot,
                    "",
                    subject,
                    rule="scope",
                    reason="unknown",
                    text="no agent of that name enrolled",
                ),
            ),
        )
        for subject in snapshot.unknown_requests
    ]


def _draft_case(draft: PolicyDraft, snapshot: Snapshot) -> Case:
    subject = f"policy#agent_reports#{draft.cluster}"
    is_valid = draft.error is None
    action: Action = LabelPolicyVersion(
        subject=subject, cluster=draft.cluster, parameter_name=draft.parameter_name, version=draft.version
    )
    if not is_valid:
        action = AlarmOperators(
            subject=subject,
            headline=f"Proctor: policy {draft.parameter_name} version {draft.version} is refused",
            text=f"{draft.error}. The version in force stays in force.",
            next_steps=(f"correct {draft.parameter_name} and write it again",),
        )
    verdict = found(
        snapshot,
        draft.cluster,
        subject,
        rule="policy",
        reason="policy_valid" if is_valid else "policy_refused",
        text=f"{draft.parameter_name} version {draft.version}: {draft.error or 'valid'}",
        action=action,
        episode=f"version-{draft.version}",
        step="label" if is_valid else "refuse",
    )
    return Case(subject=subject, verdicts=(verdict,))
