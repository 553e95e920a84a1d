"""What must be true, worked out from the true world alone: caps, weights and victim order, written a second time.

Nothing here imports Proctor: policies are the JSON that operators wrote.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from tests.simulation.sessions.people import Human
from tests.simulation.sessions.service import EPOCH, TrueSession

type Policy = Mapping[str, Any]
type Policies = Mapping[str, Policy]

_KINDS = {
    "SSM-SessionManagerRunShell": "shell",
    "AWS-StartSSHSession": "ssh",
    "AWS-StartPortForwardingSession": "port_forward",
}


def is_exempt(human: Human, now: datetime) -> bool:
    """Whether an exemption binds at a wall-clock time."""
    return human.exempt is not None and now < EPOCH + timedelta(seconds=human.exempt[1])


def cap_in(human: Human, policy: Policy, now: datetime) -> int | None:
    """The cap in one cluster; None for no cap."""
    if human.exempt is not None and is_exempt(human, now):
        return human.exempt[0]
    group = _group(human, policy)
    value: int = group["max_sessions"] if group else policy.get("cap", {}).get("max_sessions", 3)
    return value


def cap_over_all(human: Human, policies: Policies, now: datetime) -> tuple[int | None, str]:
    """The cap over all clusters (None for no cap), and the victim order of the cluster that sets it."""
    if is_exempt(human, now):
        return None, "newest"
    values: list[tuple[int, str]] = []
    for cluster, policy in policies.items():
        source = _group(human, policy) or policy.get("cap", {})
        if source.get("all_clusters") is not None:
            values.append((source["all_clusters"], cluster))
    if not values:
        return None, "newest"
    value, cluster = min(values)
    return value, policies[cluster].get("victim_order", "newest")


def weight(session: TrueSession, policies: Policies) -> int:
    """What a session counts for."""
    policy = policies.get(session.cluster or "", {})
    value: int = policy.get("weights", {}).get(_KINDS.get(session.document, "other"), 1)
    return value


def in_victim_order(sessions: Iterable[TrueSession], order: str) -> list[TrueSession]:
    """First to end first. Work is unknown, and unknown counts as working: so by start, ties by session id."""
    sign = -1.0 if order == "newest" else 1.0
    return sorted(sessions, key=lambda s: (sign * s.started_at.timestamp(), s.session_id))


def first_surplus(ordered: Sequence[TrueSession], cap: int, policies: Policies) -> set[str]:
    """The first sessions of the order that bring the weight down to the cap."""
    excess = sum(weight(s, policies) for s in ordered) - cap
    chosen: set[str] = set()
    for session in ordered:
        if excess <= 0:
            break
        if weight(session, policies):
            chosen.add(session.session_id)
            excess -= weight(session, policies)
    return chosen


def survivors(human: Human, sessions: Iterable[TrueSession], policies: Policies, now: datetime) -> set[str]:
    """Who lives on when nobody but Proctor ends anything: cluster caps first, then the cap over all clusters."""
    left = [s for s in sessions if must_end(s, policies) is None]
    for cluster, policy in sorted(policies.items()):
        cap = cap_in(human, policy, now)
        if cap is not None:
            here = in_victim_order(
                [s for s in left if s.cluster == cluster], policy.get("victim_order", "newest")
            )
            gone = first_surplus(here, cap, policies)
            left = [s for s in left if s.session_id not in gone]
    over_all, order = cap_over_all(human, policies, now)
    if over_all is not None:
        gone = first_surplus(in_victim_order(left, order), over_all, policies)
        left = [s for s in left if s.session_id not in gone]
    return {s.session_id for s in left}


def must_end(session: TrueSession, policies: Policies) -> str | None:
    """Why a session has to end whatever the count; None when it may stay."""
    human, policy = session.human, policies[session.cluster or ""]
    is_known = human.login_name is not None and session.principal.is_believed
    if session.is_break_glass or human.is_protected:
        return None
    if not is_known:
        return "unmapped" if policy.get("unmapped_response") == "end" else None
    if human.is_disabled:
        return "disabled"
    if human.run_as in ("root", "ssm-user"):
        return "unmapped" if policy.get("unmapped_response") == "end" else None
    for rule in policy.get("node_groups", ()):
        if rule["instance_group"] == session.group and human.groups.isdisjoint(rule["allowed_groups"]):
            return "node_group"
    return None


def _group(human: Human, policy: Policy) -> Mapping[str, Any] | None:
    return next((g for g in policy.get("group_caps", ()) if g["group"] in human.groups), None)
