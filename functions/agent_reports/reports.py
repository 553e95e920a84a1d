"""What becomes of a report: applied, or dropped with its cause."""

from dataclasses import dataclass, replace
from datetime import datetime

from agent_reports.snapshot import ReportSeen, Snapshot
from agent_reports.undone import undone_verdicts
from agent_reports.verdicts import dropped_case, found
from proctor.domain.agent_protocol import Header, ProtocolError, Report, Role
from proctor.domain.agent_writes import Cause, Forget, ReportWrite
from proctor.domain.agents import AgentRecord, AgentState, Arrival, Progress
from proctor.domain.decision import Case, MemoryWrite, Verdict
from proctor.domain.observed_rows import SNAPSHOT_SECTIONS, rows_of, said

_DROPPED = {Arrival.REPLAYED: Cause.REPLAYED, Arrival.TOO_OLD: Cause.TOO_OLD}


@dataclass(frozen=True, slots=True)
class _Proven:
    """A report that its agent made, as it arrived."""

    header: Header
    report: Report
    arrival: Arrival
    observed_at: datetime


def report_cases(seen: ReportSeen, snapshot: Snapshot) -> list[Case]:
    """The sender is proven first, then the number, then what it says."""
    proven = _proven(seen)
    if isinstance(proven, Cause):
        return [dropped_case({proven: 1})]
    if cause := _DROPPED.get(proven.arrival):
        # A crash may have come between the rows and the messages: the claims know which were sent.
        told = _told_again(proven, snapshot) if cause is Cause.REPLAYED else ()
        told_case = [Case(subject=seen.record.subject, verdicts=told)] if told else []
        return [dropped_case({cause: 1}), *told_case]
    return _applied(seen.record, proven, snapshot)


def _told_again(proven: _Proven, snapshot: Snapshot) -> tuple[Verdict, ...]:
    return undone_verdicts(proven.header, proven.report, snapshot, is_replay=True)


def _proven(seen: ReportSeen) -> _Proven | Cause:
    header, record = seen.envelope.header, seen.record
    if record.role is not header.role:
        return Cause.CROSS_ROLE
    if record.node != header.node:
        return Cause.CROSS_NODE
    if record.key is None:
        return Cause.WAITING
    if not seen.envelope.is_from(record.key):
        return Cause.FORGED
    try:
        report = seen.envelope.report()
    except (ProtocolError, RecursionError):
        return Cause.MALFORMED
    # The queue's clock bounds the agent's: a late delivery is not fresh, nor is a clock that runs ahead.
    observed_at = min(report.sent_at, seen.received_at)
    return _Proven(header, report, record.progress.arrival(header), observed_at)


def _applied(record: AgentRecord, proven: _Proven, snapshot: Snapshot) -> list[Case]:
    header, report = proven.header, proven.report
    is_late = proven.arrival is Arrival.LATE
    before = record.progress
    progress = before.after(header, has_removed=bool(report.removed))
    if report.chunk is not None and header.role is Role.CONTROLLER:
        progress = progress.with_part(header, report.chunk, proven.observed_at, is_late=is_late)
    forget = _forget(header, progress)
    rows = rows_of(header, report, proven.observed_at, is_whole=progress.whole_at is not None)
    after = replace(
        record,
        progress=replace(progress, parts=None) if forget is not None else progress,
        last_seen_at=max(record.last_seen_at, proven.observed_at),
        silent_since=None,
        state=AgentState.DISPUTED if record.contender is not None else AgentState.ENROLLED,
    )
    write = ReportWrite(
        record=after,
        rows=rows,
        said=said(header.boot_id, header.sequence),
        is_late=is_late,
        removed_at=said(header.boot_id, before.removed_at_sequence),
        forget=forget,
    )
    # Without news, so that nothing is recorded; a lost race with another message of this agent still shows.
    quiet = found(
        snapshot,
        record.cluster,
        record.subject,
        rule="report",
        reason="applied",
        text="a report",
        is_known=True,
    )
    verdicts = (quiet, *undone_verdicts(header, report, snapshot))
    memory = MemoryWrite(subject=record.subject, data=write, expected_rev=record.rev)
    return [Case(subject=record.subject, verdicts=verdicts, memory=memory)]


def _forget(header: Header, progress: Progress) -> Forget | None:
    """With the last missing part of a snapshot, whatever it did not name is gone."""
    parts = progress.parts
    if parts is None or not parts.is_whole:
        return None
    return Forget(
        cluster=header.cluster,
        sections=SNAPSHOT_SECTIONS,
        sender=header.instance_id,
        before_said=said(header.boot_id, parts.first_sequence),
        before_at=parts.first_sent_at,
    )
