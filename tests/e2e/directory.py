"""Who takes part in the scenarios, on which clusters, under which policies. Every scenario takes people of its own."""

import json
from collections.abc import Mapping
from typing import Any

DOMAIN = "uni.example"
SENDER = f"proctor@{DOMAIN}"
ALPHA, BETA, GAMMA, DELTA = "alpha", "beta", "gamma", "delta"
SSO_ROLE, OTHER_SSO_ROLE, BREAK_GLASS_ROLE = "HyperPodResearcher", "HyperPodStudent", "BreakGlass"
EXTRA_LOGIN_NODE = "i-0aaaabbbbccccdddd"

EVENT_GRACE_MINUTES = 4
"""Longer than a listing may lag, or nothing would ever be overdue."""

CLUSTERS: Mapping[str, Mapping[str, Any]] = {
    ALPHA: {"login": {"count": 2}, "controller": {"count": 1}, "worker": {"count": 80}},
    BETA: {"login": {"count": 1}},
    GAMMA: {"login": {"count": 1}},
    DELTA: {"login": {"count": 1}},
}

POLICIES: Mapping[str, Mapping[str, Any]] = {
    ALPHA: {
        "mode": "apply",
        "cap": {"max_sessions": 3, "all_clusters": 5},
        "group_caps": [{"group": "staff", "max_sessions": 4}],
        "weights": {"ssh": 0, "port_forward": 2},
        "node_groups": [{"instance_group": "controller", "allowed_groups": ["staff"]}],
        "break_glass_roles": ["AWSReservedSSO_BreakGlass_*"],
        "protected_people": ["protected000", "protected001"],
        "extra_login_nodes": [EXTRA_LOGIN_NODE],
        "event_grace_minutes": EVENT_GRACE_MINUTES,
        "appeal": "Write to hpc-help.",
    },
    BETA: {"mode": "apply", "event_grace_minutes": EVENT_GRACE_MINUTES},
    GAMMA: {"mode": "dry_run", "cap": {"max_sessions": 1}, "event_grace_minutes": EVENT_GRACE_MINUTES},
    DELTA: {
        "mode": "apply",
        "cap": {"max_sessions": 1},
        "guardrails": {"session_ends": {"per_run": 2, "per_window": 50}},
        "event_grace_minutes": EVENT_GRACE_MINUTES,
    },
}

AGENTS_POLICY: Mapping[str, Any] = {"guardrails": {"notices": {"per_run": 50, "per_window": 1000}}}
"""Of agent_reports on ALPHA: every mutation costs a message to the operators."""

KINDS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "staff": {"groups": ["staff"]},
    "disabled": {"is_disabled": True},
    "admin": {"is_break_glass": True},
    "protected": {},
    "rootly": {"run_as": "root"},
    "silent": {"email": None},
    "bounced": {},
    "exempt": {},
    "iam": {},
    "owner": {},
}
"""Kind → what its people's lines hold besides the usual."""

HOW_MANY = {"plain": 320}
HOW_MANY_OF_OTHERS = 12


def login_names(kind: str) -> list[str]:
    """The people of a kind: `staff000`, `staff001`, ..."""
    return [f"{kind}{number:03}" for number in range(HOW_MANY.get(kind, HOW_MANY_OF_OTHERS))]


def session_name(login_name: str) -> str:
    """The role session name, Identity Center's user name."""
    return f"{login_name}@{DOMAIN}"


def people_lines() -> str:
    """The whole people.jsonl."""
    return "".join(f"{json.dumps(_line(name, kind))}\n" for kind in KINDS for name in login_names(kind))


def _line(login_name: str, kind: str) -> dict[str, Any]:
    identities = [{"kind": "role_session", "value": session_name(login_name)}]
    if kind == "iam":
        identities.append({"kind": "iam_user", "value": login_name})
    line: dict[str, Any] = {
        "login_name": login_name,
        "identities": identities,
        "email": session_name(login_name),
        **KINDS[kind],
    }
    return {name: value for name, value in line.items() if value is not None}
