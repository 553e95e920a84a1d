"""The cases about Slurm: each subject to be held, held, or let go, with what the agent says of it."""

from dataclasses import replace
from datetime import datetime, timedelta

from budget_holds.alarms import about_undone, alarm
from budget_holds.assess import Assessment
from budget_holds.letting_go import release_cases
from budget_holds.notices import about_members
from budget_holds.plan import (
    HOLD_FOR,
    Wanted,
    kept_verdict,
    wanted_by,
    write_due,
    write_verdict,
)
from budget_holds.prevented import obstacle
from budget_holds.snapshot import ClusterView, Snapshot
from proctor.domain.agent_protocol import Intent, LimitAccount, LimitPartitionQos, Outcome, Verb
from proctor.domain.decision import Case, Mode, lowest
from proctor.domain.slurm_actions import intent_subject

CONFIRMED_WITHIN = timedelta(minutes=3)
"""By then a living agent has read an intent and reported (20 s and 60 s at most)."""

_TELLS_UNDONE_FOR = timedelta(hours=1)

_SAYS = {
    Outcome.APPLIED: ("held", "in force"),
    Outcome.UNCONFIRMED: ("pending", "Slurm does not show it yet"),
    Outcome.CANNOT_BIND: ("cannot_bind", "it can't bind"),
    Outcome.REFUSED: ("refused", "the agent refuses it"),
    Outcome.FAILED: ("failed", "Slurm refuses it"),
    Outcome.LEFT_ALONE: ("left_alone", "something of an operator's stands there"),
    Outcome.UNDONE_BY_PERSON: ("undone_by_person", "a person undid it"),
    Outcome.DRY_RUN: ("agent_dry_run", "the agent is in dry-run"),
    Outcome.RELEASED: ("pending", "the agent still says released"),
}
_FINE = frozenset({"held", "pending", "agent_silent"})


def all_wanted(assessment: Assessment) -> tuple[dict[str, Wanted], dict[str, Wanted]]:
    """Holds wanted for real, and those of budgets whose own mode is below apply."""
    real = wanted_by(assessment.holding(is_rehearsed=False), assessment.targets)
    rehearsed = wanted_by(assessment.holding(is_rehearsed=True), assessment.targets)
    return real, {sk: one for sk, one in rehearsed.items() if sk not in real}


def hold_cases(assessment: Assessment, snapshot: Snapshot) -> list[Case]:
    """One case for each subject, in a fixed order."""
    view = assessment.view
    real, rehearsed = all_wanted(assessment)
    cases = [_wanted_case(one, assessment, snapshot) for _, one in sorted(real.items())]
    for _, one in sorted(rehearsed.items()):
        stored = view.intents.get(one.sk)
        if stored is None or not stored.is_held:
            cases.append(_rehearsed_case(one, assessment, snapshot))
    return [*cases, *release_cases(real.keys(), assessment, snapshot)]


def _wanted_case(wanted: Wanted, assessment: Assessment, snapshot: Snapshot) -> Case:
    view = assessment.view
    stored = view.intents.get(wanted.sk)
    subject = intent_subject(view.cluster, wanted.verb.kind, wanted.verb.subject)
    if why := obstacle(wanted.verb, view, snapshot):
        text = f"budget {wanted.budgets} needs it held: {why}"
        verdicts = [kept_verdict(wanted, view, snapshot, "obstructed", text)]
        verdicts.append(alarm(view, snapshot, wanted.sk, "obstructed", f"{wanted.sk}: {text}"))
        return Case(subject=subject, verdicts=tuple(verdicts), rests_on=wanted.memories)
    if due := write_due(wanted, stored, view.slurm, snapshot.now):
        write = write_verdict(wanted, stored, view, snapshot, due)
        return Case(
            subject=subject,
            verdicts=(write, *about_members(wanted, assessment, snapshot, requires=(write.subject,))),
            rests_on=wanted.memories,
        )
    reason, text = status(wanted, stored, view, snapshot.now)
    verdicts = [kept_verdict(wanted, view, snapshot, reason, f"held for budget {wanted.budgets}: {text}")]
    if reason not in _FINE:
        alarming = f"The hold on {wanted.sk} for budget {wanted.budgets} is not in force: {text}."
        verdicts.append(
            alarm(
                view,
                snapshot,
                wanted.sk,
                reason,
                alarming,
                _how_to_look(wanted.verb),
            )
        )
    verdicts += about_members(wanted, assessment, snapshot, requires=())
    recent = (
        u for u in view.slurm.undone if u.sk == wanted.sk and snapshot.now - u.seen_at < _TELLS_UNDONE_FOR
    )
    undone = (about_undone(one, view, snapshot) for one in sorted(recent, key=lambda u: u.seen_at))
    latest = [made for made in undone if made is not None][-1:]
    return Case(subject=subject, verdicts=(*verdicts, *latest), rests_on=wanted.memories)


def status(wanted: Wanted, stored: Intent | None, view: ClusterView, now: datetime) -> tuple[str, str]:
    """What became of a written hold, by the agent's report on this very revision. A hold that can't bind is no success."""
    if not view.slurm.is_fresh(now):
        return "agent_silent", "what became of it is unknown, since the controller's agent is silent"
    limits = view.slurm.limits
    is_limit = isinstance(wanted.verb, LimitAccount | LimitPartitionQos)
    if is_limit and limits is not None and not limits.do_limits_bind:
        enforce = ",".join(limits.enforce) or "nothing"
        return "cannot_bind", f"AccountingStorageEnforce has {enforce}; it needs limits"
    result = view.slurm.results.get(wanted.sk)
    if stored is None or result is None or result.rev < stored.rev:
        written_at = stored.expires_at - HOLD_FOR if stored is not None else now
        if now - written_at <= CONFIRMED_WITHIN:
            return "pending", "written; the agent has not reported yet"
        return (
            "not_confirmed",
            f"written at {written_at:%Y-%m-%d %H:%M:%S} UTC, and the agent says nothing of it",
        )
    reason, says = _SAYS[result.outcome]
    if reason == "pending" and now - result.at > CONFIRMED_WITHIN:
        reason = "not_confirmed"
    field = f" by {result.field}" if result.field else ""
    return reason, f"{says}{field}{': ' + result.detail if result.detail else ''}"


def _rehearsed_case(wanted: Wanted, assessment: Assessment, snapshot: Snapshot) -> Case:
    """What a budget in dry-run would do: recorded, never done."""
    view = assessment.view
    stored = view.intents.get(wanted.sk)
    if why := obstacle(wanted.verb, view, snapshot):
        verdict = kept_verdict(wanted, view, snapshot, "obstructed", why)
    else:
        made = write_verdict(wanted, stored, view, snapshot, "in dry-run")
        is_off = all(s.situation.budget.mode is Mode.OFF for s in wanted.holders)
        verdict = replace(made, mode=lowest(made.mode, Mode.OFF if is_off else Mode.DRY_RUN))
    return Case(subject=verdict.subject, verdicts=(verdict,), rests_on=wanted.memories)


def _how_to_look(verb: Verb) -> str:
    """The command that explains a hold: a reservation and a partition's QOS stand for their partition."""
    if isinstance(verb, LimitAccount):
        return f"proctor why account {verb.account}"
    partition = getattr(verb, "partition", None)
    return f"proctor why partition {partition}" if partition else "proctor budgets"
