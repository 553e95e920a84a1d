"""What may wake budget_holds: Budgets' message, a change of observed state, the sweep, a policy change, a manual request."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from budget_holds import FUNCTION
from budget_holds.snapshot import Order, OrderKind
from proctor.domain.errors import InvalidInputError
from proctor.domain.triggers import ManualTrigger, NoEvent, PolicyChanged, Sweep
from proctor.wire.budgets_manual import BUDGET_MANUAL_REQUEST, BudgetManualRequest
from proctor.wire.budgets_sns import SNS_NOTIFICATION
from proctor.wire.manual import asked
from proctor.wire.observed_event import OBSERVED_CHANGED
from proctor.wire.parameter_store import policy_change
from proctor.wire.parsing import parse as validate

KINDS = frozenset({"usage", "results", "limits", "undone", "associations", "partitions", "qos"})
"""Sections whose change can change a decision; jobs and nodes change all the time and are read by the sweep."""


@dataclass(frozen=True, slots=True)
class BudgetMessage:
    """AWS Budgets says that a budget passed an alert threshold. A hint: the numbers are read again."""

    budget_name: str
    account_id: str
    name: str = "BudgetsNotification"
    is_sweep: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class ObservedChange:
    """Something changed in what the agents see of a cluster."""

    cluster: str
    kind: str
    name: str = "ObservedChanged"
    is_sweep: ClassVar[bool] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Manual(ManualTrigger):
    """An operator's request: either a scope to decide again, or orders about budgets."""

    scope_kind: Literal["budget", "account", "partition", "all"] | None = None
    scope_id: str = "*"
    orders: tuple[Order, ...] = ()


type Trigger = BudgetMessage | ObservedChange | NoEvent | Sweep | PolicyChanged | Manual


def parse(raw: Mapping[str, Any]) -> Trigger:
    """Read one event. Raises InvalidInputError that names the field, the value and the fix."""
    source, detail_type = raw.get("source"), raw.get("detail-type")
    if source == "proctor.manual":
        return _manual(validate(BUDGET_MANUAL_REQUEST, raw))
    if source == "proctor.schedule" and detail_type == "Sweep":
        return Sweep()
    if source == "proctor.observed":
        detail = validate(OBSERVED_CHANGED, raw).detail
        return (
            ObservedChange(detail.cluster, detail.kind)
            if detail.kind in KINDS
            else NoEvent(f"Observed {detail.kind}")
        )
    if source == "aws.ssm" and detail_type == "Parameter Store Change":
        return policy_change(raw, FUNCTION, has_definitions=True)
    if raw.get("Type") == "Notification":
        return BudgetMessage(*validate(SNS_NOTIFICATION, raw).budget())
    raise InvalidInputError(
        "source and detail-type, or Type",
        f"{source} / {detail_type} / {raw.get('Type')}",
        "send one of the events in events/budget_holds",
    )


def _manual(request: BudgetManualRequest) -> Manual:
    return Manual(
        **asked(request),
        scope_kind=request.scope.kind if request.scope else None,
        scope_id=request.scope.id if request.scope else "*",
        orders=tuple(
            Order(
                kind=OrderKind(order.action),
                budget=order.budget,
                by=request.requested_by,
                cluster=order.cluster,
                until_at=order.until,
            )
            for order in request.actions
        ),
    )
