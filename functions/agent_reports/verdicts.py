"""How a verdict of agent_reports is made."""

from collections.abc import Mapping
from typing import Any

from agent_reports.snapshot import Snapshot
from proctor.domain.actions import Action
from proctor.domain.agent_writes import Cause, DropWrite
from proctor.domain.decision import Case, MemoryWrite, Mode, Verdict

DROPPED = "messages dropped"


def mode_of(snapshot: Snapshot) -> Mode:
    """A rehearsal does nothing; all else about Proctor's own agents is done, in dry-run too."""
    return Mode.DRY_RUN if snapshot.is_rehearsal else Mode.APPLY


def found(  # noqa: PLR0913 - one keyword per field of a verdict
    snapshot: Snapshot,
    cluster: str,
    subject: str,
    *,
    rule: str,
    reason: str,
    text: str,
    inputs: Mapping[str, Any] | None = None,
    action: Action | None = None,
    episode: str = "once",
    step: str = "act",
    news: str = "",
    is_known: bool = False,
) -> Verdict:
    """A verdict about Proctor's own agents: housekeeping, done in dry-run unless an operator asked for a rehearsal."""
    return Verdict(
        subject=subject,
        cluster=cluster,
        rule=rule,
        reason=reason,
        text=text,
        mode=mode_of(snapshot),
        policy_version=snapshot.version(cluster),
        inputs=inputs or {},
        action=action,
        episode=episode,
        step=step,
        news=news,
        is_known=is_known,
        is_housekeeping=True,
    )


def dropped_case(causes: Mapping[Cause, int]) -> Case:
    """Counted by cause; nothing of a message is kept, and no verdict, so that a flood costs no writes."""
    memory = MemoryWrite(subject=DROPPED, data=DropWrite(dict(causes)), expected_rev=0)
    return Case(subject=DROPPED, verdicts=(), memory=memory)
