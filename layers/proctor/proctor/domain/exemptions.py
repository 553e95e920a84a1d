"""Exceptions that a named person granted for a limited time."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemption:
    """One row of the exemptions table.

    `max_sessions` replaces the cap of `login_name`; None exempts the person from the cap altogether. `granted_by` owns it.
    `cluster` None means all clusters. Over at `ends_at`, whatever the table still holds.
    """

    login_name: str
    ends_at: datetime
    granted_by: str
    justification: str
    max_sessions: int | None = None
    cluster: str | None = None

    def applies(self, login_name: str, cluster: str, now: datetime) -> bool:
        """Whether this exemption binds for a person in a cluster at `now`."""
        return self.login_name == login_name and self.cluster in (None, cluster) and now < self.ends_at


def exemption_for(
    exemptions: Iterable[Exemption], login_name: str, cluster: str, now: datetime
) -> Exemption | None:
    """The binding exemption; of several the one that ends last, then the one for this cluster."""
    binding = [e for e in exemptions if e.applies(login_name, cluster, now)]
    return max(binding, key=lambda e: (e.ends_at, e.cluster is not None), default=None)
