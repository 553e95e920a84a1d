"""Snapshot → Decision for session_limits. Pure: reads no clock, calls nothing, logs nothing.

For each holder of sessions: judge every session by itself, count, choose victims, remember, tell. The event path and the
sweep differ only in how much they were shown.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from proctor.domain.actions import TerminateSession
from proctor.domain.decision import Case, Decision, Mode, Verdict
from session_limits.caps import cap_in_cluster, cap_over_all, order_over_all, weight_of
from session_limits.findings import Finding, Reason, find
from session_limits.gone import about_gone
from session_limits.housekeeping import event_path_case, policy_cases, scope_cases
from session_limits.memory import memory_after
from session_limits.notices import about_ends, about_loop, about_reports
from session_limits.policy import Reconnects, Response, Rule
from session_limits.snapshot import Path, Situation, Snapshot
from session_limits.victims import Surplus, surplus


def decide(snapshot: Snapshot) -> Decision:
    """Everything this evaluation concludes; one case per holder, and housekeeping last."""
    cases = [_case(situation, snapshot) for situation in snapshot.situations]
    cases += [*scope_cases(snapshot), *policy_cases(snapshot)]
    cases += event_path_case(snapshot)
    considered: dict[str, int] = {}
    if snapshot.path is Path.SWEEP:
        for located in (item for situation in snapshot.situations for item in situation.sessions):
            considered[located.node.cluster] = considered.get(located.node.cluster, 0) + 1
    rails = {cluster: in_force.policy.rails() for cluster, in_force in snapshot.policies.items()}
    return Decision(cases=tuple(cases), rails=rails, considered=considered)


def _case(situation: Situation, snapshot: Snapshot) -> Case:
    in_order = sorted(situation.sessions, key=lambda located: located.session.session_id)
    findings = [find(located, situation, snapshot) for located in in_order]
    broken = _broken_caps(findings, situation, snapshot)
    bursts, is_burst = _bursts(findings, broken, situation, snapshot)
    findings = [_with_cap(f, broken, snapshot, bursts) for f in findings]
    verdicts = [_verdict(f, broken, situation, snapshot) for f in findings]
    ended = [f for f in findings if f.response is Response.END and f.mode is not Mode.OFF]
    verdicts += about_ends(situation, snapshot, ended, broken) or about_gone(situation, snapshot)
    verdicts += about_reports(situation, snapshot, [f for f in findings if f.response is Response.REPORT])
    if is_burst and bursts >= _reconnects(findings, snapshot).propose_after:
        arns = sorted({f.located.session.owner_arn for f in findings})
        verdicts.append(about_loop(situation, snapshot, findings[0].located.node.cluster, bursts, arns))
    memory = memory_after(findings, situation, snapshot, is_burst=is_burst)
    return Case(subject=situation.holder, verdicts=tuple(verdicts), memory=memory)


def _broken_caps(findings: Sequence[Finding], situation: Situation, snapshot: Snapshot) -> list[Surplus]:
    """Caps that are broken by what stays: sessions that this evaluation ends for other reasons don't count."""
    person = situation.person
    if person is None or not situation.is_complete:
        return []
    counted = [f for f in findings if f.is_counted and not f.will_end]
    weights = {
        f.session_id: weight_of(
            f.located.session.document_name, snapshot.policies[f.located.node.cluster].policy
        )
        for f in counted
    }
    broken: list[Surplus] = []
    for cluster, in_force in sorted(snapshot.policies.items()):
        cap = cap_in_cluster(person, cluster, in_force.policy, snapshot.exemptions, snapshot.now)
        here = [f.located.session for f in counted if f.located.node.cluster == cluster]
        order = in_force.policy.victim_order
        if over := surplus(f"on {cluster}", cap.max_sessions, cap.source, here, weights, order):
            broken.append(over)
            if in_force.policy.mode_of(Rule.CAP, snapshot.bound) is Mode.APPLY:
                counted = [f for f in counted if f.session_id not in over.victims]
    over_all = cap_over_all(person, snapshot.policies, snapshot.exemptions, snapshot.now)
    order = order_over_all(over_all, snapshot.policies)
    everywhere = [f.located.session for f in counted]
    over = surplus("on all clusters", over_all.max_sessions, over_all.source, everywhere, weights, order)
    return [*broken, over] if over else broken


