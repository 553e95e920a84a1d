"""What people are told: verdicts that carry a message. One message per incident and quarter of an hour."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from proctor.domain.actions import NotifyOperators, NotifyPerson
from proctor.domain.decision import Verdict, lowest
from proctor.domain.identity import IdentityKind, Person, parse_owner
from session_limits.findings import Finding, Reason
from session_limits.policy import Rule
from session_limits.snapshot import Situation, Snapshot
from session_limits.victims import Surplus

UPDATE_EVERY = timedelta(minutes=15)


def incident_of(situation: Situation, snapshot: Snapshot, cluster: str) -> datetime:
    """When the present incident of this holder opened: the remembered one while it is recent, else now."""
    opened_at = situation.ledger.incident_at
    length = timedelta(minutes=snapshot.policies[cluster].policy.incident_minutes)
    if opened_at is not None and timedelta(0) <= snapshot.now - opened_at < length:
        return opened_at
    return snapshot.now


def about_ends(
    situation: Situation, snapshot: Snapshot, ended: Sequence[Finding], broken: Sequence[Surplus]
) -> list[Verdict]:
    """Tell the person and the operators about sessions that end."""
    ended = [f for f in ended if f.will_end] or ended
    if not ended:
        return []
    cluster = ended[0].located.node.cluster
    opened_at = incident_of(situation, snapshot, cluster)
    policy = snapshot.policies[cluster].policy
    why = "\n".join([*(_why_cap(s) for s in broken), *(f"Session {f.session_id}: {f.text}." for f in ended)])
    nodes = f" (nodes {', '.join(sorted({f.located.node.instance_id for f in ended}))})"
    headline = f"{len(ended)} session(s) on {cluster} ended"
    shared = Verdict(
        subject="",
        cluster=cluster,
        rule=Rule.NOTICE.value,
        reason="told",
        text=headline,
        mode=lowest(policy.mode_of(Rule.NOTICE, snapshot.bound), *(f.mode for f in ended)),
        policy_version=snapshot.policies[cluster].version,
        episode=opened_at.isoformat(),
        step=telling(opened_at, snapshot.now, is_by_hand=any(f.rule is Rule.MANUAL for f in ended)),
        requires=tuple(f.subject for f in ended),
        is_known=all(_is_known(f, situation) for f in ended),
    )
    return to_both(situation, shared, nodes, why, policy.appeal)


def telling(opened_at: datetime, decided_at: datetime, *, is_by_hand: bool) -> str:
    """Which telling of an incident this is: one a quarter of an hour; what was ended by hand is told each time."""
    if is_by_hand:
        return f"by-hand-{decided_at.isoformat()}"
    return f"part-{(decided_at - opened_at) // UPDATE_EVERY}"


def to_both(situation: Situation, shared: Verdict, nodes: str, why: str, appeal: str) -> list[Verdict]:
    """One verdict for the operators and one for the person."""
    told: list[NotifyOperators | NotifyPerson] = [_to_operators(situation, shared.text, nodes, why)]
    if situation.person is not None:
        what = f"{shared.text}{nodes}.\n\n{why}"
        told.append(_to_person(situation.person, shared.cluster, what, appeal))
    return [replace(shared, subject=action.subject, action=action) for action in told]


def _deny(arns: Sequence[str]) -> dict[str, object]:
    """One statement per kind of principal: only a role session's name stands in `aws:userid`."""
    owners = [owner for arn in arns if (owner := parse_owner(arn)) is not None]
    names = [f"*:{o.name}" for o in owners if o.kind is IdentityKind.ROLE_SESSION]
    iam_users = [o.arn for o in owners if o.kind is IdentityKind.IAM_USER]
    conditions: list[tuple[str, object]] = []
    if names:
        conditions.append(("RoleSessions", {"StringLike": {"aws:userid": names}}))
    if iam_users:
        conditions.append(("IamUsers", {"ArnEquals": {"aws:PrincipalArn": iam_users}}))
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": f"ProctorProposedDeny{kind}",
                "Effect": "Deny",
                "Action": ["ssm:StartSession", "ssm:ResumeSession"],
                "Resource": "*",
                "Condition": condition,
            }
            for kind, condition in conditions
        ],
    }


