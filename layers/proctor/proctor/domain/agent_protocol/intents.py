"""One intent: what one function wants Slurm to be, as one DynamoDB item.

    pk  <cluster>#controller | <cluster>#nodes#<node>      sk  <kind>#<subject> kind, subject, owner S
    rev, expires_at (epoch seconds, also the TTL attribute), protocol N   is_held BOOL value M {"verb":
    "SetPartitionState", ...its fields}   previous M {"State": "UP"} | NULL

Written by one owner with a condition on owner and rev. An intent with `is_held` false is a release and
stays until the agent has reported `released`; a vanished item is no release (the agent keeps the hold
until `expires_at`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from proctor.domain.agent_protocol import names
from proctor.domain.agent_protocol.codec import ProtocolError, decode, encode
from proctor.domain.agent_protocol.names import PROTOCOL_VERSION
from proctor.domain.agent_protocol.verbs import VERBS, PartitionState, Verb

_LIMIT_FIELDS = frozenset({"GrpJobs", "GrpSubmitJobs", "GrpTRES/node"})


def controller_pk(cluster: str) -> str:
    """Partition key of what the controller's agent does."""
    return f"{_checked('cluster', cluster, names.CLUSTER)}#controller"


def node_pk(cluster: str, node: str) -> str:
    """Partition key of what one other node's agent does."""
    return f"{_checked('cluster', cluster, names.CLUSTER)}#nodes#{_checked('node', node, names.NODE)}"


def intent_sk(verb: Verb) -> str:
    """Sort key of the one intent about this verb's subject."""
    return f"{verb.kind}#{verb.subject}"


def _checked(what: str, value: str, pattern: Any) -> str:
    if not pattern.fullmatch(value):
        raise ProtocolError(f"{what}: {value!r:.80} is not allowed here")
    return value


@dataclass(frozen=True)
class Intent:
    """What one function wants: a verb, held or released, until it expires.

    `previous` is what the hold replaces, from an observation: {"State": "UP"} for a partition,
    {"GrpJobs": "10"} for a limit ("-1" is none, "GrpTRES/node" the node entry of GrpTRES). The agent's
    own record, when it has one, wins.
    """

    pk: str
    verb: Verb
    is_held: bool
    owner: str
    rev: int
    expires_at: datetime
    previous: Mapping[str, str] | None = None
    protocol: int = PROTOCOL_VERSION

    def __post_init__(self) -> None:
        """Refuse odd owners, revisions below 1, naive times and unknown previous fields."""
        _checked("owner", self.owner, names.OWNER)
        if self.rev < 1:
            raise ProtocolError(f"rev: {self.rev} is below 1")
        if self.expires_at.tzinfo is None:
            raise ProtocolError("expires_at: a time zone is needed")
        _check_previous(self.verb, self.previous)

    @property
    def sk(self) -> str:
        """Sort key: kind and subject."""
        return intent_sk(self.verb)

    def is_expired(self, now: datetime) -> bool:
        """Whether the hold has ended by its own date."""
        return now >= self.expires_at

    def to_item(self) -> dict[str, Any]:
        """The item as plain values, for a DynamoDB serialiser."""
        value = encode(self.verb) | {"verb": type(self.verb).__name__}
        return {
            "pk": self.pk,
            "sk": self.sk,
            "kind": self.verb.kind,
            "subject": self.verb.subject,
            "owner": self.owner,
            "rev": self.rev,
            "expires_at": int(self.expires_at.timestamp()),
            "is_held": self.is_held,
            "value": value,
            "previous": dict(self.previous) if self.previous is not None else None,
            "protocol": self.protocol,
        }

    @classmethod
    def from_item(cls, item: Mapping[str, Any]) -> "Intent":
        """An item as an Intent; ProtocolError when anything in it is unknown, odd, or of a later protocol."""
        raw = decode(_Item, item, "intent")
        if raw.protocol > PROTOCOL_VERSION:
            raise ProtocolError(f"intent.protocol: {raw.protocol} is later than {PROTOCOL_VERSION}")
        name = item["value"].get("verb")
        kind = VERBS.get(name) if isinstance(name, str) else None
        if kind is None:
            raise ProtocolError(f"intent.value.verb: {name!r:.60} is not a verb")
        fields = {key: value for key, value in item["value"].items() if key != "verb"}
        verb: Verb = decode(kind, fields, f"intent.{name}")
        intent = cls(
            raw.pk, verb, raw.is_held, raw.owner, raw.rev, raw.expires_at, raw.previous, raw.protocol
        )
        if (raw.sk, raw.kind, raw.subject) != (intent.sk, verb.kind, verb.subject):
            raise ProtocolError(f"intent.sk: {raw.sk!r:.80} does not name {verb.kind} {verb.subject}")
        return intent


@dataclass(frozen=True)
class Pause:
    """The item `control#pause` beside the intents: while `is_paused`, the agent observes and touches nothing."""

    pk: str
    sk: str
    is_paused: bool
    rev: int


PAUSE_SK = "control#pause"


@dataclass(frozen=True)
class _Item:
    """The item's own fields; the verb inside `value` is read by its class."""

    pk: str
    sk: names.IntentSk
    kind: str
    subject: str
    owner: names.OwnerName
    rev: int
    expires_at: datetime
    is_held: bool
    value: Mapping[str, Any]
    previous: Mapping[str, str] | None = None
    protocol: int = 1


def _check_previous(verb: Verb, previous: Mapping[str, str] | None) -> None:
    for key, value in (previous or {}).items():
        if verb.kind == "partition":
            if key != "State" or value not in PartitionState.__members__:
                raise ProtocolError(f"previous: {key}={value!r:.40} is no partition state")
        elif verb.kind in {"account", "partition_qos"}:
            if key not in _LIMIT_FIELDS or not names.LIMIT.fullmatch(value):
                raise ProtocolError(f"previous: {key}={value!r:.40} is no limit")
        else:
            raise ProtocolError(f"previous: a {verb.kind} has none")
