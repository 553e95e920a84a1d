"""`proctor why job`: whether a budget holds a job, and if not, what Slurm itself says."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from proctor.domain.agent_protocol import ObservedJob
from proctor.domain.errors import NotFoundError, TransientError
from proctor_cli.console import fields, shown_time
from proctor_cli.exits import Exit, UsageError
from proctor_cli.holds_seen import HoldSeen, holds_of, on_account, on_partition
from proctor_cli.job_reasons import in_words, is_by, is_passing
from proctor_cli.judgement import Look, look_at
from proctor_cli.why_holds import (
    budgets_behind,
    budgets_text,
    holds_text,
    only,
    verdicts_on,
    verdicts_text,
)
from proctor_cli.world import World

_JOB_ID = re.compile(r"[0-9]+(_([0-9]+|\[[0-9,:%-]+\])|\+[0-9]+)?")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?(?::(\d+))?")


def run(args: argparse.Namespace, world: World) -> Exit:
    """Print the answer. Raises NotFoundError for a job that is over, TransientError while Slurm is unknown, UsageError."""
    if not _JOB_ID.fullmatch(args.job_id):
        raise UsageError(
            "job id",
            args.job_id,
            "give the number that squeue shows, e.g. 4711, or 4711_3 for a task of an array",
        )
    looks = look_at(world, args.cluster)
    known = [x for x in looks if x.is_known]
    found = [(x, job) for x in known if (job := find_job(x.view.slurm.jobs, args.job_id)) is not None]
    if not found:
        if silent := [x for x in looks if not x.is_known]:
            raise TransientError(f"job {args.job_id}: Slurm on {silent[0].cluster} is {silent[0].since}")
        names = ", ".join(x.cluster for x in looks)
        raise NotFoundError(
            f"job: {args.job_id!r} is neither pending nor running on {names} (as seen at most two minutes ago)"
        )
    look = only([x for x, _ in found], f"a job {args.job_id}")
    job = next(job for x, job in found if x is look)
    _answer(job, look, world)
    return Exit.OK


def _answer(job: ObservedJob, look: Look, world: World) -> None:
    all_holds, partitions = holds_of(look), job.partition.split(",")
    places = {name: on_partition(all_holds, look, name) for name in partitions}
    on_its_account = on_account(all_holds, look, job.account)
    holds = tuple({h.sk: h for h in (*on_its_account, *(h for p in places.values() for h in p))}.values())
    code, sentence = verdict_on(job, on_its_account, places)
    budgets = budgets_behind(look, holds, world, account=job.account, partitions=partitions)
    verdicts = verdicts_on(look, holds, world)
    data: dict[str, Any] = {
        "kind": "job",
        "cluster": look.cluster,
        "conclusion": code,
        "text": sentence,
        "slurm": {"is_known": look.is_known, "text": look.since},
        "job": asdict(job),
        "holds": [h.as_record() for h in holds],
        "budgets": budgets,
        "verdicts": verdicts,
    }
    heading = world.console.heading
    parts = [
        heading(f"Job {job.job_id} on {look.cluster}"),
        fields(
            [
                ("why", sentence),
                ("state", f"{job.state}, {in_words(job.reason)}" if job.state == "PENDING" else job.state),
                ("who", f"{job.login_name}, account {job.account}, QOS {job.qos}"),
                ("where", f"partition {job.partition}, {job.node_count} node(s)"),
                ("submitted", shown_time(job.submit_at)),
                ("Slurm", look.since),
            ]
        ),
        "",
        heading("Holds"),
        holds_text(holds),
        *budgets_text(budgets, world),
        *verdicts_text(verdicts, world),
    ]
    world.console.answer(data, "\n".join(parts))


def find_job(jobs: Sequence[ObservedJob], job_id: str) -> ObservedJob | None:
    """The job of this id; a task of an array is found in the line that stands for it, an array by its number."""
    exact = next((job for job in jobs if job.job_id == job_id), None)
    if exact is not None:
        return exact
    number, _, task = job_id.partition("_")
    for job in jobs:
        base, _, tasks = job.job_id.partition("_")
        if base == number and (not task or (task.isdigit() and _has_task(tasks, int(task)))):
            return job
    return None


def _has_task(tasks: str, task: int) -> bool:
    for part in tasks.strip("[]").partition("%")[0].split(","):
        if found := _RANGE.fullmatch(part):
            first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
            if first <= task <= last and (task - first) % max(step, 1) == 0:
                return True
    return False


def verdict_on(
    job: ObservedJob, on_its_account: Sequence[HoldSeen], places: dict[str, tuple[HoldSeen, ...]]
) -> tuple[str, str]:
    """(code, sentence): a hold stops the job if it is on its account, or on every partition it may start in."""
    if job.state != "PENDING":
        return "runs", f"it is {job.state}; holds never touch running jobs"
    by_account = [h for h in on_its_account if h.is_in_force]
    stopped = {name: [h for h in found if h.is_in_force and h.stops_queued] for name, found in places.items()}
    by_place = [h for found in stopped.values() for h in found]
    if by_account or all(stopped.values()):
        return "held", _held(job, by_account or by_place)
    found = (*on_its_account, *(h for p in places.values() for h in p))
    meant = [h for h in found if not h.is_in_force and h.stops_queued]
    own = in_words(job.reason)
    if by_place:
        open_now = ", ".join(name for name, found in stopped.items() if not found)
        return (
            "partly_held",
            f"held in {by_place[0].name}, and free to start in {open_now}: {own}",
        )
    if meant:
        return (
            "not_in_force",
            f"a hold is meant to stop it ({meant[0].name}), but: {meant[0].text}. {own}",
        )
    return "not_held", f"no hold of Proctor stops it. {own}"


def _held(job: ObservedJob, holds: Sequence[HoldSeen]) -> str:
    names = ", ".join(dict.fromkeys(h.name for h in holds))
    budgets = ", ".join(dict.fromkeys(name for h in holds for name in h.budgets))
    sentence = f"held by {names}" + (f" for budget {budgets}" if budgets else f" of {holds[0].owner}")
    if any(is_by(h, job.reason) for h in holds) or is_passing(job.reason):
        return sentence
    return f"{sentence}. Without the hold it would wait too: {in_words(job.reason)}"