def _with_cap(finding: Finding, broken: Sequence[Surplus], snapshot: Snapshot, bursts: int) -> Finding:
    """The finding of a victim says so; others stay as they are."""
    hit = next((s for s in broken if finding.session_id in s.victims), None)
    if hit is None or finding.will_end:
        return finding
    policy = snapshot.policies[finding.located.node.cluster].policy
    text = f"over the cap: {hit.used} in use {hit.scope}, {hit.cap} allowed ({hit.source})"
    if snapshot.path is Path.EVENT and bursts >= policy.reconnects.back_off_after:
        why = f"{text}; {bursts} reconnects at once, so the sweep will end it"
        return replace(finding, rule=Rule.CAP, reason=Reason.BACKING_OFF, text=why, response=None)
    mode = policy.mode_of(Rule.CAP, snapshot.bound)
    return replace(
        finding, rule=Rule.CAP, reason=Reason.OVER_CAP, text=text, response=Response.END, mode=mode
    )


def _bursts(
    findings: Sequence[Finding], broken: Sequence[Surplus], situation: Situation, snapshot: Snapshot
) -> tuple[int, bool]:
    """Reconnect bursts in the window, this one included, and whether this is one.

    A burst is a new session over the cap that started right after an end of ours.
    """
    ledger = situation.ledger
    if not findings:
        return 0, False
    reconnects = _reconnects(findings, snapshot)
    recent = len(ledger.recent_bursts(snapshot.now - timedelta(minutes=reconnects.window_minutes)))
    length = timedelta(seconds=reconnects.burst_seconds)
    victims = {sid for s in broken for sid in s.victims}
    for finding in findings:
        entry, started = ledger.entries.get(finding.session_id), finding.located.session.started_at
        if finding.session_id not in victims or started is None or (entry and entry.reason):
            continue
        if any(timedelta(0) <= started - at < length for at in ledger.evicted_at):
            return recent + 1, True
    return recent, False


def _verdict(
    finding: Finding, broken: Sequence[Surplus], situation: Situation, snapshot: Snapshot
) -> Verdict:
    cluster = finding.located.node.cluster
    entry = situation.ledger.entries.get(finding.session_id)
    return Verdict(
        subject=finding.subject,
        cluster=cluster,
        rule=finding.rule.value,
        reason=finding.reason.value,
        text=finding.text,
        mode=finding.mode,
        policy_version=snapshot.policies[cluster].version,
        inputs=_inputs(finding, situation) | _cap_inputs(finding, broken, situation),
        action=_end(finding, broken, situation) if finding.response is Response.END else None,
        episode=finding.session_id,
        step="end",
        is_known=entry is not None and entry.reason == finding.reason.value,
    )


def _end(finding: Finding, broken: Sequence[Surplus], situation: Situation) -> TerminateSession:
    hit = next((s for s in broken if finding.session_id in s.victims), None)
    is_over_cap = finding.reason is Reason.OVER_CAP and hit is not None
    return TerminateSession(
        subject=finding.subject,
        session_id=finding.session_id,
        holder=situation.holder,
        peers=hit.peers if hit and is_over_cap else (),
        cap=hit.cap if hit and is_over_cap else None,
    )


def _inputs(finding: Finding, situation: Situation) -> dict[str, object]:
    """The facts behind a verdict, frozen into its record."""
    session = finding.located.session
    return {
        "holder": situation.holder,
        "target": finding.located.node.instance_id,
        "instance_group": finding.located.node.instance_group,
        "document": session.document_name,
        "status": session.status.value,
        "started_at": session.started_at.isoformat() if session.started_at else None,
        "work": session.work.value,
        "idle_minutes": session.idle_minutes,
        "ledger_rev": situation.ledger.rev,
    }


def _cap_inputs(finding: Finding, broken: Sequence[Surplus], situation: Situation) -> dict[str, object]:
    """Of a cap decision also the cap and what ranked everybody who was counted: enough to choose the same victims again."""
    hit = next((s for s in broken if finding.session_id in s.victims), None)
    if hit is None or finding.reason is not Reason.OVER_CAP:
        return {}
    weights = {p.session_id: p.weight for p in hit.peers}
    counted = [
        {
            "session_id": session.session_id,
            "weight": weights[session.session_id],
            "started_at": session.started_at.isoformat() if session.started_at else None,
            "status": session.status.value,
            "work": session.work.value,
            "idle_minutes": session.idle_minutes,
        }
        for session in sorted((item.session for item in situation.sessions), key=lambda s: s.session_id)
        if session.session_id in weights
    ]
    return {"cap": hit.cap, "cap_source": hit.source, "victim_order": hit.order.value, "counted": counted}


def _reconnects(findings: Sequence[Finding], snapshot: Snapshot) -> Reconnects:
    return snapshot.policies[findings[0].located.node.cluster].policy.reconnects
