"""The policy of session_limits: `/proctor/<cluster>/session_limits` in Parameter Store, JSON, at most 4 KB.

Every field has a default, so `{}` is a valid policy; it is in dry-run. Unknown keys are refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from proctor.domain.decision import Mode, lowest
from proctor.domain.guardrails import ActionBudget, Guardrails
from proctor.domain.sessions import DEFAULT_DOCUMENT, DocumentKind

_STRICT = {"extra": "forbid"}
_MOST = 10_000
_YEAR_MINUTES = 525_600
_ROLE_LETTERS = 4
_WILDCARDS = str.maketrans("", "", "*?[]!")


class Rule(StrEnum):
    """The rules that can be switched apart."""

    CAP = "cap"
    DOCUMENT = "document"
    NODE_GROUP = "node_group"
    DISABLED = "disabled"
    UNMAPPED = "unmapped"
    MANUAL = "manual"
    NOTICE = "notice"
    POLICY = "policy"


class Response(StrEnum):
    """What happens to a session that is not allowed whatever the count."""

    REPORT = "report"
    END = "end"


class VictimOrder(StrEnum):
    """Which session ends first when none is known to be without work."""

    NEWEST = "newest"
    OLDEST = "oldest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """How many sessions a person may have: in this cluster, and (if set) over all governed clusters. Sum of weights."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    max_sessions: int = 3
    all_clusters: int | None = None

    def __post_init__(self) -> None:
        """A cap of 0 would end every session; switch people off in the directory instead."""
        _within(1, _MOST, "max_sessions", self.max_sessions)
        if self.all_clusters is not None:
            _within(1, _MOST, "all_clusters", self.all_clusters)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCap:
    """The cap of a directory group. The first entry of the list whose group the person is in applies."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    group: str
    max_sessions: int
    all_clusters: int | None = None

    def __post_init__(self) -> None:
        """The same bounds as a cap's."""
        Cap(max_sessions=self.max_sessions, all_clusters=self.all_clusters)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGroupRule:
    """Who may open sessions on the nodes of one instance group; nobody else may."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    instance_group: str
    allowed_groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconnects:
    """When a client that reconnects at once is fought no further.

    A burst is a session over the cap that starts within `burst_seconds` after an end of ours. After `back_off_after` bursts in
    `window_minutes` only the sweep ends sessions of this person; after `propose_after` the operators are shown an IAM deny.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    burst_seconds: int = 60
    window_minutes: int = 30
    back_off_after: int = 3
    propose_after: int = 5

    def __post_init__(self) -> None:
        """All are counts or durations."""
        for name in ("burst_seconds", "window_minutes", "back_off_after", "propose_after"):
            _within(1, _YEAR_MINUTES, name, getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailSettings:
    """Caps on what one run and one window may do, and the share of people a wrong directory may hit, in percent."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    session_ends: ActionBudget = field(default_factory=lambda: ActionBudget(per_run=200, per_window=600))
    notices: ActionBudget = field(default_factory=lambda: ActionBudget(per_run=200, per_window=300))
    max_share_percent: int = 50

    def __post_init__(self) -> None:
        """A share is 1 to 100 %."""
        if not 1 <= self.max_share_percent <= 100:
            message = "max_share_percent must be 1 to 100"
            raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLimitsPolicy:
    """What session_limits does in one cluster. `rules` narrows `mode` for single rules; it can't widen it."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    mode: Mode = Mode.DRY_RUN
    rules: Mapping[Rule, Mode] = field(default_factory=dict)
    cap: Cap = field(default_factory=Cap)
    group_caps: tuple[GroupCap, ...] = ()
    weights: Mapping[DocumentKind, int] = field(default_factory=dict)
    victim_order: VictimOrder = VictimOrder.NEWEST
    allowed_documents: tuple[str, ...] = (
        DEFAULT_DOCUMENT,
        "AWS-StartSSHSession",
        "AWS-StartPortForwardingSession",
        "AWS-StartPortForwardingSessionToRemoteHost",
    )
    own_shell_documents: tuple[str, ...] = ()
    document_response: Response = Response.REPORT
    node_groups: tuple[NodeGroupRule, ...] = ()
    node_group_response: Response = Response.END
    disabled_response: Response = Response.END
    unmapped_response: Response = Response.REPORT
    trusted_roles: tuple[str, ...] = ("AWSReservedSSO_*",)
    break_glass_roles: tuple[str, ...] = ()
    protected_people: tuple[str, ...] = ()
    extra_login_nodes: tuple[str, ...] = ()
    reconnects: Reconnects = field(default_factory=Reconnects)
    incident_minutes: int = 60
    event_grace_minutes: int = 10
    appeal: str = "Write to the cluster's operators."
    guardrails: GuardrailSettings = field(default_factory=GuardrailSettings)

    def __post_init__(self) -> None:
        """Refuse what no cluster could mean."""
        _within(1, _YEAR_MINUTES, "incident_minutes", self.incident_minutes)
        _within(
            4, _YEAR_MINUTES, "event_grace_minutes", self.event_grace_minutes
        )  # two sweeps, and a late listing
        for kind, weight in self.weights.items():
            _within(0, _MOST, f"weights.{kind.value}", weight)
        for pattern in (*self.trusted_roles, *self.break_glass_roles):
            if len(pattern.translate(_WILDCARDS)) < _ROLE_LETTERS:
                message = f"role pattern {pattern!r} is too wide: name at least {_ROLE_LETTERS} characters of the role"
                raise ValueError(message)

    def mode_of(self, rule: Rule, bound: Mode) -> Mode:
        """How far one rule may go: the stack's and the request's bound, the policy's mode, the rule's own."""
        return lowest(bound, self.mode, self.rules.get(rule, Mode.APPLY))

    def rails(self) -> Guardrails:
        """The guardrails as the executor knows them."""
        return Guardrails(
            budgets={"session_ends": self.guardrails.session_ends, "notices": self.guardrails.notices},
            protected_subjects=frozenset(
                f"person#{form}" for name in self.protected_people for form in (name, name.casefold())
            ),
            share_rules=frozenset({Rule.DISABLED.value, Rule.UNMAPPED.value, Rule.NODE_GROUP.value}),
            max_share_percent=self.guardrails.max_share_percent,
        )


def _within(floor: int, ceiling: int, name: str, value: int) -> None:
    if not floor <= value <= ceiling:
        message = f"{name} must be {floor} or more" if value < floor else f"{name} must be {ceiling} or less"
        raise ValueError(message)
