"""What functions want of Slurm, and what it was seen to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from proctor.domain.agent_protocol import Intent
    from proctor.domain.slurm_actions import StoredIntents
    from proctor.domain.slurm_state import SlurmView


class IntentStore(Protocol):
    """What functions want of Slurm: one item a subject, written by one owner over a known revision."""

    def intents(self, cluster: str) -> StoredIntents:
        """Every intent for a cluster's controller, by sort key, read consistently; None for one that can't be read."""

    def get(self, pk: str, sk: str) -> Intent | None:
        """One intent, read consistently. Raises TerminalError for one that can't be read."""

    def put(self, intent: Intent, expected_rev: int) -> None:
        """Write while the stored revision is `expected_rev` and the owner the same (0: there is none). Raises LostRaceError."""


class SlurmState(Protocol):
    """Slurm as the agents last saw it; written by agent_reports alone."""

    def view(self, cluster: str, *, usage_since: datetime | None) -> SlurmView:
        """One cluster. Usage rows of hours from `usage_since` on; none when it is None. Old rows are the rule's business."""
