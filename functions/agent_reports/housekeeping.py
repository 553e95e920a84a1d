"""Verdicts about Proctor itself: policies, and requests about what is not known."""

from agent_reports import FUNCTION
from agent_reports.snapshot import Snapshot
from agent_reports.verdicts import found, mode_of
from proctor.domain.agent_writes import AlarmOperators
from proctor.domain.decision import Case
from proctor.domain.policy import draft_case


def policy_cases(snapshot: Snapshot) -> list[Case]:
    """Put a valid new version in force; tell about a refused one."""
    return [
        draft_case(
            draft,
            subject=f"policy#{FUNCTION}#{draft.cluster}",
            named=f"policy {draft.parameter_name}",
            policy_version=snapshot.version(draft.cluster),
            mode=mode_of(snapshot),
            alarm=AlarmOperators,
        )
        for draft in snapshot.drafts
        if not draft.is_in_force
    ]


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
