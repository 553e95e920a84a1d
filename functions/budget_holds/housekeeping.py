"""Verdicts about Proctor itself and about what is out of scope: policies and definitions, messages about budgets not ours."""

from budget_holds import FUNCTION
from budget_holds.policy import Rule
from budget_holds.snapshot import Path, Snapshot
from proctor.domain.decision import Case, Mode, Verdict
from proctor.domain.policy import PolicyDraft, draft_case, missing_case, policy_parameter


def policy_cases(snapshot: Snapshot) -> list[Case]:
    """Put valid new versions in force; tell about refused ones, and about a cluster without a policy."""
    cases = [_draft_case(draft) for draft in snapshot.drafts if not draft.is_in_force]
    drafted = {draft.parameter_name for draft in snapshot.drafts}
    if snapshot.path is not Path.SWEEP:
        return cases
    return cases + [
        missing_case(
            cluster,
            FUNCTION,
            subject=f"policy#{cluster}#{FUNCTION}",
            consequence="no budget is judged and nothing is held",
            now=snapshot.now,
        )
        for cluster in snapshot.ungoverned
        if policy_parameter(cluster, FUNCTION) not in drafted
    ]


def scope_cases(snapshot: Snapshot) -> list[Case]:
    """Budgets that are not ours, or not known."""
    return [
        Case(
            subject=subject,
            verdicts=(
                Verdict(
                    subject=subject,
                    cluster="",
                    rule=Rule.SCOPE.value,
                    reason="not_ours",
                    text=text,
                    mode=Mode.OFF,
                    policy_version=None,
                ),
            ),
        )
        for subject, text in snapshot.not_ours
    ]


def _draft_case(draft: PolicyDraft) -> Case:
    budget = draft.parameter_name.partition(f"/{FUNCTION}/")[2]
    subject = f"policy#{draft.cluster}#{FUNCTION}" + (f"#{budget}" if budget else "")
    return draft_case(draft, subject=subject, named=draft.parameter_name, policy_version=draft.version)
