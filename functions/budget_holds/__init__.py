"""budget_holds: hold and release Slurm work as budgets are spent."""
