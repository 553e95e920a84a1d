"""The configuration files of one stack, as text. No I/O."""

from dataclasses import dataclass
from pathlib import Path

from proctor_slurm.shape import NODES_PER_SUBNET, ClusterShape

GPU_DEVICES = 8


@dataclass(frozen=True)
class Layout:
    """Where everything of one stack lives: below `root`, on loopback ports `port` and up.

    slurmctld has `port`, slurmdbd `port + 1`, the slurmd of the n-th node `port + 2 + n`.
    """

    root: Path
    port: int
    host: str
    os_login_name: str
    gpu_files: str

    @property
    def munge_socket(self) -> Path:
        """Socket of this stack's own munged."""
        return self.root / "sock" / "munge.socket"

    @property
    def mysql_socket(self) -> Path:
        """Socket of this stack's own MariaDB."""
        return self.root / "run" / "mysql.sock"

    @property
    def slurm_conf(self) -> Path:
        """What clients need as SLURM_CONF."""
        return self.root / "slurm.conf"

    def node_port(self, index: int) -> int:
        """Port of the n-th node's slurmd."""
        return self.port + 2 + index


def slurm_conf(layout: Layout, shape: ClusterShape) -> str:
    """slurm.conf with the lines HyperPod's generated file has, and accounting in an include file."""
    root = layout.root
    lines = [
        f"ClusterName={shape.cluster_name}",
        f"SlurmctldHost={layout.host}(127.0.0.1)",
        f"SlurmUser={layout.os_login_name}",
        f"SlurmdUser={layout.os_login_name}",
        "AuthType=auth/munge",
        f"AuthInfo=socket={layout.munge_socket}",
        f"SlurmctldPort={layout.port}",
        f"SlurmctldPidFile={root}/run/slurmctld.pid",
        f"SlurmctldLogFile={root}/log/slurmctld.log",
        f"StateSaveLocation={root}/state",
        f"SlurmdPidFile={root}/run/slurmd.%n.pid",
        f"SlurmdLogFile={root}/log/slurmd.%n.log",
        f"SlurmdSpoolDir={root}/spool/%n",
        "SlurmctldParameters=enable_configless",
        "SlurmdParameters=config_overrides",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "JobAcctGatherType=jobacct_gather/none",
        "MpiDefault=none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core",
        "SchedulerParameters=bf_interval=1,sched_interval=1,permit_job_expansion",
        "ReturnToService=1",
        "TreeWidth=65533",
        "MaxNodeCount=32768",
        "KillWait=2",
        "SlurmdTimeout=60",
        "GresTypes=gpu",
        f"Include {root}/accounting.conf",
        *shape.extra_lines,
        *_node_lines(layout, shape),
        *_partition_lines(shape),
    ]
    return "\n".join(lines) + "\n"


def _node_lines(layout: Layout, shape: ClusterShape) -> list[str]:
    lines = []
    first = 0
    for index, group in enumerate(shape.groups):
        for block in range(0, group.node_count, NODES_PER_SUBNET):
            count = min(NODES_PER_SUBNET, group.node_count - block)
            name = f"ip-10-{index + 1}-{block // NODES_PER_SUBNET}-[1-{count}]"
            gres = (
                f" Gres=gpu:h100:{group.gpus_per_node}" if group.gpus_per_node and shape.has_daemons else ""
            )
            if shape.has_daemons:
                ports = f"[{layout.node_port(first)}-{layout.node_port(first + count - 1)}]"
                where = f"NodeHostname={layout.host} NodeAddr=127.0.0.1 Port={ports} State=UNKNOWN"
            else:
                where = "State=CLOUD"
            lines.append(f"NodeName={name} CPUs=8 RealMemory=1000{gres} {where}")
            first += count
    return lines


def _partition_lines(shape: ClusterShape) -> list[str]:
    tail = "MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE"
    lines = [f"PartitionName=dev Nodes=ALL Default=YES {tail}"]
    for index, group in enumerate(shape.groups):
        nodes = ",".join(compressed_names(shape, index))
        qos = f" QOS={group.partition_qos}" if group.partition_qos else ""
        lines.append(f"PartitionName={group.instance_group_name} Nodes={nodes} {tail}{qos}")
    return lines


def compressed_names(shape: ClusterShape, group_index: int) -> list[str]:
    """Host list expressions of one group's nodes, one a block of 250."""
    count = shape.groups[group_index].node_count
    return [
        f"ip-10-{group_index + 1}-{block // NODES_PER_SUBNET}-[1-{min(NODES_PER_SUBNET, count - block)}]"
        for block in range(0, count, NODES_PER_SUBNET)
    ]


def gres_conf(layout: Layout, shape: ClusterShape) -> str:
    """gres.conf: fake GPUs are character devices, since plain files are refused by slurmd."""
    if not shape.has_daemons:
        return ""
    lines = [
        f"NodeName={name} Name=gpu Type=h100 File={layout.gpu_files}[0-{group.gpus_per_node - 1}]"
        for index, group in enumerate(shape.groups)
        if group.gpus_per_node
        for name in compressed_names(shape, index)
    ]
    return "\n".join(lines) + "\n"


def accounting_conf(layout: Layout, shape: ClusterShape) -> str:
    """The included file; without accounting it is empty, as on a fresh HyperPod cluster."""
    if not shape.accounting:
        return "# no accounting\n"
    lines = [
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageHost=localhost",
        f"AccountingStoragePort={layout.port + 1}",
        # AuthInfo is not used for the slurmdbd connection; the munge socket goes here.
        f"AccountingStoragePass={layout.munge_socket}",
        "AccountingStorageTRES=gres/gpu",
        "PriorityType=priority/multifactor",
        "PriorityDecayHalfLife=0",
        "PriorityUsageResetPeriod=MONTHLY",
    ]
    if shape.enforce:
        lines.append(f"AccountingStorageEnforce={','.join(shape.enforce)}")
    return "\n".join(lines) + "\n"


def slurmdbd_conf(layout: Layout) -> str:
    """slurmdbd.conf; it finds MariaDB's socket through MYSQL_UNIX_PORT, since it reads no socket option."""
    root = layout.root
    lines = [
        "AuthType=auth/munge",
        f"AuthInfo=socket={layout.munge_socket}",
        "DbdHost=localhost",
        f"DbdPort={layout.port + 1}",
        f"SlurmUser={layout.os_login_name}",
        f"PidFile={root}/run/slurmdbd.pid",
        f"LogFile={root}/log/slurmdbd.log",
        "StorageType=accounting_storage/mysql",
        "StorageHost=localhost",
        "StorageUser=slurm",
        "StoragePass=local",
        "StorageLoc=slurm_acct_db",
    ]
    return "\n".join(lines) + "\n"
