"""Who becomes the agent of a node. The first key wins; another one never replaces it without an operator's word."""

from dataclasses import replace
from datetime import datetime

from agent_reports.policy import AgentReportsPolicy, LateEnrolment
from agent_reports.snapshot import EnrolmentSeen, Snapshot
from agent_reports.verdicts import dropped_case, found
from proctor.domain.agent_protocol import Role
from proctor.domain.agent_writes import AlarmOperators, Cause, EnrolWrite, RecordWrite
from proctor.domain.agents import AgentRecord, AgentState, ListedNode, Progress, agent_subject, fingerprint
from proctor.domain.decision import Case, MemoryWrite, Verdict

RULE = "enrolment"
_SHOW = (
    'python3 -c \'import hashlib,json; k=json.load(open("/var/lib/proctor-agent/identity.json"))["key_hex"]; '
    'print(hashlib.sha256(b"proctor key "+bytes.fromhex(k)).hexdigest()[:16])\''
)


def enrolment_case(seen: EnrolmentSeen, snapshot: Snapshot) -> Case:
    """First enrolment, the same again, or another key."""
    header, record, listed = seen.enrolment.header, seen.record, seen.listed
    policy = snapshot.policy(header.cluster)
    if listed is not None and (why := _misfit(seen, listed, policy)):
        return _refused(seen, snapshot, why)
    if record is None:
        return _first(seen, snapshot, policy)
    if record.role is not header.role:
        return dropped_case({Cause.CROSS_ROLE: 1})
    if record.node != header.node:
        return dropped_case({Cause.CROSS_NODE: 1})
    if seen.enrolment.key == record.key or (
        record.state is AgentState.WAITING and seen.enrolment.key == record.contender
    ):
        return dropped_case({Cause.REPLAYED: 1})
    if seen.enrolment.key == record.contender:
        return dropped_case({Cause.SECOND_ENROLMENT: 1})
    if _is_after_update(record, listed, policy, snapshot.now):
        return _after_update(seen, record, snapshot)
    return _second(seen, record, snapshot)


def _misfit(seen: EnrolmentSeen, listed: ListedNode, policy: AgentReportsPolicy) -> str | None:
    header = seen.enrolment.header
    if listed.node is not None and listed.node != header.node:
        return f"it says it is {header.node}, and ListClusterNodes says {listed.node}"
    if seen.namesake is not None:
        return (
            f"it says it is {header.node}, as whom the agent of {seen.namesake} enrolled, which is listed too"
        )
    groups = policy.controller_groups
    if header.role is Role.CONTROLLER and groups and listed.instance_group not in groups:
        return f"it says it is a controller, and its instance group {listed.instance_group} is none"
    return None


def _refused(seen: EnrolmentSeen, snapshot: Snapshot, why: str) -> Case:
    header = seen.enrolment.header
    subject = agent_subject(header.cluster, header.instance_id)
    verdict = found(
        snapshot,
        header.cluster,
        f"{subject}#refused",
        rule=RULE,
        reason="enrolment_refused",
        text=f"not enrolled: {why}",
    )
    drop = dropped_case({Cause.CROSS_NODE: 1})
    return Case(subject=subject, verdicts=(verdict,), memory=drop.memory)


