"""Verdicts about Proctor itself and about what is out of scope: policies, a broken event path, sessions not ours."""

from datetime import datetime, timedelta

from proctor.domain.actions import NotifyOperators
from proctor.domain.decision import Case, Mode, Verdict
from proctor.domain.ledger import PersonLedger, SeenBy
from proctor.domain.policy import draft_case, missing_case
from session_limits import FUNCTION
from session_limits.snapshot import Path, Snapshot


def policy_cases(snapshot: Snapshot) -> list[Case]:
    """Put a valid new version in force; tell about a refused one, and about a cluster without any."""
    cases = [
        draft_case(
            draft,
            subject=f"policy#{draft.cluster}",
            named=f"policy {draft.parameter_name}",
            policy_version=draft.version,
        )
        for draft in snapshot.drafts
        if not draft.is_in_force
    ]
    drafted = {draft.cluster for draft in snapshot.drafts}
    missing = [c for c in snapshot.ungoverned if c not in drafted] if snapshot.path is Path.SWEEP else []
    return cases + [
        missing_case(
            cluster,
            FUNCTION,
            subject=f"policy#{cluster}",
            consequence="nothing is counted or ended",
            now=snapshot.now,
        )
        for cluster in missing
    ]


def scope_cases(snapshot: Snapshot) -> list[Case]:
    """Sessions that are left alone because they are not ours, or not known."""
    found = [(subject, "not_ours", text) for subject, text in snapshot.not_ours]
    found += [(s, "unknown", "nothing active of that name is governed") for s in snapshot.unknown_requests]
    return [
        Case(
            subject=subject,
            verdicts=(
                Verdict(
                    subject=subject,
                    cluster="",
                    rule="scope",
                    reason=reason,
                    text=text,
                    mode=Mode.OFF,
                    policy_version=None,
                ),
            ),
        )
        for subject, reason, text in found
    ]


def is_overdue(since: datetime, snapshot: Snapshot) -> bool:
    """Whether an event that should have told of a session at `since` is not merely late."""
    grace = max((p.policy.event_grace_minutes for p in snapshot.policies.values()), default=10)
    return snapshot.now - since >= timedelta(minutes=grace)


def event_path_case(snapshot: Snapshot) -> list[Case]:
    """Sessions over the cap that only the sweep ever saw: CloudTrail, the rule or the queue does not deliver."""
    if snapshot.path is not Path.SWEEP or not snapshot.policies:
        return []
    missed = sorted(sid for situation in snapshot.situations for sid in _overdue(situation.ledger, snapshot))
    if not missed:
        return []
    cluster = min(snapshot.policies)
    action = NotifyOperators(
        subject="event_path",
        headline="Proctor: session events do not arrive",
        text=(
            f"The sweep found {len(missed)} session(s) over the cap of which no StartSession event came: "
            f"{', '.join(missed[:10])}. Caps now hold only every two minutes."
        ),
        next_steps=(
            "check that a CloudTrail trail is logging management events in this Region",
            "check the rule and the dead-letter queue of session_limits",
        ),
    )
    verdict = Verdict(
        subject="event_path",
        cluster=cluster,
        rule="event_path",
        reason="breach_without_event",
        text=action.headline,
        mode=Mode.APPLY,
        policy_version=None,
        inputs={"missed": len(missed)},
        action=action,
        episode=f"{snapshot.now:%Y-%m-%dT%H}",
        step="alarm",
        is_housekeeping=True,
    )
    return [Case(subject="event_path", verdicts=(verdict,))]


def _overdue(ledger: PersonLedger, snapshot: Snapshot) -> list[str]:
    told = {sid for sid, entry in ledger.entries.items() if entry.seen_by is SeenBy.EVENT}
    return [sid for sid, at in ledger.unannounced.items() if is_overdue(at, snapshot) and sid not in told]
