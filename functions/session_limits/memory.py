"""What is remembered about a holder after an evaluation: the ledger, with intents, bursts and unannounced breaches."""

from collections.abc import Sequence
from dataclasses import replace

from proctor.domain.decision import MemoryWrite, Mode
from proctor.domain.ledger import LedgerEntry, PersonLedger, SeenBy, mended, with_burst, with_intents
from session_limits.caps import weight_of
from session_limits.findings import Finding, Reason
from session_limits.housekeeping import is_overdue
from session_limits.notices import incident_of
from session_limits.snapshot import Path, Situation, Snapshot


def memory_after(
    findings: Sequence[Finding], situation: Situation, snapshot: Snapshot, *, is_burst: bool
) -> MemoryWrite | None:
    """The ledger after this evaluation, or None when nothing has to be remembered.

    An event that found its person within every cap writes nothing more: the session is in the ledger already.
    """
    old = situation.ledger
    new = _entries(findings, situation, snapshot)
    ending = [f for f in findings if f.will_end]
    if ending:
        new = with_intents(new, [f.session_id for f in ending], snapshot.token, snapshot.now)
        new = replace(new, incident_at=incident_of(situation, snapshot, ending[0].located.node.cluster))
    if is_burst:
        new = with_burst(new, snapshot.now)
    new = _unannounced(new, findings, situation, snapshot)
    is_quiet = not situation.is_complete and all(f.reason is Reason.ALLOWED for f in findings)
    if new == old or (is_quiet and new.unannounced == old.unannounced):
        return None
    return MemoryWrite(subject=situation.holder, data=new, expected_rev=old.rev)


def _entries(findings: Sequence[Finding], situation: Situation, snapshot: Snapshot) -> PersonLedger:
    old = situation.ledger
    live = {
        f.session_id: LedgerEntry(
            cluster=f.located.node.cluster,
            seen_by=SeenBy.SWEEP,
            seen_at=snapshot.now,
            weight=_weight(f, snapshot),
            reason=_reason(f, old),
        )
        for f in findings
    }
    known = mended(old, live, snapshot.now)
    if situation.is_complete:
        return known
    return replace(old, entries={**old.entries, **known.entries})


def _reason(finding: Finding, old: PersonLedger) -> str | None:
    """While a session is being ended, why it is: its record may have to be settled by somebody else."""
    known = old.entries.get(finding.session_id)
    is_ending = finding.reason in (Reason.END_IN_PROGRESS, Reason.NOT_COUNTED)
    return known.reason if known is not None and known.intent_until and is_ending else finding.reason.value


def _weight(finding: Finding, snapshot: Snapshot) -> int:
    """An intent may be let go of, so the weight of a session under one stays known."""
    if not finding.is_counted and finding.reason is not Reason.END_IN_PROGRESS:
        return 0
    policy = snapshot.policies[finding.located.node.cluster].policy
    return weight_of(finding.located.session.document_name, policy)


def _unannounced(
    new: PersonLedger, findings: Sequence[Finding], situation: Situation, snapshot: Snapshot
) -> PersonLedger:
    """Remember sessions over the cap that no event told of; forget those whose event came late, and the overdue.

    In dry-run too. A session from before the first sweep of its cluster is no evidence: nobody listened when it started.
    """
    kept = {
        sid: at
        for sid, at in new.unannounced.items()
        if not _was_announced(sid, situation) and not is_overdue(at, snapshot)
    }
    if snapshot.path is Path.SWEEP:
        for finding in findings:
            is_breach = finding.reason is Reason.OVER_CAP and finding.mode is not Mode.OFF
            is_unseen = not _was_announced(finding.session_id, situation)
            if is_breach and is_unseen and _should_have_been_told(finding, snapshot):
                kept.setdefault(finding.session_id, snapshot.now)
    return replace(new, unannounced=kept)


def _should_have_been_told(finding: Finding, snapshot: Snapshot) -> bool:
    started_at = finding.located.session.started_at
    first = snapshot.first_sweeps.get(finding.located.node.cluster)
    return started_at is not None and first is not None and started_at > first


def _was_announced(session_id: str, situation: Situation) -> bool:
    entry = situation.ledger.entries.get(session_id)
    return entry is not None and entry.seen_by is SeenBy.EVENT
