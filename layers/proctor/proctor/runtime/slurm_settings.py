"""Wiring of functions on the Slurm side, beside the common Settings: every missing name in one message."""

from collections.abc import Mapping
from dataclasses import dataclass

from proctor.domain.errors import InvalidInputError

SLURM_VARIABLES = {
    "PROCTOR_INTENTS_TABLE": "intents_table",
    "PROCTOR_OBSERVED_TABLE": "observed_table",
    "PROCTOR_WAKE_QUEUE_URL": "wake_queue_url",
    "PROCTOR_ACCOUNT_ID": "account_id",
}
"""Variable → field. The template test compares this with template.yaml."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmSettings:
    """Tables of the Slurm side, the wake-up queue (or `<cluster>=<address>` with commas between), and the budgets' account."""

    intents_table: str
    observed_table: str
    wake_queue_url: str
    account_id: str

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "SlurmSettings":
        """Read all variables. Raises InvalidInputError that names everything missing at once."""
        missing = sorted(name for name in SLURM_VARIABLES if name not in env)
        if missing:
            raise InvalidInputError("environment", ", ".join(missing), "set these variables in template.yaml")
        return cls(**{field: env[name] for name, field in SLURM_VARIABLES.items()})
