"""Rows of a small Slurm, for reports."""

from proctor.domain.agent_protocol import Chunk, ObservedJob, ObservedPartition, ObservedUsage, Report
from tests.fakes.values import NOW


def partition(name: str = "gpu", state: str = "UP") -> ObservedPartition:
    return ObservedPartition(
        name=name, state=state, nodes="ip-10-1-0-[7-9]", total_nodes=3, qos=None, is_default=False
    )


def job(job_id: str, state: str = "PENDING") -> ObservedJob:
    return ObservedJob(
        job_id=job_id,
        state=state,
        reason="Priority",
        partition="gpu",
        account="physics",
        login_name="ada",
        qos="normal",
        node_count=1,
        gres="gpu:8",
        nodes="",
        submit_at=NOW,
        start_at=None,
        limit_minutes=60,
    )


def usage(node_seconds: int) -> ObservedUsage:
    return ObservedUsage(
        account="physics",
        partition="gpu",
        hour_at=NOW,
        node_seconds=node_seconds,
        gpu_seconds=8 * node_seconds,
        job_count=2,
    )


def sent(**fields: object) -> Report:
    return Report(sent_at=NOW, **fields)  # type: ignore[arg-type]


def chunk(index: int, *, of: int = 0, name: str = "20260901T100000Z") -> Chunk:
    return Chunk(name, index, of)
