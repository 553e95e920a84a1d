"""A real Slurm under one directory, shaped like HyperPod's, for tests, drills and the local stack.

It may start daemons on loopback and write below its own directory. It never touches /etc, another Slurm on
the machine, or a process it did not start.
"""

from proctor_slurm.jobs import Job, JobDesk
from proctor_slurm.packages import Availability, available, ensure_installed
from proctor_slurm.shape import ClusterShape, NodeGroup
from proctor_slurm.stack import SlurmStack

__all__ = [
    "Availability",
    "ClusterShape",
    "Job",
    "JobDesk",
    "NodeGroup",
    "SlurmStack",
    "available",
    "ensure_installed",
]
