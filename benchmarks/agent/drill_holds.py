"""A drill on a real Slurm: every way to undo a hold, and how long until it is back.

`python benchmarks/agent/drill_holds.py [ROUNDS]` prints a table and, last, `reheld_max_s=... applied_s=...
running_jobs_killed=... innocent_delayed=...`, and keeps both in results.json and RESULTS.md beside it. Status 1 when one is
over its limit, 3 when Slurm can't run here.
"""

import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.agent.results import keep_drill
from proctor.domain.agent_protocol import LimitAccount, PartitionState, SetPartitionState
from proctor_slurm import ClusterShape, NodeGroup, SlurmStack, ensure_installed
from tests.agent.agent_process import AgentProcess, intent, seconds_until
from tests.agent.loopback_aws import LoopbackAws, loopback_aws

REHELD_LIMIT_S = 10.0
APPLIED_LIMIT_S = 5.0
INNOCENT_START_LIMIT_S = 5.0
_GIVE_UP_S = 60.0
_POLL_S = 0.05


@dataclass
class Drill:
    """One Slurm, one agent, a partition hold on `held`, an account hold on `spent`, and bystanders."""

    stack: SlurmStack
    aws: LoopbackAws
    agent: AgentProcess
    rows: list[tuple[str, str, float]] = field(default_factory=list)
    applied: list[float] = field(default_factory=list)
    innocent_delayed: int = 0
    runners: list[int] = field(default_factory=list)

    def is_partition_held(self) -> bool:
        """Whether sinfo shows the partition down."""
        return self.stack.try_run("sinfo", "-h", "-p", "held", "-o", "%a").stdout.startswith("down")

    def is_account_held(self) -> bool:
        """Whether slurmctld itself enforces 0 jobs for the account."""
        argv = ("scontrol", "-o", "show", "assoc_mgr", "accounts=spent", "flags=assoc")
        return any(" GrpJobs=0(" in line for line in self.stack.try_run(*argv).stdout.splitlines())

    def prepare(self) -> None:
        """Running jobs in the held partition, of the held account, and of a bystander."""
        for account in ("spent", "paid"):
            self.runners.append(
                self.stack.jobs.submit(partition="held", account=account, login_name="games", seconds=3600)
            )
        for job in self.runners:
            self.stack.jobs.wait_for(job, "RUNNING")

    def apply(self) -> None:
        """Write both intents; time from the write to what Slurm shows."""
        for verb, is_held in (
            (SetPartitionState("held", PartitionState.DOWN), self.is_partition_held),
            (LimitAccount("spent"), self.is_account_held),
        ):
            started = time.monotonic()
            self.aws.put(intent(verb))
            seconds_until(is_held, _GIVE_UP_S, "applied")
            self.applied.append(time.monotonic() - started)
            self.rows.append((f"new intent: {type(verb).__name__}", "-", self.applied[-1]))

    def undo(self, what: str, act: Callable[[], None], is_held: Callable[[], bool]) -> None:
        """Undo a hold, and time from the end of the undoing until the hold is back."""
        act()
        ended = time.monotonic()
        was_lost = not is_held()
        while not is_held():
            if time.monotonic() - ended > _GIVE_UP_S:
                break
            time.sleep(_POLL_S)
        self.rows.append((what, "lost" if was_lost else "back at once", time.monotonic() - ended))

    def innocent_starts(self) -> None:
        """A job of an account within budget, in a partition without a hold, starts at once."""
        started = time.monotonic()
        job = self.stack.jobs.submit(partition="free", account="paid", login_name="games", seconds=1)
        while time.monotonic() - started < _GIVE_UP_S:
            if self.stack.jobs.look(job).state != "PENDING":
                break
            time.sleep(_POLL_S)
        self.innocent_delayed += time.monotonic() - started > INNOCENT_START_LIMIT_S
        self.stack.jobs.cancel(job)

    def killed(self) -> int:
        """How many of the jobs that ran before the holds no longer run."""
        return sum(self.stack.jobs.look(job).state != "RUNNING" for job in self.runners)

    def round(self) -> None:
        """Every way to undo, once."""
        stack, held = self.stack, self.is_partition_held
        self.undo("scontrol reconfigure", lambda: _run(stack, "scontrol", "reconfigure"), held)
        self.innocent_starts()
        self.undo(
            "somebody sets UP",
            lambda: _run(stack, "scontrol", "update", "PartitionName=held", "State=UP"),
            held,
        )
        self.undo("slurmctld restart", lambda: _restart(stack, signal.SIGTERM), held)
        self.innocent_starts()
        self.undo("slurmctld kill -9", lambda: _restart(stack, signal.SIGKILL), held)
        self.undo("slurmctld hung 12 s, set UP before", lambda: _hang(stack), held)
        self.undo("agent kill -9, set UP", self._kill_agent, held)
        self.undo("agent away, reconfigure, agent back", self._agent_away, held)
        where = ("where", "name=spent", "cluster=university", "set", "GrpJobs=-1")
        lift = ("sacctmgr", "-i", "-Q", "modify", "account", *where)
        self.undo("sacctmgr lifts the limit", lambda: _run(stack, *lift), self.is_account_held)
        self.undo(
            "scontrol reconfigure (account hold)",
            lambda: _run(stack, "scontrol", "reconfigure"),
            self.is_account_held,
        )
        self.innocent_starts()

    def _kill_agent(self) -> None:
        self.agent.stop(signal.SIGKILL)
        _run(self.stack, "scontrol", "update", "PartitionName=held", "State=UP")
        self.agent.start()

    def _agent_away(self) -> None:
        self.agent.stop()
        _run(self.stack, "scontrol", "reconfigure")
        seconds_until(lambda: not self.is_partition_held(), _GIVE_UP_S, "lost without an agent")
        self.agent.start()


