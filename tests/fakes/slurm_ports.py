"""mypy's proof that each fake of the Slurm side is what its port says."""

from budget_holds.definition import BudgetDefinition
from proctor import ports
from tests.fakes.slurm_side import (
    FakeBudgetDefinitions,
    FakeBudgetExemptions,
    FakeBudgetLedger,
    FakeBudgetMemory,
    FakeIntentStore,
    FakeSlurmState,
)

INTENT_STORE: type[ports.IntentStore] = FakeIntentStore
SLURM_STATE: type[ports.SlurmState] = FakeSlurmState
BUDGET_LEDGER: type[ports.BudgetLedger] = FakeBudgetLedger
BUDGET_MEMORY: type[ports.BudgetMemoryStore] = FakeBudgetMemory
BUDGET_DEFINITIONS: type[ports.BudgetDefinitions[BudgetDefinition]] = FakeBudgetDefinitions[BudgetDefinition]
BUDGET_EXEMPTIONS: type[ports.BudgetExemptionStore] = FakeBudgetExemptions
