"""What the control plane and the agents on the nodes say to each other: intents down, reports up.

Standard library only, Python 3.10: the agent runs it on nodes. Pure values: nothing here reads a clock, a
file or a network. Parsing is strict: an unknown key, a missing one, a wrong type or an odd name is a
ProtocolError.
"""

from proctor.domain.agent_protocol.codec import ProtocolError, decode, encode
from proctor.domain.agent_protocol.envelope import (
    Enrolment,
    Envelope,
    Header,
    make_enrolment,
    open_enrolment,
    open_envelope,
    report_body,
    seal,
)
from proctor.domain.agent_protocol.intents import PAUSE_SK, Intent, Pause, controller_pk, intent_sk, node_pk
from proctor.domain.agent_protocol.names import (
    KEPT_REASONS,
    OUR_REASON_PREFIX,
    OUR_RESERVATION_PREFIX,
    PROTOCOL_VERSION,
    Role,
)
from proctor.domain.agent_protocol.observed import (
    ObservedAssociation,
    ObservedJob,
    ObservedLimits,
    ObservedNode,
    ObservedPartition,
    ObservedQos,
    ObservedReservation,
    ObservedUsage,
)
from proctor.domain.agent_protocol.reports import (
    Chunk,
    Heartbeat,
    IntentResult,
    Outcome,
    Removed,
    Report,
    Undone,
    UndoneBy,
)
from proctor.domain.agent_protocol.verbs import (
    VERBS,
    DrainNode,
    LimitAccount,
    LimitPartitionQos,
    PartitionState,
    ReserveNodes,
    ResumeNode,
    SetPartitionState,
    Verb,
)

__all__ = [
    "KEPT_REASONS",
    "OUR_REASON_PREFIX",
    "OUR_RESERVATION_PREFIX",
    "PAUSE_SK",
    "PROTOCOL_VERSION",
    "VERBS",
    "Chunk",
    "DrainNode",
    "Enrolment",
    "Envelope",
    "Header",
    "Heartbeat",
    "Intent",
    "IntentResult",
    "LimitAccount",
    "LimitPartitionQos",
    "ObservedAssociation",
    "ObservedJob",
    "ObservedLimits",
    "ObservedNode",
    "ObservedPartition",
    "ObservedQos",
    "ObservedReservation",
    "ObservedUsage",
    "Outcome",
    "PartitionState",
    "Pause",
    "ProtocolError",
    "Removed",
    "Report",
    "ReserveNodes",
    "ResumeNode",
    "Role",
    "SetPartitionState",
    "Undone",
    "UndoneBy",
    "Verb",
    "controller_pk",
    "decode",
    "encode",
    "intent_sk",
    "make_enrolment",
    "node_pk",
    "open_enrolment",
    "open_envelope",
    "report_body",
    "seal",
]
