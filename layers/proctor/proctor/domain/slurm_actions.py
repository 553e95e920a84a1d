"""What Proctor can ask of Slurm through the agents, as data: an intent held, or let go."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from proctor.domain.actions import Action, Basis
from proctor.domain.agent_protocol import Intent


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteIntent(Action):
    """Write a held intent over revision `expected_rev` (0: there is none yet).

    `holders` are the holds of the budgets that want it; it is spared when none of them stands any more as it was decided on.
    """

    cluster: str
    intent: Intent
    expected_rev: int
    holders: tuple[Basis, ...] = ()
    budget: ClassVar[str | None] = "holds"

    @property
    def touches(self) -> tuple[str, ...]:
        """The account, partition or reservation by its short name too, for protected subjects."""
        return (self.subject, f"{self.intent.verb.kind}#{self.intent.verb.subject}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawIntent(Action):
    """Write the same intent with is_held false, so that the agent restores what was before.

    `holders` are the memories of other budgets on this subject; it stays held when one of them holds by now.
    """

    cluster: str
    intent: Intent
    expected_rev: int
    holders: tuple[str, ...] = ()
    budget: ClassVar[str | None] = "releases"


def intent_subject(cluster: str, kind: str, subject: str) -> str:
    """A verdict's subject, e.g. `account#alpha#lab1`."""
    return f"{kind}#{cluster}#{subject}"


type StoredIntents = Mapping[str, Intent | None]
"""Sort key → intent; None for an item that this release can't read."""
