"""Sessions that we ended and that are gone: their claims are settled and their person is told, if nobody lived to do it."""

from collections.abc import Mapping

from proctor.domain.actions import TerminateSession
from proctor.domain.decision import Verdict
from proctor.domain.ledger import LedgerEntry
from session_limits.findings import Reason
from session_limits.notices import telling, to_both
from session_limits.policy import Rule
from session_limits.snapshot import Path, Situation, Snapshot

_RULES = {
    Reason.OVER_CAP.value: Rule.CAP,
    Reason.REQUESTED.value: Rule.MANUAL,
    Reason.DISABLED.value: Rule.DISABLED,
    Reason.UNMAPPED_OWNER.value: Rule.UNMAPPED,
    Reason.UNMAPPED_RUN_AS.value: Rule.UNMAPPED,
    Reason.NODE_GROUP.value: Rule.NODE_GROUP,
    Reason.DOCUMENT.value: Rule.DOCUMENT,
}


def about_gone(situation: Situation, snapshot: Snapshot) -> list[Verdict]:
    """At the sweep, once the lease is over: under the claims of the evaluator that ended them, so mostly nothing follows."""
    if snapshot.path is not Path.SWEEP:
        return []
    listed = {item.session.session_id for item in situation.sessions}
    gone = {
        sid: entry
        for sid, entry in sorted(situation.ledger.entries.items())
        if sid not in listed
        and entry.was_ended(snapshot.now)
        and not entry.has_intent(snapshot.now)
        and entry.cluster in snapshot.policies
        and entry.reason in _RULES
    }
    closing = [_closing(sid, entry, situation.holder, snapshot) for sid, entry in gone.items()]
    return [*closing, *_messages(gone, closing, situation, snapshot)]


def _closing(session_id: str, entry: LedgerEntry, holder: str, snapshot: Snapshot) -> Verdict:
    in_force, reason = snapshot.policies[entry.cluster], str(entry.reason)
    subject = f"session#{session_id}"
    return Verdict(
        subject=subject,
        cluster=entry.cluster,
        rule=_RULES[reason].value,
        reason=reason,
        text=f"ended: {reason.replace('_', ' ')}",
        mode=in_force.policy.mode_of(_RULES[reason], snapshot.bound),
        policy_version=in_force.version,
        inputs={"holder": holder},
        action=TerminateSession(subject=subject, session_id=session_id, holder=holder),
        episode=session_id,
        step="end",
        is_known=True,
        is_closing=True,
    )


def _messages(
    gone: Mapping[str, LedgerEntry], closing: list[Verdict], situation: Situation, snapshot: Snapshot
) -> list[Verdict]:
    opened_at = situation.ledger.incident_at
    decided = {e.decided_at: e.cluster for e in gone.values() if e.decided_at is not None}
    if opened_at is None or not decided or max(decided) < opened_at:
        return []
    decided_at = max(decided)
    in_force = snapshot.policies[decided[decided_at]]
    is_by_hand = any(e.decided_at == decided_at and e.reason == Reason.REQUESTED for e in gone.values())
    shared = Verdict(
        subject="",
        cluster=in_force.cluster,
        rule=Rule.NOTICE.value,
        reason="told",
        text=f"{len(gone)} session(s) on {in_force.cluster} ended",
        mode=in_force.policy.mode_of(Rule.NOTICE, snapshot.bound),
        policy_version=in_force.version,
        episode=opened_at.isoformat(),
        step=telling(opened_at, decided_at, is_by_hand=is_by_hand),
        requires=tuple(v.subject for v in closing),
        is_known=True,
    )
    why = "\n".join(f"Session {v.episode}: {v.text}." for v in closing)
    return to_both(situation, shared, "", why, in_force.policy.appeal)
