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
from proctor.domain.agent_protocol.names import LIMIT
from proctor.domain.slurm_state import SlurmView

_NONE = "-1"


def previous_of(
    verb: Verb, stored: Intent | None, view: SlurmView, now: datetime
) -> Mapping[str, str] | None:
    """Field → value before the hold; None when it can't be known.

    While our hold stands, or its release is not confirmed yet, what Slurm shows may be our own value: the stored one stays.
    """
    if stored is not None and (stored.is_held or not _is_let_go(stored, view)):
        return kept_previous(stored, view)
    if not view.is_fresh(now):
        return stored.previous if stored is not None else None
    seen = _seen(verb, view)
    # The release is reported at once, what Slurm shows up to a minute later.
    if stored is None or stored.previous is None or seen is None:
        return seen
    return stored.previous if _is_our_value(stored.verb, seen) else seen


def kept_previous(stored: Intent, view: SlurmView) -> Mapping[str, str] | None:
    """What an intent says was there before, and of what it does not say, what the agent has replaced in putting it in force.

    An intent that was written while the agent was silent says nothing; then only the agent's record knows, until it is told.
    """
    told = _told(stored, view)
    return {**told, **(stored.previous or {})} if told else stored.previous


def _told(stored: Intent, view: SlurmView) -> Mapping[str, str]:
    """Field → value by the agent's report on this very revision; our own value only shows that it did not know."""
    result = view.results.get(stored.sk)
    if result is None or result.rev != stored.rev or result.outcome is not Outcome.APPLIED:
        return {}
    said = (result.previous or {}).items()
    return {field: value for field, value in said if _can_be_before(stored.verb, field, value)}


def _can_be_before(verb: Verb, field: str, value: str) -> bool:
    match verb:
        case SetPartitionState():
            return field == "State" and value in _STATES and value != verb.state.value
        case LimitAccount() | LimitPartitionQos():
            return field in _LIMITS and LIMIT.fullmatch(value) is not None and value != "0"
        case _:
            return False


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
_LIMITS = frozenset({"GrpJobs", "GrpSubmitJobs", "GrpTRES/node"})


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
