"""What budget_holds knows when it decides: plain values, `now` and policy inside."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from budget_holds.definition import BudgetDefinition
from budget_holds.policy import BudgetHoldsPolicy
from proctor.domain.budgets_exemptions import BudgetExemption
from proctor.domain.budgets_memory import BudgetMemory, memory_subject
from proctor.domain.budgets_reading import BudgetAnswer
from proctor.domain.decision import Mode
from proctor.domain.identity import Person
from proctor.domain.policy import PolicyDraft, PolicyInForce
from proctor.domain.slurm_actions import StoredIntents
from proctor.domain.slurm_state import SlurmView


class Path(StrEnum):
    """What led to this evaluation."""

    EVENT = "event"
    SWEEP = "sweep"
    MANUAL = "manual"


class OrderKind(StrEnum):
    """What an operator may order about a budget."""

    HOLD = "HoldBudget"
    RELEASE = "ReleaseBudget"
    APPROVE = "ApproveBudget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An operator's order, as asked for; `until_at` only for a hold or a release."""

    kind: OrderKind
    budget: str
    by: str
    cluster: str | None = None
    until_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One budget of one cluster.

    `answer` is AWS's about the budget itself, `bill` about the bill of an allocation; None when not read. `is_asked`: this
    evaluation looks at it; otherwise only its memory counts.
    """

    cluster: str
    name: str
    definition: PolicyInForce[BudgetDefinition]
    memory: BudgetMemory
    is_asked: bool
    answer: BudgetAnswer | None = None
    bill: BudgetAnswer | None = None
    order: Order | None = None

    @property
    def budget(self) -> BudgetDefinition:
        """The definition in force."""
        return self.definition.policy

    @property
    def memory_subject(self) -> str:
        """Key of its memory."""
        return memory_subject(self.cluster, self.name)

    @property
    def subject(self) -> str:
        """Its verdict's subject."""
        return f"budget#{self.cluster}#{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """Everything about one cluster.

    `unusable` maps budgets whose definition in force can't be read to why; `unusable_holding` are those of them that hold.
    `gone` has the memories of budgets that hold, or held, and have no definition.
    """

    cluster: str
    policy: PolicyInForce[BudgetHoldsPolicy]
    slurm: SlurmView
    intents: StoredIntents
    situations: tuple[Situation, ...]
    exemptions: tuple[BudgetExemption, ...] = ()
    unusable: Mapping[str, str] = field(default_factory=dict)
    unusable_holding: frozenset[str] = frozenset()
    gone: Mapping[str, BudgetMemory] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything one evaluation looks at. `people` holds those who may have to be told.

    `paused` maps a cluster to why it is paused; read only when a hold begins, which nobody may then be told of as in force.

    `is_rehearsal`: an operator asked for a dry run, so nothing is remembered either.
    """

    now: datetime
    path: Path
    bound: Mode
    clusters: tuple[ClusterView, ...] = ()
    drafts: tuple[PolicyDraft, ...] = ()
    ungoverned: tuple[str, ...] = ()
    not_ours: tuple[tuple[str, str], ...] = ()
    people: Mapping[str, Person] = field(default_factory=dict)
    paused: Mapping[str, str] = field(default_factory=dict)
    requested_by: str = ""
    is_rehearsal: bool = False
