"""Wiring from the environment: one frozen Settings per function, every missing or bad name in one message."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from proctor.domain.decision import Mode
from proctor.domain.errors import InvalidInputError

_CLUSTER_NAME = re.compile(r"^[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the template tells a function. Names of variables are in `VARIABLES`."""

    clusters: tuple[str, ...]
    bound: Mode
    claims_table: str
    verdicts_table: str
    memory_table: str
    people_table: str
    exemptions_table: str
    parking_queue_url: str
    operators_topic_arn: str
    event_bus: str
    sender: str

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "Settings":
        """Read all variables. Raises InvalidInputError that names everything missing or unusable at once."""
        missing = sorted(name for name in VARIABLES if name not in env)
        if missing:
            raise InvalidInputError("environment", ", ".join(missing), "set these variables in template.yaml")
        clusters = tuple(name for name in (c.strip() for c in env["PROCTOR_CLUSTERS"].split(",")) if name)
        bad = [name for name in clusters if not _CLUSTER_NAME.match(name)]
        if bad or not clusters:
            raise InvalidInputError(
                "PROCTOR_CLUSTERS", env["PROCTOR_CLUSTERS"], "list HyperPod cluster names"
            )
        if env["PROCTOR_APPLY_ACTIONS"] not in ("true", "false"):
            raise InvalidInputError(
                "PROCTOR_APPLY_ACTIONS", env["PROCTOR_APPLY_ACTIONS"], "use true or false"
            )
        return cls(
            clusters=clusters,
            bound=Mode.APPLY if env["PROCTOR_APPLY_ACTIONS"] == "true" else Mode.DRY_RUN,
            **{field: env[name] for name, field in VARIABLES.items() if field not in ("clusters", "bound")},
        )


VARIABLES = {
    "PROCTOR_CLUSTERS": "clusters",
    "PROCTOR_APPLY_ACTIONS": "bound",
    "PROCTOR_CLAIMS_TABLE": "claims_table",
    "PROCTOR_VERDICTS_TABLE": "verdicts_table",
    "PROCTOR_MEMORY_TABLE": "memory_table",
    "PROCTOR_PEOPLE_TABLE": "people_table",
    "PROCTOR_EXEMPTIONS_TABLE": "exemptions_table",
    "PROCTOR_PARKING_QUEUE_URL": "parking_queue_url",
    "PROCTOR_OPERATORS_TOPIC_ARN": "operators_topic_arn",
    "PROCTOR_EVENT_BUS": "event_bus",
    "PROCTOR_SENDER": "sender",
}
"""Variable → field. The template test compares this with template.yaml."""
