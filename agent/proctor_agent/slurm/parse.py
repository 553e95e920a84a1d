"""Lines of Slurm's commands as rows. Each parser shows a real line; a line it can't read is skipped and counted."""

from dataclasses import dataclass

from proctor.domain.agent_protocol import (
    ObservedAssociation,
    ObservedJob,
    ObservedLimits,
    ObservedNode,
    ObservedPartition,
    ObservedQos,
    ObservedReservation,
)
from proctor.domain.agent_protocol.names import NODE, PARTITION
from proctor_agent.slurm import fields

NODE_FORMAT = "%T|%u|%H|%N|%E"
JOB_FORMAT = "%i|%T|%P|%a|%u|%q|%D|%b|%V|%S|%l|%N|%r"
ASSOCIATION_FORMAT = "account,user,partition,parentname,grpjobs,grpsubmit,grptres,qos"
QOS_FORMAT = "name,grpjobs,grpsubmit,grptres,flags"
_JOB_FIELDS = 13
_ASSOCIATION_FIELDS = 8
_QOS_FIELDS = 5


def partition(line: str) -> ObservedPartition | None:
    """`PartitionName=nlp ... Default=NO QoS=N/A ... Nodes=ip-10-1-0-[1-2] ... State=UP TotalCPUs=16 TotalNodes=2 ...`."""
    found = fields.pairs(line, "PartitionName", "State", "Nodes", "TotalNodes", "QoS", "Default")
    name = found.get("PartitionName", "")
    if not PARTITION.fullmatch(name) or "State" not in found:
        return None
    return ObservedPartition(
        name=name,
        state=found["State"],
        nodes=fields.optional(found.get("Nodes", "")) or "",
        total_nodes=fields.limit(found.get("TotalNodes", "")) or 0,
        qos=fields.optional(found.get("QoS", "")),
        is_default=found.get("Default") == "YES",
    )


def node_group(line: str) -> tuple[str, ObservedNode] | None:
    """`drained|root|2026-11-30T18:10:00|ip-10-1-0-[1-2]|proctor: xid 79`: host list, and the row of one of its nodes."""
    parts = line.split("|", 4)
    if len(parts) != 5:
        return None
    state, flag = fields.split_state(parts[0])
    reason = "" if parts[4] == "none" else fields.clean(parts[4])
    by = fields.optional(parts[1]) if reason else None
    row = ObservedNode("", state, flag, reason, fields.clean(by or "", 64), fields.moment(parts[2]))
    return parts[3], row


def is_node_name(name: str) -> bool:
    """Whether a name is HyperPod's ip-a-b-c-d; others are never touched nor reported."""
    return NODE.fullmatch(name) is not None


def job(line: str) -> ObservedJob | None:
    """`7|RUNNING|nlp|lab1|games|normal|1|gres:gpu:8|2026-11-30T18:03:36|...|1:00:00|ip-10-1-0-1|None`."""
    parts = line.split("|", _JOB_FIELDS - 1)
    if len(parts) != _JOB_FIELDS:
        return None
    return ObservedJob(
        job_id=fields.clean(parts[0], 64),
        state=parts[1],
        reason=fields.clean(parts[12], 100),
        partition=parts[2],
        account=fields.optional(parts[3]) or "",
        login_name=fields.clean(parts[4], 64),
        qos=fields.optional(parts[5]) or "",
        node_count=fields.limit(parts[6]) or 0,
        gres=fields.optional(parts[7]) or "",
        nodes=fields.clean(parts[11], 1000),
        submit_at=fields.moment(parts[8]),
        start_at=fields.moment(parts[9]),
        limit_minutes=fields.minutes(parts[10]),
    )


def association(line: str) -> ObservedAssociation | None:
    """`lab1|||root|||gres/gpu=16,node=3|normal` (an account) or `lab1|games||||||normal` (a person in it)."""
    parts = line.split("|")
    if len(parts) < _ASSOCIATION_FIELDS:
        return None
    return ObservedAssociation(
        account=parts[0],
        login_name=parts[1],
        partition=parts[2],
        parent=parts[3],
        grp_jobs=fields.limit(parts[4]),
        grp_submit_jobs=fields.limit(parts[5]),
        grp_tres=parts[6],
        qos=tuple(name.lstrip("+-") for name in parts[7].split(",") if name),
    )


