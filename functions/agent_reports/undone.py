"""Holds that somebody or something undid: the operators are told what, when, and how, as far as slurmctld's log says it."""

from collections.abc import Iterable

from agent_reports.snapshot import Snapshot
from agent_reports.verdicts import found
from proctor.domain.agent_protocol import Header, Report, Role, Undone, UndoneBy
from proctor.domain.agent_writes import AlarmOperators
from proctor.domain.decision import Verdict

_SHOWN_AT_MOST = 20
_HOW = {
    UndoneBy.RESTART: "slurmctld was restarted",
    UndoneBy.RECONFIGURE: "slurmctld was reconfigured",
    UndoneBy.UPDATE: "somebody changed it with scontrol or sacctmgr; slurmctld's log does not say who",
    UndoneBy.UNKNOWN: "nothing in slurmctld's log says how",
}


def undone_verdicts(
    header: Header, report: Report, snapshot: Snapshot, *, is_replay: bool = False
) -> tuple[Verdict, ...]:
    """One verdict and one message for all that a report tells of; a report told again is the same occurrence.

    Another occurrence is another verdict, whatever its kind; a replay that was told already takes nothing from a later one.
    """
    mine = [u for u in report.undone if header.role is Role.CONTROLLER or u.sk == f"node#{header.node}"]
    if not mine:
        return ()
    subject = f"undone#{header.cluster}"
    text = "; ".join(_sentences(mine))
    return (
        found(
            snapshot,
            header.cluster,
            subject,
            rule="undone",
            reason="hold_undone",
            text=text,
            inputs={"undone": [u.sk for u in mine[:_SHOWN_AT_MOST]], "agent": header.instance_id},
            action=AlarmOperators(
                subject=subject,
                headline=f"Proctor: {len(mine)} hold(s) on {header.cluster} were undone",
                text=text,
                next_steps=(
                    "nothing, if it was put back: Proctor holds it again by itself",
                    "to let something go, use `proctor release`: what is undone in Slurm alone does not last",
                ),
            ),
            episode=_occurrence(mine),
            step="tell",
            news=text,
            is_known=is_replay,
        ),
    )


def _sentences(undone: list[Undone]) -> Iterable[str]:
    for one in undone[:_SHOWN_AT_MOST]:
        again = f"held again at {one.reheld_at:%H:%M:%S} UTC" if one.reheld_at else "NOT held again yet"
        yield f"{one.sk} was seen as {one.seen} at {one.seen_at:%H:%M:%S} UTC: {_HOW[one.by]}; {again}"
    if len(undone) > _SHOWN_AT_MOST:
        yield f"and {len(undone) - _SHOWN_AT_MOST} more"


def _occurrence(undone: list[Undone]) -> str:
    first = min(undone, key=lambda one: (one.seen_at, one.sk))
    return f"{first.seen_at:%Y%m%dT%H%M%SZ}-{first.sk}"
