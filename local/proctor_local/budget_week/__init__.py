"""`make run`: departments spend their money on a real Slurm, and what Proctor does about it."""
