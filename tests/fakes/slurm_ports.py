"""mypy's proof that each fake of the Slurm side is what its port says."""

from budget_holds.definition import BudgetDefinition
from proctor.ports import budgets, slurm
from tests.fakes.slurm_side import (
    FakeBudgetDefinitions,
    FakeBudgetExemptions,
    FakeBudgetLedger,
    FakeBudgetMemory,
    FakeIntentStore,
    FakeSlurmState,
)

INTENT_STORE: type[slurm.IntentStore] = FakeIntentStore
SLURM_STATE: type[slurm.SlurmState] = FakeSlurmState
BUDGET_LEDGER: type[budgets.BudgetLedger] = FakeBudgetLedger
BUDGET_MEMORY: type[budgets.BudgetMemoryStore] = FakeBudgetMemory
BUDGET_DEFINITIONS: type[budgets.BudgetDefinitions[BudgetDefinition]] = FakeBudgetDefinitions[
    BudgetDefinition
]
BUDGET_EXEMPTIONS: type[budgets.BudgetExemptionStore] = FakeBudgetExemptions
