"""budget_holds: hold and release Slurm work as budgets are spent."""

FUNCTION = "budget_holds"
"""Its name in parameters, records and sources of events."""
