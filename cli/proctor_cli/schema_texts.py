"""Descriptions and bounds of fields whose types are dataclasses or say the rest in code. A test compares both ways."""

from collections.abc import Mapping
from typing import Any

_ONE = {"minimum": 1}
_CLUSTER_CAP = "Sum of session weights that a person may have in this cluster, 1 or more."
_OVER_ALL = "The same over all governed clusters; null means no such cap. The smallest of all clusters' policies holds."

TEXTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "SessionLimitsPolicy.mode": (
        "How far the function may go in this cluster. The stack's ApplyActions bounds it: apply acts only when both say so.",
        {},
    ),
    "SessionLimitsPolicy.rules": (
        'Modes of single rules, e.g. {"document": "off"}. A rule never goes further than `mode`.',
        {},
    ),
    "SessionLimitsPolicy.cap": ("Cap of everybody whom neither an exemption nor a group cap covers.", {}),
    "SessionLimitsPolicy.group_caps": (
        "Caps of directory groups. The first entry whose group the person is in applies, so the order matters.",
        {},
    ),
    "SessionLimitsPolicy.weights": (
        "What a session counts for, by what its document opens; 1 where nothing is said, 0 is never counted nor ended.",
        {"additionalProperties": {"type": "integer", "minimum": 0}},
    ),
    "SessionLimitsPolicy.victim_order": (
        "Which session over the cap ends first when none is known to be without work.",
        {},
    ),
    "SessionLimitsPolicy.allowed_documents": (
        "Session documents that may be used. Any other may skip Run As, so it is handled as document_response says.",
        {},
    ),
    "SessionLimitsPolicy.own_shell_documents": (
        "The site's own documents that open a shell: allowed, and weighed as shells.",
        {},
    ),
    "SessionLimitsPolicy.document_response": (
        "What happens to a session by a document that is not allowed.",
        {},
    ),
    "SessionLimitsPolicy.node_groups": (
        "Instance groups that are open to some directory groups only, e.g. the controller.",
        {},
    ),
    "SessionLimitsPolicy.node_group_response": (
        "What happens to a session of a person who is in none of the groups allowed on the node.",
        {},
    ),
    "SessionLimitsPolicy.disabled_response": (
        "What happens to a session of a person disabled in the directory.",
        {},
    ),
    "SessionLimitsPolicy.unmapped_response": (
        "What happens to a session whose owner no directory row names, or who has no run-as name that can be run.",
        {},
    ),
    "SessionLimitsPolicy.trusted_roles": (
        "Role names (* and ? stand for anything) whose session names are set by the identity provider and so believed.",
        {},
    ),
    "SessionLimitsPolicy.break_glass_roles": (
        "Role names (patterns) whose sessions are never ended, and reported loudly.",
        {},
    ),
    "SessionLimitsPolicy.protected_people": (
        "Login names whose sessions are never ended, whatever rule says so; nothing lifts this.",
        {},
    ),
    "SessionLimitsPolicy.extra_login_nodes": (
        "Instance ids (i-… or mi-…) outside the cluster's own nodes whose sessions count for this cluster.",
        {},
    ),
    "SessionLimitsPolicy.reconnects": ("When a client that reconnects at once is fought no further.", {}),
    "SessionLimitsPolicy.incident_minutes": (
        "For so long after its begin, what happens to a person is one incident and told as one. Minutes.",
        _ONE,
    ),
    "SessionLimitsPolicy.event_grace_minutes": (
        "How late an event may come before the sweep takes it for lost and raises the alarm. Minutes.",
        {"minimum": 4},
    ),
    "SessionLimitsPolicy.appeal": (
        "Last sentence of every notice to a person: whom to ask if it was wrong.",
        {},
    ),
    "SessionLimitsPolicy.guardrails": ("What one run and one window of time may do at most.", {}),
    "Cap.max_sessions": (_CLUSTER_CAP, _ONE),
    "Cap.all_clusters": (_OVER_ALL, {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}),
    "GroupCap.group": ("Name of the directory group, as people.jsonl spells it.", {}),
    "GroupCap.max_sessions": (_CLUSTER_CAP, _ONE),
    "GroupCap.all_clusters": (_OVER_ALL, {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}),
    "NodeGroupRule.instance_group": ("Name of the HyperPod instance group.", {}),
    "NodeGroupRule.allowed_groups": (
        "Directory groups that may open sessions there; empty means nobody.",
        {},
    ),
    "Reconnects.burst_seconds": (
        "A session over the cap that starts within this time after an end of ours is a burst. Seconds.",
        _ONE,
    ),
    "Reconnects.window_minutes": ("Bursts are counted over this time. Minutes.", _ONE),
    "Reconnects.back_off_after": ("After so many bursts only the sweep ends sessions of this person.", _ONE),
    "Reconnects.propose_after": (
        "After so many bursts the operators are shown an IAM deny to apply by hand.",
        _ONE,
    ),
    "GuardrailSettings.session_ends": ("How many sessions may be ended.", {}),
    "GuardrailSettings.notices": ("How many notices to people may be sent.", {}),
    "GuardrailSettings.max_share_percent": (
        "Share of a cluster's sessions that rules resting on the directory may end in one run; a wrong directory stops here.",
        {"minimum": 1, "maximum": 100},
    ),
    "ActionBudget.per_run": (
        "At most so many in one evaluation; above that nothing is done and an alarm goes off.",
        _ONE,
    ),
    "ActionBudget.per_window": ("At most so many in one window; the rest waits for the next.", _ONE),
    "ActionBudget.window_minutes": ("Length of the window. Minutes.", _ONE),
    "ManualRequest.source": ("Always proctor.manual.", {}),
    "ManualRequest.requested_by": (
        "Who asks. Kept in the records as a claim; IAM decides who may invoke.",
        {},
    ),
    "ManualRequest.justification": ("Why. Kept in the records.", {}),
    "ManualRequest.dry_run": ("true decides and records, and does nothing.", {}),
    "ManualRequest.scope": ("What to decide again by the rules. Give either scope or actions.", {}),
    "ManualRequest.actions": (
        "What to do by name, within the function's reach. Give either scope or actions.",
        {},
    ),
    "ManualRequest.break_glass": (
        "Lifts one guard; it needs a proof of the caller, which `proctor invoke` adds.",
        {},
    ),
    "Scope.kind": ("What is decided again. session_limits knows person, session, node and all.", {}),
    "Scope.id": ("Login name, session id or instance id; * with kind all.", {}),
    "ActionRequest.action": (
        "The verb, e.g. TerminateSession; its own fields stand beside it, e.g. session_id.",
        {},
    ),
    "BreakGlass.lift": ("The guard to lift: session_ends, notices or share.", {}),
    "BreakGlass.caller_proof": (
        "A presigned sts GetCallerIdentity URL that signs the header x-proctor-function, good for at most 300 seconds.",
        {},
    ),
}
"""`<type>.<field>` → description, and keywords that the generated schema lacks."""
