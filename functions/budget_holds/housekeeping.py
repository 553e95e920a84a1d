"""Verdicts about Proctor itself and about what is out of scope: policies and definitions, messages about budgets not ours."""

from budget_holds.policy import Rule
from budget_holds.snapshot import Path, Snapshot
from proctor.domain.actions import Action, LabelPolicyVersion, NotifyOperators
from proctor.domain.decision import Case, Mode, Verdict
from proctor.domain.policy import PolicyDraft, policy_parameter

FUNCTION = "budget_holds"


def policy_cases(snapshot: Snapshot) -> list[Case]:
    """Put valid new versions in force; tell about refused ones, and about a cluster without a policy."""
    cases = [_draft_case(draft) for draft in snapshot.drafts if not draft.is_in_force]
    drafted = {draft.parameter_name for draft in snapshot.drafts}
    if snapshot.path is Path.SWEEP:
        missing = [c for c in snapshot.ungoverned if policy_parameter(c, FUNCTION) not in drafted]
        cases += [_missing_case(cluster, snapshot) for cluster in missing]
    return cases


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
    is_valid = draft.error is None
    action: Action
    if is_valid:
        action = LabelPolicyVersion(
            subject=subject, cluster=draft.cluster, parameter_name=draft.parameter_name, version=draft.version
        )
    else:
        action = NotifyOperators(
            subject=subject,
            headline=f"Proctor: {draft.parameter_name} version {draft.version} is refused",
            text=f"{draft.error}. The version in force stays in force.",
            next_steps=(f"correct {draft.parameter_name} and write it again",),
        )
    verdict = Verdict(
        subject=subject,
        cluster=draft.cluster,
        rule=Rule.POLICY.value,
        reason="policy_valid" if is_valid else "policy_refused",
        text=f"{draft.parameter_name} version {draft.version}: {draft.error or 'valid'}",
        mode=Mode.APPLY,
        policy_version=draft.version,
        action=action,
        episode=f"version-{draft.version}",
        step="label" if is_valid else "refuse",
        is_housekeeping=True,
    )
    return Case(subject=subject, verdicts=(verdict,))


def _missing_case(cluster: str, snapshot: Snapshot) -> Case:
    subject, name = f"policy#{cluster}#{FUNCTION}", policy_parameter(cluster, FUNCTION)
    action = NotifyOperators(
        subject=subject,
        headline=f"Proctor: {cluster} has no policy for {FUNCTION}",
        text=f"{name} does not exist, so no budget is judged and nothing is held on {cluster}.",
        next_steps=(f"write {name}; an empty object {{}} is valid and starts in dry-run",),
    )
    verdict = Verdict(
        subject=subject,
        cluster=cluster,
        rule=Rule.POLICY.value,
        reason="no_policy",
        text=action.text,
        mode=Mode.APPLY,
        policy_version=None,
        action=action,
        episode=f"{snapshot.now:%Y-%m-%d}",
        step="missing",
        is_housekeeping=True,
    )
    return Case(subject=subject, verdicts=(verdict,))
