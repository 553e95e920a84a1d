"""Exemptions from budget holds: granted by a named person, for a limited time."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class ExemptKind(StrEnum):
    """What may be exempt."""

    ACCOUNT = "account"
    QOS = "qos"
    PERSON = "person"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetExemption:
    """One row: `kind` and `name` are not held until `ends_at`. `cluster` None means all clusters; `granted_by` owns it.

    Over at `ends_at`, whatever the table still holds.
    """

    kind: ExemptKind
    name: str
    ends_at: datetime
    granted_by: str
    justification: str
    cluster: str | None = None

    def applies(self, cluster: str, now: datetime) -> bool:
        """Whether it binds in a cluster at `now`."""
        return self.cluster in (None, cluster) and now < self.ends_at


def binding(rows: Iterable[BudgetExemption], cluster: str, now: datetime) -> tuple[BudgetExemption, ...]:
    """The rows that bind, in a fixed order."""
    found = [row for row in rows if row.applies(cluster, now)]
    return tuple(sorted(found, key=lambda row: (row.kind, row.name, row.ends_at)))
