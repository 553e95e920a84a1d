"""What is true of one session before any counting: allowed, not allowed whatever the count, or not to be touched."""

from dataclasses import dataclass
from enum import StrEnum

from proctor.domain.decision import Mode
from proctor.domain.identity import has_role
from session_limits.policy import Response, Rule, SessionLimitsPolicy
from session_limits.snapshot import Located, Situation, Snapshot


class Reason(StrEnum):
    """Stable codes of verdicts about sessions."""

    ALLOWED = "allowed"
    OVER_CAP = "over_cap"
    BACKING_OFF = "backing_off"
    BREAK_GLASS = "break_glass"
    REQUESTED = "requested"
    UNMAPPED_OWNER = "unmapped_owner"
    UNMAPPED_RUN_AS = "unmapped_run_as"
    DISABLED = "person_disabled"
    NODE_GROUP = "node_group_not_allowed"
    DOCUMENT = "document_not_allowed"
    END_IN_PROGRESS = "end_in_progress"
    NOT_COUNTED = "not_counted"


@dataclass(frozen=True, slots=True)
class Finding:
    """`response` END asks for the session's end, REPORT for a message, None for neither. `is_counted`: it uses up the cap."""

    located: Located
    rule: Rule
    reason: Reason
    text: str
    response: Response | None = None
    is_counted: bool = False
    mode: Mode = Mode.OFF

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self.located.session.session_id

    @property
    def subject(self) -> str:
        """The verdict's subject."""
        return f"session#{self.session_id}"

    @property
    def will_end(self) -> bool:
        """Whether this evaluation really ends the session."""
        return self.response is Response.END and self.mode is Mode.APPLY


def find(located: Located, situation: Situation, snapshot: Snapshot) -> Finding:
    """Judge one session by itself."""
    policy = snapshot.policies[located.node.cluster].policy
    session = located.session
    entry = situation.ledger.entries.get(session.session_id)
    if not session.is_counted:
        return Finding(
            located, Rule.CAP, Reason.NOT_COUNTED, f"{session.status.value}: neither counted nor ended"
        )
    if entry is not None and entry.has_intent(snapshot.now):
        return Finding(located, Rule.CAP, Reason.END_IN_PROGRESS, "its end is under way")
    if _is_break_glass(located, situation, policy):
        text = "break-glass access: never ended, reported"
        return Finding(located, Rule.CAP, Reason.BREAK_GLASS, text, Response.REPORT)
    if session.session_id in snapshot.requested_ends:
        text = f"its end was asked for by {snapshot.requested_by}"
        mode = policy.mode_of(Rule.MANUAL, snapshot.bound)
        return Finding(located, Rule.MANUAL, Reason.REQUESTED, text, Response.END, is_counted=True, mode=mode)
    return _not_allowed(located, situation, policy, snapshot) or Finding(
        located, Rule.CAP, Reason.ALLOWED, "allowed", is_counted=situation.person is not None
    )


def _not_allowed(
    located: Located, situation: Situation, policy: SessionLimitsPolicy, snapshot: Snapshot
) -> Finding | None:
    person, session = situation.person, located.session
    found: tuple[Rule, Reason, str, Response] | None = None
    if person is None:
        text = "no row of the people directory names its owner under a trusted role"
        found = Rule.UNMAPPED, Reason.UNMAPPED_OWNER, text, policy.unmapped_response
    elif person.is_disabled:
        text = f"{person.login_name} is disabled in the people directory"
        found = Rule.DISABLED, Reason.DISABLED, text, policy.disabled_response
    elif person.run_as_name is None:
        text = f"{person.login_name} has no run-as name that the SSM agent may run"
        found = Rule.UNMAPPED, Reason.UNMAPPED_RUN_AS, text, policy.unmapped_response
    elif why := _wrong_node_group(located, situation, policy):
        found = Rule.NODE_GROUP, Reason.NODE_GROUP, why, policy.node_group_response
    elif session.document_name not in (*policy.allowed_documents, *policy.own_shell_documents):
        text = f"the document {session.document_name} is not in the allowed list; it may skip Run As"
        found = Rule.DOCUMENT, Reason.DOCUMENT, text, policy.document_response
    if found is None:
        return None
    rule, reason, text, response = found
    mode = policy.mode_of(rule, snapshot.bound)
    return Finding(located, rule, reason, text, response, is_counted=person is not None, mode=mode)


def _is_break_glass(located: Located, situation: Situation, policy: SessionLimitsPolicy) -> bool:
    if situation.person is not None and situation.person.is_break_glass:
        return True
    owner = located.session.owner
    return (
        owner is not None
        and owner.role_name is not None
        and has_role(owner.role_name, policy.break_glass_roles)
    )


def _wrong_node_group(located: Located, situation: Situation, policy: SessionLimitsPolicy) -> str | None:
    group = located.node.instance_group
    for rule in policy.node_groups:
        if rule.instance_group != group or situation.person is None:
            continue
        if situation.person.groups.isdisjoint(rule.allowed_groups):
            return f"instance group {group} is open to {', '.join(rule.allowed_groups) or 'nobody'} only"
    return None