def _is_known(finding: Finding, situation: Situation) -> bool:
    entry = situation.ledger.entries.get(finding.session_id)
    return entry is not None and entry.reason == finding.reason.value


def _to_operators(situation: Situation, headline: str, nodes: str, why: str) -> NotifyOperators:
    return NotifyOperators(
        subject=f"operators#{situation.holder}",
        headline=f"Proctor: {headline} ({situation.holder})",
        text=f"{situation.holder}: {headline}{nodes}.\n{why}",
        next_steps=(f"proctor why person {situation.holder}",),
    )


def _to_person(person: Person, cluster: str, what: str, appeal: str) -> NotifyPerson:
    return NotifyPerson(
        subject=f"notice#{person.login_name}",
        login_name=person.login_name,
        email=person.email,
        headline=f"Your sessions on {cluster}",
        text=(
            f"Hello {person.login_name},\n\n{what}\n\n"
            "What helps: close sessions that you no longer use; work that must go on belongs into a Slurm job.\n"
            f"If this was wrong: {appeal}\n"
        ),
    )


def about_reports(situation: Situation, snapshot: Snapshot, reported: Sequence[Finding]) -> list[Verdict]:
    """Tell the operators what is not allowed and left alone: once a day for each cause, for break-glass each session."""
    found: dict[str, Verdict] = {}
    for finding in reported:
        cluster = finding.located.node.cluster
        policy = snapshot.policies[cluster].policy
        is_loud = finding.reason is Reason.BREAK_GLASS
        episode = finding.session_id if is_loud else f"{snapshot.now:%Y-%m-%d}"
        subject = f"report#{situation.holder}#{finding.reason.value}" + (
            f"#{finding.session_id}" if is_loud else ""
        )
        action = NotifyOperators(
            subject=subject,
            headline=f"Proctor: {finding.reason.value.replace('_', ' ')} ({situation.holder})",
            text=f"Session {finding.session_id} on {cluster}: {finding.text}. Owner {finding.located.session.owner_arn}.",
            next_steps=(f"proctor why session {finding.session_id}",),
        )
        found[subject] = Verdict(
            subject=subject,
            cluster=cluster,
            rule=finding.rule.value,
            reason="operators_told",
            text=action.headline,
            mode=policy.mode_of(Rule.NOTICE, snapshot.bound),
            policy_version=snapshot.policies[cluster].version,
            action=action,
            episode=episode,
            step="report",
            is_known=_is_known(finding, situation),
        )
    return list(found.values())


def about_loop(
    situation: Situation, snapshot: Snapshot, cluster: str, bursts: int, arns: Sequence[str]
) -> Verdict:
    """Propose the hard edge, an IAM deny on the principal, to the operators. It is never applied unasked."""
    policy = snapshot.policies[cluster].policy
    window = timedelta(minutes=policy.reconnects.window_minutes)
    action = NotifyOperators(
        subject=f"loop#{situation.holder}",
        headline=f"Proctor: {situation.holder} reconnects at once, {bursts} times",
        text=(
            f"{bursts} sessions over the cap started within {policy.reconnects.burst_seconds} s after an end, in "
            f"{policy.reconnects.window_minutes} minutes. Proctor backs off and ends such sessions in the sweep only.\n"
            f"Principals: {', '.join(arns)}\nA deny that would stop it:\n{json.dumps(_deny(arns), indent=1)}"
        ),
        next_steps=(
            "talk to the person first",
            "attach the deny to the permission set or role if that fails",
        ),
    )
    return Verdict(
        subject=action.subject,
        cluster=cluster,
        rule=Rule.CAP.value,
        reason="reconnect_loop",
        text=action.headline,
        mode=policy.mode_of(Rule.NOTICE, snapshot.bound),
        policy_version=snapshot.policies[cluster].version,
        action=action,
        episode=str(int(snapshot.now.timestamp() // window.total_seconds())),
        step="propose",
    )


def _why_cap(surplus: Surplus) -> str:
    return (
        f"Rule cap: {surplus.used} in use {surplus.scope}, {surplus.cap} allowed ({surplus.source}). "
        f"Chosen to end: {', '.join(surplus.victims)}."
    )
