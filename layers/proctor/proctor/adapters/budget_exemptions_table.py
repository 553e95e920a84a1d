"""Exemptions from budget holds, in the exemptions table: key `function`, range `id`. Read together and kept for 60 s."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from proctor.adapters.aws_errors import translated
from proctor.adapters.exemptions_table import exemption_rows
from proctor.adapters.items import expiry, to_item
from proctor.domain.budgets_exemptions import BudgetExemption, ExemptKind

if TYPE_CHECKING:
    from proctor.adapters.aws_clients import AwsClients

_FUNCTION = "budget_holds"
_KEPT_SECONDS = 60.0
_KEPT_DAYS_AFTER_END = 400


class DynamoBudgetExemptions:
    """Implements the BudgetExemptionStore port, and the writing side for `proctor exempt`."""

    def __init__(
        self, clients: "AwsClients", table: str, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Take the clients and the table's name."""
        self._clients = clients
        self._table = table
        self._monotonic = monotonic
        self._kept: tuple[BudgetExemption, ...] = ()
        self._kept_at: float | None = None

    def exemptions(self) -> Sequence[BudgetExemption]:
        """All rows of the function."""
        if self._kept_at is None or self._monotonic() - self._kept_at >= _KEPT_SECONDS:
            rows = exemption_rows(self._clients, self._table, _FUNCTION)
            self._kept, self._kept_at = tuple(map(_exemption, rows)), self._monotonic()
        return self._kept

    def put(self, exemption: BudgetExemption) -> None:
        """Grant: one row per kind, name, cluster and end."""
        scope = exemption.cluster or "*"
        row = {
            "function": _FUNCTION,
            "id": f"{exemption.kind.value}#{exemption.name}#{scope}#{exemption.ends_at.isoformat()}",
            "kind": exemption.kind.value,
            "name": exemption.name,
            "ends_at": exemption.ends_at,
            "granted_by": exemption.granted_by,
            "justification": exemption.justification,
            "cluster": exemption.cluster,
            "expires_at": expiry(exemption.ends_at, _KEPT_DAYS_AFTER_END),
        }
        with translated("dynamodb:PutItem"):
            self._clients.dynamodb().put_item(TableName=self._table, Item=to_item(row))


def _exemption(row: Mapping[str, Any]) -> BudgetExemption:
    return BudgetExemption(
        kind=ExemptKind(row["kind"]),
        name=row["name"],
        ends_at=datetime.fromisoformat(row["ends_at"]),
        granted_by=row["granted_by"],
        justification=row["justification"],
        cluster=row.get("cluster"),
    )