def _run(stack: SlurmStack, *argv: str) -> None:
    stack.run(*argv)


def _restart(stack: SlurmStack, number: signal.Signals) -> None:
    stack.end("slurmctld", number)
    stack.start_slurmctld()


def _hang(stack: SlurmStack) -> None:
    stack.run("scontrol", "update", "PartitionName=held", "State=UP")
    stack.send_signal("slurmctld", signal.SIGSTOP)
    time.sleep(12)
    stack.send_signal("slurmctld", signal.SIGCONT)


def report(drill: Drill, rounds: int) -> int:
    """The table, kept and printed, the last line, and the exit status."""
    undone = [seconds for what, _, seconds in drill.rows if not what.startswith("new intent")]
    width = max(len(what) for what, _, _ in drill.rows)
    for what, seen, seconds in drill.rows:
        sys.stdout.write(f"{what:<{width}}  {seen:<12}  {seconds:6.2f} s\n")
    reheld, applied, killed = max(undone), max(drill.applied), drill.killed()
    figures = {"reheld_max_s": reheld, "applied_s": applied, "running_jobs_killed": killed}
    figures |= {"innocent_delayed": drill.innocent_delayed, "rounds": rounds}
    keep_drill(drill.rows, figures, drill.stack.run("sinfo", "-V").strip())
    sys.stdout.write(
        f"reheld_max_s={reheld:.2f} applied_s={applied:.2f} "
        f"running_jobs_killed={killed} innocent_delayed={drill.innocent_delayed}\n"
    )
    is_good = (
        reheld <= REHELD_LIMIT_S and applied <= APPLIED_LIMIT_S and not killed and not drill.innocent_delayed
    )
    return 0 if is_good else 1


def main() -> int:
    """Run the drill."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    found = ensure_installed()
    if not found.is_available:
        sys.stderr.write(f"{found.reason}\n")
        return 3
    shape = ClusterShape(groups=(NodeGroup("held", 2), NodeGroup("free", 2)))
    with SlurmStack(shape) as stack, loopback_aws() as aws, tempfile.TemporaryDirectory() as folder:
        stack.add_accounts(("spent", "paid"), ("games",))
        agent = AgentProcess(stack, aws, Path(folder))
        drill = Drill(stack, aws, agent)
        drill.prepare()
        with agent:
            seconds_until(lambda: bool(aws.reports()), _GIVE_UP_S, "the agent's first report")
            drill.apply()
            for _ in range(rounds):
                drill.round()
        return report(drill, rounds)


if __name__ == "__main__":
    sys.exit(main())
