"""What budgets that hold want of Slurm, against the intents that stand: one case for each subject.

Level-triggered: the whole cluster's holds are compared at every evaluation, so a lost write costs one sweep. Two budgets on one
subject share one intent, which goes when the last lets go. Only this function's own intents are ever changed; the agent alone
knows and restores what was there before, and never touches an operator's own hold.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from budget_holds.policy import Rule
from budget_holds.previous import kept_previous, previous_of
from budget_holds.snapshot import ClusterView, Snapshot
from budget_holds.states import Standing
from budget_holds.targets import Targets
from proctor.domain.actions import Basis
from proctor.domain.agent_protocol import (
    Intent,
    LimitAccount,
    PartitionState,
    SetPartitionState,
    Verb,
    controller_pk,
    intent_sk,
)
from proctor.domain.budgets_memory import memory_subject
from proctor.domain.decision import Verdict
from proctor.domain.slurm_actions import WithdrawIntent, WriteIntent, intent_subject
from proctor.domain.slurm_state import SlurmView

OWNER = "budget_holds"
HOLD_FOR = timedelta(days=14)
"""An intent's life. It is written again when half of it has passed; without Proctor, holds end by themselves after it."""

TOMBSTONE_FOR = timedelta(days=430)
"""A release outlives every claim on its subject (400 days), so that a revision never comes twice."""

