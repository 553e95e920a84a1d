"""Holds as they stand: what is asked of Slurm by whom, what the agent says became of it, and which budgets want it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from budget_holds.holds import status
from budget_holds.plan import OWNER, TOMBSTONE_FOR, Wanted
from budget_holds.policy import Rule
from proctor.domain.agent_protocol import (
    Intent,
    Outcome,
    PartitionState,
    ReserveNodes,
    SetPartitionState,
    Undone,
    Verb,
    intent_sk,
)
from proctor.domain.decision import Mode
from proctor_cli.console import clean, shown_time
from proctor_cli.judgement import Look

IN_FORCE = "in_force"
_RELEASES_WITHIN = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldSeen:
    """One subject that is held, meant to be held, or being let go.

    `reason` is `in_force`, or a code of why not; `verb` and `owner` are None for an intent that this version can't read.
    """

    sk: str
    verb: Verb | None
    owner: str | None
    budgets: tuple[str, ...]
    reason: str
    text: str
    previous: Mapping[str, str] | None = None
    undone: Undone | None = None

    @property
    def is_in_force(self) -> bool:
        """Whether Slurm shows it."""
        return self.reason == IN_FORCE

    @property
    def name(self) -> str:
        """For people, e.g. `partition gpu (State=DOWN)`."""
        if isinstance(self.verb, SetPartitionState):
            return f"partition {self.verb.partition} (State={self.verb.state.value})"
        if isinstance(self.verb, ReserveNodes) and self.verb.partition:
            return f"nodes of partition {self.verb.partition} (reservation {self.verb.name})"
        return self.sk.replace("#", " ", 1)

    @property
    def stops_queued(self) -> bool:
        """Whether it keeps a queued job from starting; DRAIN only refuses new ones."""
        return not (isinstance(self.verb, SetPartitionState) and self.verb.state is PartitionState.DRAIN)

    def as_record(self) -> dict[str, Any]:
        """For programs."""
        return {
            "subject": self.sk,
            "owner": self.owner,
            "budgets": list(self.budgets),
            "status": self.reason,
            "text": self.text,
            "previous": dict(self.previous) if self.previous is not None else None,
            "undone": _undone_record(self.undone) if self.undone else None,
        }

    def line(self) -> str:
        """For people: what, for whom, and what became of it."""
        by = (
            f"for budget {', '.join(self.budgets)}"
            if self.budgets
            else f"by {self.owner or 'an unknown owner'}"
        )
        restored = f"; before it: {previous_text(self.previous)}" if self.previous else ""
        return clean(f"{self.name} {by}: {self.text}{restored}{_undone_text(self.undone)}")


def previous_text(previous: Mapping[str, str] | None) -> str:
    """What a hold replaces and its release restores, e.g. `GrpJobs=no limit`."""
    if previous is None:
        return "unknown here; the agent keeps it"
    shown = {name: "no limit" if value == "-1" else value for name, value in previous.items()}
    return ", ".join(f"{name}={value}" for name, value in sorted(shown.items()))


def _undone_record(undone: Undone) -> dict[str, Any]:
    return {
        "seen": undone.seen,
        "by": undone.by.value,
        "seen_at": undone.seen_at.isoformat(),
        "reheld_at": undone.reheld_at.isoformat() if undone.reheld_at else None,
    }


def _undone_text(undone: Undone | None) -> str:
    if undone is None:
        return ""
    back = f"put back at {shown_time(undone.reheld_at)}" if undone.reheld_at else "not put back yet"
    return f"; undone at {shown_time(undone.seen_at)} by {undone.by.value} ({undone.seen}), {back}"


def holds_of(look: Look) -> tuple[HoldSeen, ...]:
    """Every hold of a cluster, by subject."""
    found: dict[str, HoldSeen] = {}
    for sk, intent in look.view.intents.items():
        if intent is None:
            text = "an intent stands there that this version can't read"
            found[sk] = HoldSeen(sk=sk, verb=None, owner=None, budgets=(), reason="unreadable", text=text)
        elif intent.is_held:
            found[sk] = _held(intent, look)
        elif (seen := _leaving(intent, look)) is not None:
            found[sk] = seen
    for sk, budgets in look.holders.items():
        if sk not in found or found[sk].reason == "releasing":
            found[sk] = _unwritten(sk, budgets, look)
    return tuple(seen for _, seen in sorted(found.items()))


def on_account(holds: Iterable[HoldSeen], look: Look, account: str) -> tuple[HoldSeen, ...]:
    """Holds on an account or on one above it."""
    over = look.assessment.tree.above(account) | {account}
    return tuple(h for h in holds if h.sk.startswith("account#") and h.sk.partition("#")[2] in over)


def on_partition(holds: Iterable[HoldSeen], look: Look, partition: str) -> tuple[HoldSeen, ...]:
    """Holds on a partition, on the QOS of its line, or on its nodes."""
    own = {f"partition#{partition}", f"partition_qos#{partition}"}
    return tuple(h for h in holds if h.sk in own or _reserves(h.verb, look, partition))


def _reserves(verb: Verb | None, look: Look, partition: str) -> bool:
    """A reservation over this partition's nodes: by name, the same nodes, or all of the cluster's."""
    if not isinstance(verb, ReserveNodes):
        return False
    if verb.partition == partition:
        return True
    slurm = look.view.slurm
    taken, asked = slurm.partitions.get(verb.partition or ""), slurm.partitions.get(partition)
    if taken is None or asked is None:
        return False
    return taken.nodes == asked.nodes or 0 < slurm.node_count <= taken.total_nodes


def _held(intent: Intent, look: Look) -> HoldSeen:
    budgets = look.really_held(look.holders.get(intent.sk, ()))
    wanted = Wanted(verb=intent.verb, holders=(), targets={})
    reason, text = status(wanted, intent, look.view, look.now)
    reason = IN_FORCE if reason == "held" else reason
    if intent.is_expired(look.now):
        reason, text = "expired", f"its intent ended at {shown_time(intent.expires_at)}"
    elif (shown := _shown_state(intent.verb, look)) and reason == IN_FORCE:
        reason, text = "not_seen", shown
    if not budgets and intent.owner == OWNER and reason != "expired":
        text += "; no budget holds it any more, so " + _letting_go(look)
    undone = [u for u in look.view.slurm.undone if u.sk == intent.sk]
    return HoldSeen(
        sk=intent.sk,
        verb=intent.verb,
        owner=intent.owner,
        budgets=budgets,
        reason=reason,
        text=text,
        previous=intent.previous,
        undone=max(undone, key=lambda u: u.seen_at, default=None),
    )


def _shown_state(verb: Verb, look: Look) -> str:
    """What Slurm shows instead of a state that the agent reported as in force; empty if it is that."""
    if not isinstance(verb, SetPartitionState):
        return ""
    seen = look.view.slurm.partitions.get(verb.partition)
    if seen is None or seen.state.upper() == verb.state.value:
        return ""
    return f"the agent reported State={verb.state.value} in force, but Slurm shows State={seen.state}"


def _letting_go(look: Look) -> str:
    if look.paused is not None:
        return f"it is let go once {look.cluster} is resumed; it is paused: {look.paused}"
    return "the next look lets it go"


def _leaving(intent: Intent, look: Look) -> HoldSeen | None:
    """A release that the agent has not confirmed yet."""
    result = look.view.slurm.results.get(intent.sk)
    if result is not None and result.rev >= intent.rev and result.outcome is Outcome.RELEASED:
        return None
    written_at = intent.expires_at - TOMBSTONE_FOR
    if look.now - written_at > _RELEASES_WITHIN:
        return None
    text = f"released at {shown_time(written_at)}; the agent has not reported yet that it let go"
    return HoldSeen(
        sk=intent.sk,
        verb=intent.verb,
        owner=intent.owner,
        budgets=(),
        reason="releasing",
        text=text,
        previous=intent.previous,
    )


def _unwritten(sk: str, budgets: tuple[str, ...], look: Look) -> HoldSeen:
    """A hold that budgets want and nobody has asked of Slurm: most often a dry-run."""
    verbs = {intent_sk(v): v for name in budgets for v in look.targets[name].verbs}
    modes = {look.assessment.mode_of(look.situation(name), Rule.HOLD) for name in budgets}
    reason, text = "not_written", "not asked of Slurm yet; the next look does"
    if Mode.APPLY not in modes:
        said = ", ".join(sorted(m.value for m in modes))
        reason, text = "dry_run", f"not asked of Slurm: the mode is {said}, so it is recorded only"
    elif look.paused is not None:
        reason, text = "paused", f"not asked of Slurm: {look.cluster} is paused: {look.paused}"
    return HoldSeen(sk=sk, verb=verbs[sk], owner=OWNER, budgets=budgets, reason=reason, text=text)
