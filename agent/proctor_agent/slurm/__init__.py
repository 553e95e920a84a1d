"""Slurm's commands: argv lists out, streamed text in."""
