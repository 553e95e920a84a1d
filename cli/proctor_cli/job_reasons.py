"""Why Slurm says that a job waits, in words, and which of these reasons a hold causes. Source: squeue(1), job reason codes."""

from proctor_cli.holds_seen import HoldSeen

_BY_HOLD = {
    "account": ("AssocGrpJobsLimit", "AssocGrpNodeLimit", "AssocGrpSubmitJobsLimit"),
    "partition": ("PartitionDown", "PartitionInactive"),
    "partition_qos": ("QOSGrpJobsLimit",),
    "reservation": ("ReqNodeNotAvail", "Reserved", "Resources", "Nodes required for job are DOWN"),
}

_PASSING = frozenset({"None", "Priority", "Resources", ""})
"""What Slurm shows while it has not looked at a job on its own account, hold or not."""

_WORDS = {
    "Priority": "jobs with a higher priority come first",
    "Resources": "nodes are not free yet",
    "Dependency": "it waits for another job",
    "DependencyNeverSatisfied": "the job it waits for has failed; scancel it",
    "JobHeldUser": "its owner holds it: scontrol release",
    "JobHeldAdmin": "an administrator holds it: scontrol release",
    "BeginTime": "its begin time is not reached",
    "Reservation": "it waits for its reservation",
    "ReqNodeNotAvail": "a node it asks for is reserved, drained or down",
    "PartitionDown": "its partition is DOWN",
    "PartitionInactive": "its partition is INACTIVE",
    "PartitionNodeLimit": "it asks for more nodes than its partition allows",
    "PartitionTimeLimit": "it asks for more time than its partition allows",
    "JobArrayTaskLimit": "as many of its tasks run as its array allows",
    "Licenses": "a licence is not free",
    "BadConstraints": "no node meets its constraints",
    "InvalidAccount": "its account is not valid any more",
    "InvalidQOS": "its QOS is not valid any more",
    "launch failed requeued held": "it failed to launch and was held: scontrol release",
}

_PREFIXES = (
    ("AssocGrp", "a limit of its account, or of one above, is reached"),
    ("AssocMax", "a limit of its association is reached"),
    ("MaxJobs", "a limit on the number of jobs is reached"),
    ("QOS", "a limit of its QOS is reached"),
)


def is_by(hold: HoldSeen, reason: str) -> bool:
    """Whether this reason is what such a hold makes Slurm say."""
    kind = hold.sk.partition("#")[0]
    return reason.startswith(_BY_HOLD.get(kind, ()))


def is_passing(reason: str) -> bool:
    """Whether Slurm has not looked at the job itself yet."""
    return reason in _PASSING


def in_words(reason: str) -> str:
    """`Dependency: it waits for another job`."""
    if not reason or reason == "None":
        return "Slurm names no reason (above 3,000 jobs the agent doesn't know it)"
    first = reason.partition(",")[0].strip("() ")
    words = _WORDS.get(first) or next((text for start, text in _PREFIXES if first.startswith(start)), None)
    return f"Slurm says {reason}: {words}" if words else f"Slurm says {reason}"
