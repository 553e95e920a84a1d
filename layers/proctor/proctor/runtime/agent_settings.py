"""Wiring of agent_reports, beside the common Settings: every missing name in one message."""

from collections.abc import Mapping
from dataclasses import dataclass

from proctor.domain.agent_protocol import Role
from proctor.domain.errors import InvalidInputError

AGENT_VARIABLES = {
    "PROCTOR_AGENTS_TABLE": "agents_table",
    "PROCTOR_OBSERVED_TABLE": "observed_table",
    "PROCTOR_CONTROLLER_REPORTS_QUEUE_ARN": "controller_queue_arn",
    "PROCTOR_NODE_REPORTS_QUEUE_ARN": "node_queue_arn",
}
"""Variable → field. The template test compares this with template.yaml."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """Tables of agents and observed state, and the queue of each role: a message's role is its queue's."""

    agents_table: str
    observed_table: str
    controller_queue_arn: str
    node_queue_arn: str

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "AgentSettings":
        """Read all variables. Raises InvalidInputError that names everything missing, or two roles with one queue."""
        missing = sorted(name for name in AGENT_VARIABLES if not env.get(name))
        if missing:
            raise InvalidInputError("environment", ", ".join(missing), "set these variables in template.yaml")
        found = cls(**{field: env[name] for name, field in AGENT_VARIABLES.items()})
        if found.controller_queue_arn == found.node_queue_arn:
            raise InvalidInputError(
                "PROCTOR_NODE_REPORTS_QUEUE_ARN", found.node_queue_arn, "give each role a queue of its own"
            )
        return found

    @property
    def roles(self) -> dict[str, Role]:
        """Queue ARN → role."""
        return {self.controller_queue_arn: Role.CONTROLLER, self.node_queue_arn: Role.NODE}
