"""What the agent costs beside a real slurmctld: memory, processor time (Slurm's commands included), cycle.

`python benchmarks/agent/bench_agent.py NODES JOBS [SECONDS]` prints `rss_mb=... cpu_pct=... cycle_s=...` last, and keeps it in
results.json and RESULTS.md beside it. Nodes are CLOUD nodes without slurmd; half of the jobs run on them, the others wait; ten
partitions and ten accounts are held.
"""

import os
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.agent.results import keep_cost
from proctor.domain.agent_protocol import LimitAccount, PartitionState, SetPartitionState
from proctor_slurm import ClusterShape, NodeGroup, SlurmStack, ensure_installed
from tests.agent.agent_process import AgentProcess, intent, seconds_until
from tests.agent.loopback_aws import LoopbackAws, loopback_aws

RSS_LIMIT_MB = 64.0
CPU_LIMIT_PCT = 1.0
_GROUPS = 20
_HELD = 10
_TICKS = os.sysconf("SC_CLK_TCK")


def shape_of(nodes: int, jobs: int) -> ClusterShape:
    """A cluster of 20 groups whose nodes can be seen and allocated though nothing runs on them."""
    lines = (
        "ResumeProgram=/bin/true",
        "SuspendProgram=/bin/true",
        "SuspendTime=86400",
        "ResumeTimeout=60000",
        "PrivateData=cloud",
        f"MaxJobCount={jobs * 2 + 10_000}",
        "MaxArraySize=20001",
    )
    groups = tuple(
        NodeGroup(f"group-{index}", max(1, nodes // _GROUPS), gpus_per_node=0) for index in range(_GROUPS)
    )
    return ClusterShape(groups=groups, has_daemons=False, extra_lines=lines)


def fill(stack: SlurmStack, jobs: int) -> None:
    """Half of the jobs as one array that starts, half as separate jobs that wait."""
    base = ["sbatch", "--parsable", "--chdir=/tmp", "--output=/dev/null", "--uid=games", "--time=600"]
    running = jobs // 2
    stack.run(*base, "-A", "lab-0", "-p", "dev", f"--array=0-{running - 1}", "--wrap=sleep 60")
    seconds_until(lambda: count(stack, "CONFIGURING,RUNNING") >= running * 0.95, 300, "running jobs")

    def submit(index: int) -> None:
        partition = f"group-{index % _GROUPS}"
        stack.run(*base, "-A", f"lab-{index % _HELD}", "-p", partition, "--wrap=sleep 60", seconds=120)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(submit, range(jobs - running)))


def count(stack: SlurmStack, states: str) -> int:
    """Jobs in these states, array tasks one by one."""
    return len(stack.run("squeue", "-h", "-r", "-t", states, "-o", "%i", seconds=60).splitlines())


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and the children it has waited for. Source: proc(5), fields 14 to 17."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15]) / _TICKS


class RssWatch(threading.Thread):
    """The largest sum of resident memory of a process and its children, sampled every 5 ms."""

    def __init__(self, pid: int) -> None:
        """Start sampling with `start`."""
        super().__init__(daemon=True)
        self._pid = pid
        self._stop_event = threading.Event()
        self.largest_kb = 0

    def run(self) -> None:
        """Sample until stopped."""
        while not self._stop_event.wait(0.005):
            children = Path(f"/proc/{self._pid}/task").glob("*/children")
            pids = [self._pid]
            for listing in children:
                try:
                    pids += [int(pid) for pid in listing.read_text(encoding="ascii").split()]
                except OSError:
                    continue
            # A child that has not yet become another program still shares its parent's memory (vfork).
            ours = _program(self._pid)
            counted = [pid for pid in pids if pid == self._pid or _program(pid) != ours]
            self.largest_kb = max(self.largest_kb, sum(_rss_kb(pid) for pid in counted))

    def stop(self) -> None:
        """End the sampling."""
        self._stop_event.set()
        self.join(2)


def _program(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return ""


def _rss_kb(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    line = next((line for line in status.splitlines() if line.startswith("VmRSS:")), "VmRSS: 0 kB")
    return int(line.split()[1])


def measure(stack: SlurmStack, aws: LoopbackAws, folder: Path, seconds: float) -> tuple[float, float, float]:
    """MB, per cent of one core, and seconds of one full observation by `run --once`."""
    for index in range(_HELD):
        aws.put(intent(SetPartitionState(f"group-{index}", PartitionState.DOWN)))
        aws.put(intent(LimitAccount(f"lab-{index}")))
    agent = AgentProcess(stack, aws, folder)
    with agent:
        watch = RssWatch(agent.pid)
        watch.start()
        seconds_until(lambda: any(report.chunk for report in aws.reports()), 120, "first snapshot")
        seconds_until(lambda: "applied" in aws.outcomes(f"account#lab-{_HELD - 1}"), 120, "holds")
        time.sleep(5)
        before, started = cpu_seconds(agent.pid), time.monotonic()
        time.sleep(seconds)
        used, wall = cpu_seconds(agent.pid) - before, time.monotonic() - started
        watch.stop()
    started = time.monotonic()
    once = agent.command("run", "--once", seconds=300)
    cycle = time.monotonic() - started
    if once.returncode:
        sys.stderr.write(once.stderr)
    return watch.largest_kb / 1024, 100 * used / wall, cycle


def main() -> int:
    """Build, fill, measure; status 1 when a limit is passed, 3 when Slurm can't run here."""
    nodes, jobs = int(sys.argv[1]), int(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 120.0
    found = ensure_installed()
    if not found.is_available:
        sys.stderr.write(f"{found.reason}\n")
        return 3
    with (
        SlurmStack(shape_of(nodes, jobs)) as stack,
        loopback_aws() as aws,
        tempfile.TemporaryDirectory() as folder,
    ):
        stack.add_accounts([f"lab-{index}" for index in range(_HELD)], ["games"])
        fill(stack, jobs)
        listed, running = count(stack, "all"), count(stack, "CONFIGURING,RUNNING")
        sys.stdout.write(f"nodes={nodes} jobs={listed} running={running}\n")
        slurm = stack.run("sinfo", "-V").strip()
        rss, cpu, cycle = measure(stack, aws, Path(folder), seconds)
    figures = {"jobs": listed, "running": running, "rss_mb": rss, "cpu_pct": cpu, "cycle_s": cycle}
    keep_cost(nodes, figures, slurm)
    sys.stdout.write(f"rss_mb={rss:.1f} cpu_pct={cpu:.2f} cycle_s={cycle:.2f}\n")
    return 0 if rss <= RSS_LIMIT_MB and cpu <= CPU_LIMIT_PCT else 1


if __name__ == "__main__":
    sys.exit(main())
