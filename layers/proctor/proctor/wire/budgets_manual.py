"""Manual requests to budget_holds. The envelope is every function's (wire/manual.py); the scopes and actions are its own.

{"source": "proctor.manual", "requested_by": "ops@uni.example", "justification": "grant 17 was extended", "dry_run": false,
 "actions": [{"action": "ReleaseBudget", "budget": "lab1", "until": "2026-09-20T00:00:00Z"}]}
"""

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from proctor.wire.manual import ManualEnvelope

_STRICT = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class BudgetScope(BaseModel):
    """What to decide again."""

    model_config = _STRICT

    kind: Literal["budget", "account", "partition", "all"]
    id: Annotated[str, Field(min_length=1, max_length=256)] = "*"


class BudgetOrder(BaseModel):
    """An order about one budget. `cluster` is needed when two clusters have a budget of that name."""

    model_config = _STRICT

    action: Literal["HoldBudget", "ReleaseBudget", "ApproveBudget"]
    budget: Annotated[str, Field(min_length=1, max_length=100)]
    cluster: Annotated[str, Field(min_length=1, max_length=63)] | None = None
    until: AwareDatetime | None = None

    @model_validator(mode="after")
    def _approval_has_no_end(self) -> "BudgetOrder":
        if self.action == "ApproveBudget" and self.until is not None:
            message = "until: an approval is for the present period; leave it out"
            raise ValueError(message)
        return self


class BudgetManualRequest(ManualEnvelope):
    """The whole request."""

    scope: BudgetScope | None = None
    actions: Annotated[tuple[BudgetOrder, ...], Field(max_length=20)] = ()

    @model_validator(mode="after")
    def _one_of(self) -> "BudgetManualRequest":
        if (self.scope is None) == (not self.actions):
            message = "give either scope or actions"
            raise ValueError(message)
        # Without its cluster an order may mean the same budget as one that names it.
        everywhere = {order.budget for order in self.actions if order.cluster is None}
        names = [
            (None if order.budget in everywhere else order.cluster, order.budget) for order in self.actions
        ]
        if len(set(names)) != len(names):
            message = "give one order for a budget at a time"
            raise ValueError(message)
        return self


BUDGET_MANUAL_REQUEST: TypeAdapter[BudgetManualRequest] = TypeAdapter(BudgetManualRequest)
