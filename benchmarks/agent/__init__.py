"""The agent measured beside a real Slurm: its cost, and how fast it puts a hold back."""
