"""Budgets on the deployed stack and a real Slurm: a package, so that its fixtures end with it."""
