"""What a hold replaces, from an observation, so that the agent can restore it even if it lost its own record."""

from collections.abc import Mapping
from datetime import datetime

from proctor.domain.agent_protocol import (
    Intent,
    LimitAccount,
    LimitPartitionQos,
    Outcome,
    SetPartitionState,
    Verb,
)
from proctor.domain.slurm_state import SlurmView

_NONE = "-1"


def previous_of(
    verb: Verb, stored: Intent | None, view: SlurmView, now: datetime
) -> Mapping[str, str] | None:
    """Field → value before the hold; None when it can't be known.

    While our hold stands, or its release is not confirmed yet, what Slurm shows may be our own value: the stored one stays.
    """
    if stored is not None and (stored.is_held or not _is_let_go(stored, view)):
        return stored.previous
    if not view.is_fresh(now):
        return stored.previous if stored is not None else None
    seen = _seen(verb, view)
    # The release is reported at once, what Slurm shows up to a minute later.
    if stored is None or stored.previous is None or seen is None:
        return seen
    return stored.previous if _is_our_value(stored.verb, seen) else seen


def _seen(verb: Verb, view: SlurmView) -> Mapping[str, str] | None:
    match verb:
        case SetPartitionState():
            seen = view.partitions.get(verb.partition)
            return {"State": seen.state} if seen is not None and seen.state in _STATES else None
        case LimitAccount():
            rows = (r for r in view.associations if r.account == verb.account and not r.login_name)
            return next((_limits(r.grp_jobs, r.grp_submit_jobs, r.grp_tres) for r in rows), None)
        case LimitPartitionQos():
            return next(({"GrpJobs": _text(q.grp_jobs)} for q in view.qos if q.name == verb.qos), None)
        case _:
            return None


def _is_our_value(verb: Verb, seen: Mapping[str, str]) -> bool:
    """Whether what is seen is what our hold itself sets."""
    if isinstance(verb, SetPartitionState):
        return seen["State"] == verb.state.value
    return "0" in seen.values()


_STATES = frozenset({"UP", "DOWN", "DRAIN", "INACTIVE"})


def _is_let_go(stored: Intent, view: SlurmView) -> bool:
    result = view.results.get(stored.sk)
    return result is not None and result.rev >= stored.rev and result.outcome is Outcome.RELEASED


def _limits(grp_jobs: int | None, grp_submit_jobs: int | None, grp_tres: str) -> dict[str, str]:
    node = next((part[5:] for part in grp_tres.split(",") if part.startswith("node=")), _NONE)
    return {
        "GrpJobs": _text(grp_jobs),
        "GrpSubmitJobs": _text(grp_submit_jobs),
        "GrpTRES/node": node if node.isdigit() else _NONE,
    }


def _text(limit: int | None) -> str:
    return _NONE if limit is None else str(limit)
