"""Which budgets a request by hand is about, and which orders nobody can mean: those are refused before anything is done."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from budget_holds.definition import BudgetDefinition
from budget_holds.snapshot import Order, Situation
from proctor.domain.errors import InvalidInputError

LONGEST = timedelta(days=366)
"""How far away an order may end: the longest year."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request is about: all budgets of a scope, or those that it has orders for (`kind` is None then)."""

    kind: str | None
    name: str
    orders: tuple[Order, ...]


def refuse_odd_ends(orders: Iterable[Order], now: datetime) -> None:
    """An order that has ended already, or hardly ever will, is a slip. Raises InvalidInputError."""
    for order in orders:
        if order.until_at is not None and not timedelta(0) < order.until_at - now <= LONGEST:
            raise InvalidInputError(
                "actions[].until",
                order.until_at.isoformat(),
                f"choose a time after now ({now:%Y-%m-%dT%H:%M:%SZ}), at most {LONGEST.days} days away",
            )


def refuse_ambiguous(orders: Iterable[Order], asked: Iterable[Situation]) -> None:
    """An order must mean one budget. Raises InvalidInputError."""
    names = [s.name for s in asked]
    for order in orders:
        if order.cluster is None and names.count(order.budget) > 1:
            raise InvalidInputError(
                "actions[].cluster", None, f"two clusters have a budget {order.budget}; name the cluster"
            )


def is_meant(request: Asked, cluster: str, name: str, budget: BudgetDefinition) -> bool:
    """Whether the request is about this budget of this cluster."""
    match request.kind:
        case "all":
            return True
        case "budget":
            return name == request.name
        case "account":
            return budget.account == request.name or budget.is_whole_cluster
        case "partition":
            return request.name in budget.partitions or budget.is_whole_cluster
        case _:
            return any(order.budget == name and order.cluster in {None, cluster} for order in request.orders)


def unknown_requests(request: Asked, asked: Iterable[Situation]) -> list[str]:
    """Subjects of what was asked for and is nowhere: a budget, or one in the cluster named; a scope without any budget."""
    found = {(s.cluster, s.name) for s in asked}
    names = {name for _, name in found}
    unknown = [
        f"budget#{order.budget}" if order.cluster is None else f"budget#{order.cluster}#{order.budget}"
        for order in request.orders
        if (
            order.budget not in names if order.cluster is None else (order.cluster, order.budget) not in found
        )
    ]
    if request.kind not in (None, "all") and not found:
        unknown.append(f"{request.kind}#{request.name}")
    return sorted(unknown)
