"""Budgets: what was spent, what was defined, who is exempt, and what is remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from proctor.ports import MemorySwap

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from proctor.domain.budgets_exemptions import BudgetExemption
    from proctor.domain.budgets_memory import BudgetMemory
    from proctor.domain.budgets_reading import BudgetAnswer
    from proctor.domain.policy import PolicyDraft, PolicyInForce


class BudgetLedger(Protocol):
    """AWS Budgets of one account. An answer that can't be had is a BudgetUnread, so that one budget doesn't stop the others."""

    def read(self, names: Iterable[str], *, afresh: bool = False) -> Mapping[str, BudgetAnswer]:
        """Every named budget; two calls each. Never raises for a budget that can't be read. `afresh`: not a kept answer."""


class BudgetMemoryStore(MemorySwap, Protocol):
    """What budget_holds remembers; its memory data is a BudgetMemory."""

    def get(self, subject: str) -> BudgetMemory:
        """One budget's memory, read consistently; an empty one of revision 0 when none is stored."""

    def all(self, cluster: str) -> Mapping[str, BudgetMemory]:
        """Every memory of a cluster, by subject, all pages."""


class BudgetDefinitions[P](Protocol):
    """Validated definitions of budgets: one parameter each, behind the label `in-force` as any policy."""

    def in_force(self) -> Mapping[str, Mapping[str, PolicyInForce[P] | str]]:
        """Cluster → budget → definition in force, or why it can't be read. Cached at most 60 s."""

    def drafts(self, cluster: str) -> Sequence[PolicyDraft]:
        """The newest version of every definition of a cluster, validated. Never cached."""

    def draft(self, parameter_name: str) -> PolicyDraft | None:
        """The newest version of one definition, validated; None when it doesn't exist. Never cached."""

    def put_in_force(self, parameter_name: str, version: int) -> None:
        """Move the label `in-force` to a version."""


class BudgetExemptionStore(Protocol):
    """Exemptions from budget holds."""

    def exemptions(self) -> Sequence[BudgetExemption]:
        """All rows, expired ones included: expiry is the rule's business. Cached at most 60 s."""
