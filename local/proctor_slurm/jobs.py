"""Submits jobs to the stack and asks how they are."""

from dataclasses import dataclass
from typing import Protocol

from proctor_slurm.errors import SlurmStackError
from proctor_slurm.waiting import wait_until


class _Run(Protocol):
    def __call__(self, *argv: str, seconds: float = ...) -> str: ...


@dataclass(frozen=True)
class Job:
    """What squeue says of one job: `state` in the long form (PENDING), `reason` in Slurm's word."""

    job_id: int
    state: str
    reason: str
    partition: str
    account: str


class JobDesk:
    """Submits and watches jobs with sbatch, squeue and scancel."""

    def __init__(self, run: _Run) -> None:
        """Use the stack's way of running clients."""
        self._run = run

    def submit(
        self,
        *,
        partition: str | None = None,
        account: str | None = None,
        qos: str | None = None,
        login_name: str | None = None,
        nodes: int = 1,
        seconds: int = 600,
        minutes_limit: int = 60,
    ) -> int:
        """Submit a job that sleeps; the job id. SlurmStackError with Slurm's words when it is refused."""
        options = {"partition": partition, "account": account, "qos": qos, "uid": login_name}
        argv = ["sbatch", "--parsable", "--chdir=/tmp", "--output=/dev/null", f"--nodes={nodes}"]
        argv += [f"--{name}={value}" for name, value in options.items() if value is not None]
        argv += [f"--time={minutes_limit}", f"--wrap=exec sleep {seconds}"]
        return int(self._run(*argv).strip().split(";")[0])

    def submit_refusal(self, **options: str | None) -> str:
        """Slurm's words when it refuses the job; empty when it accepts (the job is then cancelled)."""
        try:
            job_id = self.submit(**options)  # type: ignore[arg-type]
        except SlurmStackError as error:
            return str(error)
        self.cancel(job_id)
        return ""

    def look(self, job_id: int) -> Job:
        """The job now; state GONE once squeue has forgotten it."""
        try:
            line = self._run("squeue", "-h", "-j", str(job_id), "-o", "%i|%T|%r|%P|%a").strip()
        except SlurmStackError:
            line = ""
        if not line:
            return Job(job_id, "GONE", "", "", "")
        _, state, reason, partition, account = line.splitlines()[0].split("|")
        return Job(job_id, state, reason, partition, account)

    def wait_for(self, job_id: int, state: str, seconds: float = 20) -> float:
        """Wait until the job is in this state; the seconds it took."""
        return wait_until(lambda: self.look(job_id).state == state, seconds, f"job {job_id} {state}")

    def wait_for_reason(self, job_id: int, reason: str, seconds: float = 20) -> float:
        """Wait until a pending job shows this reason."""
        return wait_until(
            lambda: self.look(job_id).reason == reason, seconds, f"job {job_id} reason {reason}"
        )

    def cancel(self, *job_ids: int) -> None:
        """Cancel jobs; one that has ended already is no error."""
        self._run("scancel", "--quiet", *(str(job_id) for job_id in job_ids))

    def cancel_all(self, seconds: float = 20) -> None:
        """Cancel every job and wait until none is left."""
        states = ("PENDING", "RUNNING", "SUSPENDED")
        for state in states:
            self._run("scancel", "--quiet", f"--state={state}")
        wait_until(lambda: not self._run("squeue", "-h", "-o", "%i").strip(), seconds, "an empty queue")
