"""The policy of agent_reports: `/proctor/<cluster>/agent_reports` in Parameter Store, JSON, at most 4 KB.

Every field has a default, and a cluster without a policy in force is taken at the defaults: observation does not stop for want
of a policy. Unknown keys are refused.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import ClassVar

from proctor.domain.guardrails import ActionBudget, Guardrails

_STRICT = {"extra": "forbid"}


class LateEnrolment(StrEnum):
    """What happens to the first enrolment of a node that was launched longer ago: ACCEPT and tell, or ASK an operator."""

    ACCEPT = "accept"
    ASK = "ask"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailSettings:
    """How many messages to operators are plausible."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    notices: ActionBudget = field(default_factory=lambda: ActionBudget(per_run=50, per_window=30))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReportsPolicy:
    """Who may enrol, and when silence is an alarm.

    `controller_groups`: instance groups whose nodes may enrol as the controller's agent; empty means any, so that only the
    queue tells roles apart. `may_enrol_again_after_update`: a software update replaces a node's disk and the key on it; when
    true, a new key within `enrol_within_minutes` after one is taken.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    enrol_within_minutes: int = 60
    late_enrolment: LateEnrolment = LateEnrolment.ACCEPT
    may_enrol_again_after_update: bool = False
    controller_groups: tuple[str, ...] = ()
    silent_after_seconds: int = 120
    guardrails: GuardrailSettings = field(default_factory=GuardrailSettings)

    def __post_init__(self) -> None:
        """Refuse what no site could mean."""
        if not 1 <= self.enrol_within_minutes <= 10_080:
            message = "enrol_within_minutes must be 1 to 10080"
            raise ValueError(message)
        if not 90 <= self.silent_after_seconds <= 3600:
            message = "silent_after_seconds must be 90 to 3600: a heartbeat comes every 60 s"
            raise ValueError(message)

    @property
    def enrol_within(self) -> timedelta:
        """How long after its launch a node is fresh."""
        return timedelta(minutes=self.enrol_within_minutes)

    @property
    def silent_after(self) -> timedelta:
        """How long an agent may say nothing."""
        return timedelta(seconds=self.silent_after_seconds)

    def rails(self) -> Guardrails:
        """The guardrails as the executor knows them."""
        return Guardrails(budgets={"notices": self.guardrails.notices})
