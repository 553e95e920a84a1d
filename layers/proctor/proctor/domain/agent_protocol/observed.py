"""What an agent saw of Slurm: rows of the observed state, keyed by their first field(s).

Sources are named on each row. Texts that people wrote (reasons) are cut and cleaned by the agent; login
names are the only personal data.
"""

from dataclasses import dataclass
from datetime import datetime

from proctor.domain.agent_protocol import names


@dataclass(frozen=True)
class ObservedPartition:
    """`scontrol -o show partition`. `nodes` is a host list expression, `qos` the partition QOS or null."""

    name: names.PartitionName
    state: str
    nodes: str
    total_nodes: int
    qos: str | None
    is_default: bool


@dataclass(frozen=True)
class ObservedNode:
    """`sinfo -o %T|%E|%u|%H|%N`.

    `state` as sinfo says it without suffix, `flag` that suffix (`*`, `~` ...).
    """

    name: names.NodeName
    state: str
    flag: str
    reason: str
    reason_by: str
    reason_at: datetime | None


@dataclass(frozen=True)
class ObservedJob:
    """`squeue`.

    `job_id` may be an array expression (`12_[3-9]`); pending jobs may name several partitions.
    """

    job_id: str
    state: str
    reason: str
    partition: str
    account: str
    login_name: str
    qos: str
    node_count: int
    gres: str
    nodes: str
    submit_at: datetime | None
    start_at: datetime | None
    limit_minutes: int | None


@dataclass(frozen=True)
class ObservedAssociation:
    """`sacctmgr show assoc`: an account (login_name empty) or a person in it. Limits null where not set."""

    account: str
    login_name: str
    partition: str
    parent: str
    grp_jobs: int | None
    grp_submit_jobs: int | None
    grp_tres: str
    qos: tuple[str, ...]


@dataclass(frozen=True)
class ObservedQos:
    """`sacctmgr show qos`. Limits null where not set."""

    name: str
    grp_jobs: int | None
    grp_submit_jobs: int | None
    grp_tres: str
    flags: str


@dataclass(frozen=True)
class ObservedReservation:
    """`scontrol -o show reservation`, ours and others'."""

    name: str
    nodes: str
    state: str
    flags: str


@dataclass(frozen=True)
class ObservedUsage:
    """`sacct`: absolute use of one account in one partition in one UTC hour; a later report replaces it."""

    account: str
    partition: str
    hour_at: datetime
    node_seconds: int
    gpu_seconds: int
    job_count: int


@dataclass(frozen=True)
class ObservedLimits:
    """Whether limits bind: `scontrol show config` (AccountingStorageType, AccountingStorageEnforce)."""

    do_limits_bind: bool
    enforce: tuple[str, ...]
    storage_type: str
    slurm_version: str
    cluster_name: str