_RENEW_WITHIN = HOLD_FOR / 2
_STRICTER = {PartitionState.DRAIN: 0, PartitionState.DOWN: 1, PartitionState.INACTIVE: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One subject to be held, and the budgets (standings) that want it."""

    verb: Verb
    holders: tuple[Standing, ...]
    targets: Mapping[str, Targets]

    @property
    def sk(self) -> str:
        """Sort key of its intent."""
        return intent_sk(self.verb)

    @property
    def memories(self) -> tuple[str, ...]:
        """What the decision to hold it rests on."""
        return tuple(s.situation.memory_subject for s in self.holders)

    @property
    def budgets(self) -> str:
        """The budgets' names for people."""
        return ", ".join(sorted(s.situation.name for s in self.holders))


@dataclass(frozen=True, slots=True)
class Gone:
    """One subject that no budget wants held any more, and the intent that stands about it, if any."""

    verb: Verb
    stored: Intent | None

    @property
    def sk(self) -> str:
        """Sort key of its intent."""
        return intent_sk(self.verb)


def wanted_by(standings: Iterable[Standing], targets: Mapping[str, Targets]) -> dict[str, Wanted]:
    """What these budgets have to hold, by sort key. `targets` is by budget name."""
    found: dict[str, Wanted] = {}
    for standing in standings:
        for verb in targets[standing.situation.name].verbs:
            sk = intent_sk(verb)
            old = found.get(sk)
            found[sk] = (
                Wanted(verb=verb, holders=(standing,), targets=targets)
                if old is None
                else replace(old, verb=_stricter(old.verb, verb), holders=(*old.holders, standing))
            )
    return found


def _stricter(one: Verb, other: Verb) -> Verb:
    """What satisfies both: DOWN and DRAIN together are INACTIVE, one refusal refuses."""
    if isinstance(one, SetPartitionState) and isinstance(other, SetPartitionState):
        if {one.state, other.state} == {PartitionState.DOWN, PartitionState.DRAIN}:
            return replace(one, state=PartitionState.INACTIVE)
        return max(one, other, key=lambda verb: _STRICTER[verb.state])
    if isinstance(one, LimitAccount) and isinstance(other, LimitAccount):
        return replace(one, refuse_submissions=one.refuse_submissions or other.refuse_submissions)
    return one


def write_due(wanted: Wanted, stored: Intent | None, slurm: SlurmView, now: datetime) -> str | None:
    """Why the intent has to be written, or None. A budget that joins writes too, so that a release that races with it loses.

    What the agent says that it replaced is written too, where the intent does not say it: a node that is set up anew has no
    record, and would take our value for what was there before.
    """
    if stored is None:
        return "there is no intent yet"
    if not stored.is_held:
        return "the intent was a release"
    if stored.verb != wanted.verb:
        return "another hold is wanted"
    if stored.expires_at - now <= _RENEW_WITHIN:
        return "the intent must not expire"
    if any(_joins(s) for s in wanted.holders) and not all(_joins(s) for s in wanted.holders):
        return "another budget joins"
    if kept_previous(stored, slurm) != stored.previous:
        return "the agent has told what it replaced"
    return None


def _joins(standing: Standing) -> bool:
    return standing.memory.is_holding and not standing.situation.memory.is_holding


def write_verdict(
    wanted: Wanted, stored: Intent | None, view: ClusterView, snapshot: Snapshot, why: str
) -> Verdict:
    """The verdict that writes a held intent."""
    rev = stored.rev if stored is not None else 0
    intent = Intent(
        pk=controller_pk(view.cluster),
        verb=wanted.verb,
        is_held=True,
        owner=OWNER,
        rev=rev + 1,
        expires_at=(snapshot.now + HOLD_FOR).replace(microsecond=0),
        previous=previous_of(wanted.verb, stored, view.slurm, snapshot.now),
    )
    subject = intent_subject(view.cluster, wanted.verb.kind, wanted.verb.subject)
    action = WriteIntent(
        subject=subject,
        cluster=view.cluster,
        intent=intent,
        expected_rev=rev,
        holders=tuple(sorted(map(_basis, wanted.holders), key=lambda basis: basis.memory)),
    )
    return replace(
        _verdict(subject, view, snapshot),
        reason="hold_written",
        text=f"{_named(wanted.verb)} is held for budget {wanted.budgets}: {why}",
        inputs=_inputs(wanted, stored),
        action=action,
        episode=_episode(rev, snapshot.now),
        step="hold",
    )


def _basis(standing: Standing) -> Basis:
    return Basis(standing.situation.memory_subject, standing.memory.level_at)


def withdraw_verdict(
    gone: Gone, view: ClusterView, snapshot: Snapshot, others: Sequence[str], why: str
) -> Verdict:
    """The verdict that lets go of a subject. `others` are budgets that would hold the same one."""
    verb, stored = gone.verb, gone.stored
    rev = stored.rev if stored is not None else 0
    intent = Intent(
        pk=controller_pk(view.cluster),
        verb=verb,
        is_held=False,
        owner=OWNER,
        rev=rev + 1,
        expires_at=(snapshot.now + TOMBSTONE_FOR).replace(microsecond=0),
        previous=kept_previous(stored, view.slurm) if stored is not None else None,
    )
    subject = intent_subject(view.cluster, verb.kind, verb.subject)
    action = WithdrawIntent(
        subject=subject,
        cluster=view.cluster,
        intent=intent,
        expected_rev=rev,
        holders=tuple(memory_subject(view.cluster, name) for name in sorted(others)),
    )
    return replace(
        _verdict(subject, view, snapshot),
        reason="released",
        text=f"{_named(verb)} is released: {why}",
        inputs={"rev": rev, "previous": dict(intent.previous or {})},
        action=action,
        episode=_episode(rev, snapshot.now),
        step="release",
    )


def kept_verdict(wanted: Wanted, view: ClusterView, snapshot: Snapshot, reason: str, text: str) -> Verdict:
    """The verdict on a hold that stands as it is."""
    subject = intent_subject(view.cluster, wanted.verb.kind, wanted.verb.subject)
    return replace(_verdict(subject, view, snapshot), reason=reason, text=f"{_named(wanted.verb)}: {text}")


def _episode(rev: int, now: datetime) -> str:
    """One write over one revision.

    The write itself is conditional on the revision, so it can't happen twice; the hour only lets a write that failed through an
    outage be tried again, which the claim's five attempts would otherwise end for good.
    """
    return f"rev-{rev}#{now:%Y-%m-%dT%H}"


def _verdict(subject: str, view: ClusterView, snapshot: Snapshot) -> Verdict:
    return Verdict(
        subject=subject,
        cluster=view.cluster,
        rule=Rule.HOLD.value,
        reason="",
        text="",
        mode=view.policy.policy.mode_of(Rule.HOLD, snapshot.bound),
        policy_version=view.policy.version,
    )


def _inputs(wanted: Wanted, stored: Intent | None) -> dict[str, object]:
    found: dict[str, object] = {"rev": stored.rev if stored else 0, "owner": OWNER}
    for standing in wanted.holders:
        targets = wanted.targets[standing.situation.name]
        found[standing.situation.name] = {
            "percent": str(round(standing.facts.percent, 2)) if standing.facts else None,
            "why": standing.memory.why.value if standing.memory.why else None,
            "others_stopped": list(targets.others[:50]),
            "kept_open": list(targets.opened[:50]),
            "bypasses": targets.bypasses,
        }
    return found


def _named(verb: Verb) -> str:
    match verb:
        case LimitAccount():
            return f"account {verb.account}"
        case SetPartitionState():
            return f"partition {verb.partition} (State={verb.state.value})"
        case _:
            return f"{verb.kind} {verb.subject}"
