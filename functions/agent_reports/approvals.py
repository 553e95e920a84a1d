"""An operator's word on whose key is whose."""

from agent_reports.snapshot import Approval, Snapshot
from agent_reports.verdicts import found
from proctor.domain.agent_writes import ApproveAgentKey
from proctor.domain.agents import agent_subject, fingerprint
from proctor.domain.decision import Case


def approval_cases(snapshot: Snapshot) -> list[Case]:
    """Either of the two keys may be approved: the one in force ends the dispute, the other one takes its place."""
    return [_case(approval, snapshot) for approval in snapshot.approvals]


def _case(approval: Approval, snapshot: Snapshot) -> Case:
    subject = agent_subject(approval.cluster, approval.instance_id)
    record = approval.record
    offered = [k for k in (record.key, record.contender) if k is not None] if record is not None else []
    is_offered = approval.fingerprint in map(fingerprint, offered)
    is_settled = record is not None and record.contender is None and is_offered
    action = None
    if record is None:
        reason, text = "unknown", "no agent of that name ever enrolled on a governed cluster"
    elif not is_offered:
        known = ", ".join(map(fingerprint, offered))
        reason, text = "unknown_fingerprint", f"no key of that fingerprint was offered; known are {known}"
    elif is_settled:
        reason, text = "approved_already", f"key {approval.fingerprint} is in force already"
    else:
        reason, text = "approved", f"key {approval.fingerprint} is the agent's own, an operator says"
        action = ApproveAgentKey(
            subject=subject,
            cluster=approval.cluster,
            instance_id=approval.instance_id,
            fingerprint=approval.fingerprint,
        )
    verdict = found(
        snapshot,
        approval.cluster,
        subject,
        rule="approval",
        reason=reason,
        text=text,
        inputs={"fingerprint": approval.fingerprint},
        action=action,
        episode=f"{approval.fingerprint}-{record.rev if record is not None else 0}",
        step="approve",
    )
    return Case(subject=subject, verdicts=(verdict,))
