"""What sacct says of one hour: use per (account, partition), and the jobs that wait or run.

Absolute numbers per UTC hour, so a report that comes twice changes nothing.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from proctor.domain.agent_protocol import ObservedJob, ObservedUsage
from proctor_agent.slurm import fields

SACCT_FORMAT = (
    "JobID,State,Reason,Partition,Account,User,QOS,NNodes,ReqTRES,Submit,Start,End,TimelimitRaw,NodeList"
)
_FIELDS = 14
_GPUS = re.compile(r"(?:^|,)gres/gpu=([0-9]+)")
_GRES = re.compile(r"(?:^|,)(gres/[^,]+)")
_PRESENT = frozenset({"PENDING", "RUNNING", "SUSPENDED", "REQUEUED", "RESIZING"})


class HourUsage:
    """Adds up one hour while its lines pass by. A job still running counts until now."""

    def __init__(self, hour_at: datetime, now: datetime) -> None:
        """The window is from the hour's start to its end, or to now."""
        self._hour_at = hour_at
        self._end_at = min(hour_at + timedelta(hours=1), now)
        self._sums: dict[tuple[str, str], list[int]] = {}

    def count(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Pass the split lines on, after counting each.

        `7|RUNNING|None|nlp|lab1|games|normal|1|billing=8,cpu=8,gres/gpu=8,node=1|2026-11-30T18:03:36|...|Unknown|60|ip-10-1-0-1`
        (sacct -a -X -P -n).
        """
        for line in lines:
            parts = line.split("|")
            if len(parts) == _FIELDS:
                self._add(parts)
                yield parts

    def _add(self, parts: list[str]) -> None:
        started_at = fields.moment(parts[10])
        if started_at is None or parts[1] == "PENDING":
            return
        ended_at = fields.moment(parts[11]) or self._end_at
        seconds = int((min(ended_at, self._end_at) - max(started_at, self._hour_at)).total_seconds())
        if seconds <= 0:
            return
        entry = self._sums.setdefault((parts[4], parts[3]), [0, 0, 0])
        gpus = _GPUS.search(parts[8]) if "gpu" in parts[8] else None
        entry[0] += seconds * (fields.limit(parts[7]) or 0)
        entry[1] += seconds * (int(gpus.group(1)) if gpus else 0)
        entry[2] += 1

    def rows(self) -> list[ObservedUsage]:
        """The sums, once every line has passed."""
        return [
            ObservedUsage(account, partition, self._hour_at, *numbers)
            for (account, partition), numbers in sorted(self._sums.items())
        ]


def is_present(parts: list[str]) -> bool:
    """Whether a job of the answer waits or runs now; others have ended within the hour."""
    return parts[1] in _PRESENT


def job(parts: list[str]) -> ObservedJob:
    """A waiting or running job; the database does not keep why it waits."""
    gres = _GRES.findall(parts[8])
    return ObservedJob(
        job_id=fields.clean(parts[0], 64),
        state=parts[1],
        reason="",
        partition=parts[3],
        account=parts[4],
        login_name=fields.clean(parts[5], 64),
        qos=parts[6],
        node_count=fields.limit(parts[7]) or 0,
        gres=",".join(gres),
        nodes="" if parts[13] == "None assigned" else fields.clean(parts[13], 1000),
        submit_at=fields.moment(parts[9]),
        start_at=fields.moment(parts[10]),
        limit_minutes=fields.limit(parts[12]),
    )
