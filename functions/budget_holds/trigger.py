"""What may wake budget_holds: Budgets' message, a change of observed state, the sweep, a policy change, a manual request."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from budget_holds.snapshot import Order, OrderKind
from proctor.domain.errors import InvalidInputError
from proctor.wire.budgets_manual import BUDGET_MANUAL_REQUEST, BudgetManualRequest
from proctor.wire.budgets_sns import SNS_NOTIFICATION
from proctor.wire.observed_event import OBSERVED_CHANGED
from proctor.wire.parameter_store import PARAMETER_CHANGE
from proctor.wire.parsing import parse as validate

FUNCTION = "budget_holds"
_IGNORED_OPERATIONS = frozenset({"LabelParameterVersion", "Delete"})

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


@dataclass(frozen=True, slots=True)
class Nothing:
    """An event that asks for nothing."""

    name: str
    is_sweep: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Sweep:
    """Look at everything."""

    name: str = "Sweep"
    is_sweep: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class PolicyChanged:
    """A parameter was written: the function's policy, or the definition of `budget`."""

    parameter_name: str
    name: str = "ParameterStoreChange"
    is_sweep: ClassVar[bool] = False

    @property
    def cluster(self) -> str:
        """The cluster whose it is."""
        return self.parameter_name.split("/")[2]

    @property
    def budget(self) -> str | None:
        """The budget defined, None for the function's policy."""
        parts = self.parameter_name.split("/")
        return parts[4] if len(parts) == 5 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manual:
    """An operator's request: either a scope to decide again, or orders about budgets."""

    requested_by: str
    justification: str
    is_dry_run: bool
    scope_kind: Literal["budget", "account", "partition", "all"] | None = None
    scope_id: str = "*"
    orders: tuple[Order, ...] = ()
    lift: str | None = None
    caller_proof: str | None = None
    name: str = "Manual"
    is_sweep: ClassVar[bool] = False


type Trigger = BudgetMessage | ObservedChange | Nothing | Sweep | PolicyChanged | Manual


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
            else Nothing(f"Observed {detail.kind}")
        )
    if source == "aws.ssm" and detail_type == "Parameter Store Change":
        return _policy_changed(raw)
    if raw.get("Type") == "Notification":
        return BudgetMessage(*validate(SNS_NOTIFICATION, raw).budget())
    raise InvalidInputError(
        "source and detail-type, or Type",
        f"{source} / {detail_type} / {raw.get('Type')}",
        "send one of the events in events/budget_holds",
    )


def _policy_changed(raw: Mapping[str, Any]) -> PolicyChanged | Nothing:
    detail = validate(PARAMETER_CHANGE, raw).detail
    if detail.operation in _IGNORED_OPERATIONS:
        return Nothing(detail.operation)
    parts = detail.name.split("/")
    if len(parts) not in {4, 5} or parts[1] != "proctor" or parts[3] != FUNCTION or not all(parts[2:]):
        raise InvalidInputError(
            "detail.name",
            detail.name,
            "the rule must match /proctor/<cluster>/budget_holds and one level below",
        )
    return PolicyChanged(detail.name)


def _manual(request: BudgetManualRequest) -> Manual:
    return Manual(
        requested_by=request.requested_by,
        justification=request.justification,
        is_dry_run=request.dry_run,
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
        lift=request.break_glass.lift if request.break_glass else None,
        caller_proof=request.break_glass.caller_proof if request.break_glass else None,
    )
