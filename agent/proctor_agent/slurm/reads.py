"""What the agent asks of Slurm. Reads only."""

import contextlib
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from proctor.domain.agent_protocol import (
    ObservedAssociation,
    ObservedNode,
    ObservedPartition,
    ObservedQos,
    ObservedReservation,
)
from proctor_agent.errors import SlurmError
from proctor_agent.slurm import fields, parse
from proctor_agent.slurm.command import Commands
from proctor_agent.slurm.hostlist import expand
from proctor_agent.slurm.usage import SACCT_FORMAT

# scontrol waits 10 s for a silent controller (MessageTimeout); a little more lets it say so itself.
_SECONDS = 12.0
_LIST_SECONDS = 60.0


class SlurmReads:
    """One method a question. Every method raises SlurmError when the answer is not known."""

    def __init__(self, commands: Commands) -> None:
        """Use this way of running commands."""
        self._commands = commands

    def partitions(self) -> dict[str, ObservedPartition]:
        """All partitions by name; an answer without any is an error, since a cluster has at least one."""
        lines = self._commands.lines(["scontrol", "-a", "-o", "show", "partition"], _SECONDS)
        found = {row.name: row for row in map(parse.partition, lines) if row is not None}
        if not found:
            raise SlurmError("scontrol show partition: no partition in the answer", is_transient=True)
        return found

    def config(self) -> parse.Config:
        """Slurm's settings."""
        return parse.config(list(self._commands.lines(["scontrol", "show", "config"], _SECONDS)))

    def acting_controller(self) -> str | None:
        """Host name of the controller that decides now; None when none answers."""
        lines: list[str] = []
        # Exit status 1 says that one of several is down; the lines before it still count.
        with contextlib.suppress(SlurmError):
            for line in self._commands.lines(["scontrol", "ping"], _SECONDS):
                lines.append(line)  # noqa: PERF402 - what came before the error is kept
        return parse.acting_controller(lines)

    def nodes(self, only: Sequence[str] = ()) -> Iterator[ObservedNode]:
        """Every node, or the named ones, with state and reason."""
        argv = ["sinfo", "-a", "-h", "-o", parse.NODE_FORMAT]
        if only:
            argv[1:1] = ["-n", ",".join(only)]
        for line in self._commands.lines(argv, _LIST_SECONDS):
            found = parse.node_group(line)
            if found is None:
                continue
            hosts, row = found
            for name in expand(hosts):
                if parse.is_node_name(name):
                    yield ObservedNode(name, row.state, row.flag, row.reason, row.reason_by, row.reason_at)

    def job_lines(self) -> Iterator[str]:
        """Every pending, running and ending job, as squeue prints it in parse.JOB_FORMAT."""
        return self._commands.lines(["squeue", "-a", "-h", "-o", parse.JOB_FORMAT], _LIST_SECONDS)

    def associations(self, cluster: str) -> list[ObservedAssociation]:
        """Accounts and persons of this cluster."""
        argv = ["sacctmgr", "-P", "-n", "show", "assoc", "where", f"cluster={cluster}"]
        lines = self._commands.lines([*argv, f"format={parse.ASSOCIATION_FORMAT}"], _LIST_SECONDS)
        return [row for row in map(parse.association, lines) if row is not None]

    def qos(self) -> list[ObservedQos]:
        """Every QOS."""
        argv = ["sacctmgr", "-P", "-n", "show", "qos", f"format={parse.QOS_FORMAT}"]
        return [row for row in map(parse.qos, self._commands.lines(argv, _LIST_SECONDS)) if row is not None]

    def account_limits(self, accounts: Sequence[str]) -> dict[str, parse.SchedulerLimits]:
        """Limits that slurmctld enforces on these accounts; an unknown account is left out."""
        argv = ["scontrol", "-o", "show", "assoc_mgr", f"accounts={','.join(accounts)}", "flags=assoc"]
        return self._limits(argv, "Account", accounts)

    def qos_limits(self, names: Sequence[str]) -> dict[str, parse.SchedulerLimits]:
        """Limits that slurmctld enforces on these QOS."""
        argv = ["scontrol", "-o", "show", "assoc_mgr", f"qos={','.join(names)}", "flags=qos"]
        return self._limits(argv, "QOS", names)

    def _limits(self, argv: list[str], key: str, names: Sequence[str]) -> dict[str, parse.SchedulerLimits]:
        wanted = set(names)
        found = {}
        for line in self._commands.lines(argv, _SECONDS):
            row = parse.scheduler_limits(line, key)
            if row is not None and row[0] in wanted:
                found[row[0]] = row[1]
        return found

    def reservations(self) -> dict[str, ObservedReservation]:
        """All reservations by name."""
        lines = self._commands.lines(["scontrol", "-a", "-o", "show", "reservation"], _SECONDS)
        return {row.name: row for row in map(parse.reservation, lines) if row is not None}

    def submitted_jobs(self) -> int | None:
        """How many jobs slurmctld has, cheaply: the use of the root account's GrpSubmitJobs; None unknown."""
        argv = ["scontrol", "-o", "show", "assoc_mgr", "accounts=root", "flags=assoc"]
        for line in self._commands.lines(argv, _SECONDS):
            found = fields.pairs(line, "Account", "UserName", "GrpSubmitJobs")
            if found.get("Account") == "root" and not found.get("UserName"):
                used = found.get("GrpSubmitJobs", "").partition("(")[2].rstrip(")")
                return int(used) if used.isdigit() else None
        return None

    def hour_lines(self, hour_at: datetime) -> Iterator[str]:
        """Every job that waited, ran or ended within one UTC hour, in SACCT_FORMAT."""
        end_at = hour_at + timedelta(hours=1)
        argv = ["sacct", "-a", "-X", "-P", "-n", "-S", _stamp(hour_at), "-E", _stamp(end_at)]
        return self._commands.lines([*argv, "-o", SACCT_FORMAT], _LIST_SECONDS)


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S")