def _first(seen: EnrolmentSeen, snapshot: Snapshot, policy: AgentReportsPolicy) -> Case:
    """Fresh: taken. Launched longer ago and never enrolled: taken and told, or kept waiting for an operator."""
    listed = seen.listed
    minutes = 0 if listed is None else int((snapshot.now - _fresh_since(listed)).total_seconds() // 60)
    is_late = minutes > policy.enrol_within_minutes
    is_waiting = is_late and policy.late_enrolment is LateEnrolment.ASK
    record = _record(seen, is_waiting=is_waiting)
    shown = fingerprint(seen.enrolment.key)
    text = f"the agent of {record.node} enrolled as {record.role.value} with key {shown}"
    action = None
    if is_late:
        text += f", {minutes} minutes after the node's launch"
        action = _alarm(
            record,
            f"Proctor: an agent enrolled late on {record.cluster}"
            if not is_waiting
            else f"Proctor: an agent waits for approval on {record.cluster}",
            f"{text}. Whoever was on that node before could have made the key."
            + (" Nothing it reports counts until you approve it." if is_waiting else ""),
            shown,
        )
    verdict = found(
        snapshot,
        record.cluster,
        record.subject,
        rule=RULE,
        reason="enrolment_waits" if is_waiting else "enrolled_late" if is_late else "enrolled",
        text=text,
        inputs={"fingerprint": shown, "minutes_after_launch": minutes, "role": record.role.value},
        action=action,
        episode=shown,
        step="tell",
    )
    return _case(record.subject, verdict, EnrolWrite(record), 0)


def _second(seen: EnrolmentSeen, record: AgentRecord, snapshot: Snapshot) -> Case:
    """The key in force stays in force (docs/decisions/0009); the operators are told once a day for each agent."""
    offered = fingerprint(seen.enrolment.key)
    ours = fingerprint(record.key) if record.key is not None else "none"
    disputed = replace(
        record,
        state=AgentState.WAITING if record.key is None else AgentState.DISPUTED,
        contender=seen.enrolment.key,
        contender_role=seen.enrolment.header.role,
    )
    text = (
        f"a second key, {offered}, claims to be the agent of {record.node} on {record.cluster}; "
        f"the key enrolled first, {ours}, stays in force"
    )
    verdict = found(
        snapshot,
        record.cluster,
        record.subject,
        rule=RULE,
        reason="second_enrolment",
        text=text,
        inputs={"enrolled": ours, "offered": offered},
        action=_alarm(record, f"Proctor: two keys claim one agent on {record.cluster}", f"{text}.", offered),
        episode=f"{snapshot.now:%Y-%m-%d}",
        step="dispute",
    )
    return _case(record.subject, verdict, RecordWrite(disputed), record.rev)


def _after_update(seen: EnrolmentSeen, record: AgentRecord, snapshot: Snapshot) -> Case:
    renewed = replace(_record(seen, is_waiting=False), rev=record.rev)
    shown = fingerprint(seen.enrolment.key)
    verdict = found(
        snapshot,
        record.cluster,
        record.subject,
        rule=RULE,
        reason="enrolled_after_update",
        text=f"the agent of {record.node} enrolled again with key {shown} after a software update of its node",
        inputs={"fingerprint": shown},
        episode=shown,
    )
    return _case(record.subject, verdict, RecordWrite(renewed), record.rev)


def _is_after_update(
    record: AgentRecord, listed: ListedNode | None, policy: AgentReportsPolicy, now: datetime
) -> bool:
    if listed is None or listed.updated_at is None or not policy.may_enrol_again_after_update:
        return False
    return record.enrolled_at < listed.updated_at and now - listed.updated_at <= policy.enrol_within


def _fresh_since(listed: ListedNode) -> datetime:
    return max(listed.launched_at, listed.updated_at or listed.launched_at)


def _record(seen: EnrolmentSeen, *, is_waiting: bool) -> AgentRecord:
    header, key = seen.enrolment.header, seen.enrolment.key
    return AgentRecord(
        cluster=header.cluster,
        instance_id=header.instance_id,
        role=header.role,
        node=header.node,
        key=None if is_waiting else key,
        state=AgentState.WAITING if is_waiting else AgentState.ENROLLED,
        enrolled_at=seen.received_at,
        last_seen_at=seen.received_at,
        contender=key if is_waiting else None,
        contender_role=header.role if is_waiting else None,
        progress=Progress(boot_id=header.boot_id, sequence=header.sequence),
    )


def _alarm(record: AgentRecord, headline: str, text: str, offered: str) -> AlarmOperators:
    ask = (
        '{"source": "proctor.manual", "requested_by": "<you>", "justification": "<why>", "dry_run": false, "actions": '
        f'[{{"action": "ApproveAgentKey", "agent": "{record.cluster}#{record.instance_id}", "fingerprint": "{offered}"}}]}}'
    )
    return AlarmOperators(
        subject=record.subject,
        headline=headline,
        text=text,
        next_steps=(
            f"on {record.node}, as root, see the node's own key's fingerprint: {_SHOW}",
            f"if it is {offered}, invoke agent_reports with {ask}",
            "if it is not, somebody on a node made that key: find out who may use the nodes' role",
        ),
    )


def _case(subject: str, verdict: Verdict, data: EnrolWrite | RecordWrite, rev: int) -> Case:
    return Case(
        subject=subject,
        verdicts=(verdict,),
        memory=MemoryWrite(subject=subject, data=data, expected_rev=rev),
    )