def qos(line: str) -> ObservedQos | None:
    """`team|5||gres/gpu=8|DenyOnLimit`."""
    parts = line.split("|")
    if len(parts) < _QOS_FIELDS or not parts[0]:
        return None
    return ObservedQos(parts[0], fields.limit(parts[1]), fields.limit(parts[2]), parts[3], parts[4])


def reservation(line: str) -> ObservedReservation | None:
    """`ReservationName=proctor-x StartTime=... Nodes=ip-10-1-0-[1-2] NodeCnt=2 ... Flags=MAINT,... State=ACTIVE ...`."""
    found = fields.pairs(line, "ReservationName", "Nodes", "State", "Flags")
    if "ReservationName" not in found:
        return None
    name = fields.clean(found["ReservationName"], 64)
    nodes = fields.optional(found.get("Nodes", "")) or ""
    return ObservedReservation(name, nodes, found.get("State", ""), found.get("Flags", ""))


@dataclass(frozen=True)
class SchedulerLimits:
    """What slurmctld itself enforces on one account or QOS; None where there is no limit."""

    grp_jobs: int | None
    grp_submit_jobs: int | None
    grp_tres_node: int | None

    def value(self, field: str) -> str:
        """The limit of one field in sacctmgr's words: a number, or -1 for none."""
        values = {
            "GrpJobs": self.grp_jobs,
            "GrpSubmitJobs": self.grp_submit_jobs,
            "GrpTRES/node": self.grp_tres_node,
        }
        found = values[field]
        return "-1" if found is None else str(found)


def scheduler_limits(line: str, key: str) -> tuple[str, SchedulerLimits] | None:
    """`ClusterName=... Account=lab1 UserName= ... GrpJobs=0(1) ... GrpSubmitJobs=N(1) ... GrpTRES=cpu=N(8),node=N(1),...`.

    `key` is Account (rows of persons are skipped) or QOS, whose name carries its id: `QOS=team(3)`.
    """
    found = fields.pairs(line, key, "UserName", "Partition", "GrpJobs", "GrpSubmitJobs", "GrpTRES")
    name = found.get(key, "").partition("(")[0]
    if not name or found.get("UserName") or found.get("Partition") or "GrpJobs" not in found:
        return None
    limits = SchedulerLimits(
        fields.limit(found["GrpJobs"]),
        fields.limit(found.get("GrpSubmitJobs", "")),
        fields.tres_entry(found.get("GrpTRES", ""), "node"),
    )
    return name, limits


@dataclass(frozen=True)
class Config:
    """What `scontrol show config` says that matters here."""

    limits: ObservedLimits
    controllers: tuple[str, ...]
    boot_time: str
    log_file: str


def config(lines: list[str]) -> Config:
    """`AccountingStorageEnforce = associations,limits,qos`, one setting a line."""
    found: dict[str, str] = {}
    for line in lines:
        key, separator, value = line.partition("=")
        if separator:
            found.setdefault(key.strip(), value.strip())
    enforce = tuple(
        word for word in (fields.optional(found.get("AccountingStorageEnforce", "")) or "").split(",") if word
    )
    storage = found.get("AccountingStorageType", "")
    hosts = tuple(value.partition("(")[0] for key, value in found.items() if key.startswith("SlurmctldHost["))
    limits = ObservedLimits(
        do_limits_bind="limits" in enforce and storage.endswith("slurmdbd"),
        enforce=enforce,
        storage_type=storage,
        slurm_version=found.get("SLURM_VERSION", ""),
        cluster_name=found.get("ClusterName", ""),
    )
    log_file = fields.optional(found.get("SlurmctldLogFile", "")) or ""
    return Config(limits, hosts, found.get("BOOT_TIME", ""), log_file)


def acting_controller(lines: list[str]) -> str | None:
    """The host that decides now: the first that is UP. `Slurmctld(primary) at ip-10-1-2-3 is UP`, then backups."""
    for line in lines:
        if line.startswith("Slurmctld(") and line.rstrip().endswith(" is UP"):
            return line.partition(" at ")[2].partition(" is ")[0].strip().partition(".")[0]
    return None
