"""The agent on a HyperPod node: pulls intents, applies them to Slurm, reads back, reports.

Standard library only, Python 3.10 or later. It runs Slurm's own commands by argv lists, never a shell, touches
only what intents name, and undoes only what is its own.
"""

AGENT_VERSION = "1.0.0"
