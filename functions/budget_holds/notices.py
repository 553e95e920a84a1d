"""Who is told what: the owner at each threshold, at a hold and at a release; members whose work waits.

A notice is asked for when its cause is new, and again by sweeps within an hour, so that a crash between remembering and
sending loses none; the claim sends it once. Of several thresholds that fire together only the highest is told, and none beside
the hold at the limit. What is not held, because something stands against it, is not said to be.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from budget_holds import wording
from budget_holds.assess import Assessment
from budget_holds.plan import Wanted, write_due
from budget_holds.policy import Rule
from budget_holds.prevented import prevented
from budget_holds.snapshot import Path, Snapshot
from budget_holds.states import Standing
from budget_holds.thresholds import COMMITTED, FORECAST
from proctor.domain.actions import Basis, NotifyOperators, NotifyPerson
from proctor.domain.agent_protocol import LimitAccount, LimitPartitionQos, ReserveNodes, SetPartitionState
from proctor.domain.budgets_memory import Fired, Why
from proctor.domain.decision import Verdict

TELL_FOR = timedelta(hours=1)
_AHEAD = {
    FORECAST: "the forecast passes the limit",
    COMMITTED: "running and queued jobs could pass the limit",
}
_CHANGES = frozenset({"held", "unheld", "released", "member"})
"""Notices whose step says when it happened."""

_LET_GO = frozenset(
    {Why.FELL_BELOW, Why.LIMIT_RAISED, Why.NEW_PERIOD, Why.BY_HAND, Why.ORDER_LAPSED, Why.ENDED}
)


type _News = tuple[str, str, datetime]
"""Step, headline, and when what it tells of happened."""


def is_due(at: datetime | None, now: datetime, path: Path) -> bool:
    """Whether a notice about something that happened `at` is asked for now."""
    if at is None:
        return False
    return at == now or (path is not Path.EVENT and timedelta(0) <= now - at < TELL_FOR)


def people_to_tell(assessment: Assessment, wanted: Iterable[Wanted], path: Path, now: datetime) -> set[str]:
    """Login names that the notices of this evaluation may need."""
    found = {
        s.situation.budget.owner
        for s in assessment.standings
        if s.situation.budget.owner and (_news(s, now, path) or _change(s, now, path))
    }
    for one in wanted:
        stored = assessment.view.intents.get(one.sk)
        is_written = write_due(one, stored, assessment.view.slurm, now) is not None
        if is_written or any(is_due(s.memory.level_at, now, path) for s in one.holders):
            found |= set(members(one, assessment))
    return {name for name in found if name}


def about_budget(standing: Standing, assessment: Assessment, snapshot: Snapshot) -> list[Verdict]:
    """Notices to owner and operators: the highest threshold that fired, and a change between held and not held."""
    found: list[Verdict] = []
    now, path, owner = snapshot.now, snapshot.path, standing.situation.budget.owner
    why_not = prevented(standing, assessment, snapshot) if begins_to_hold(standing, now, path) else ""
    changes = _change(standing, now, path, is_prevented=bool(why_not))
    for step, headline, at in (*_news(standing, now, path), *changes):
        text = _text(standing, assessment, why_not)
        made = [_to_operators(standing, assessment, step, headline, text)]
        if owner is not None:
            made.append(_to_person(owner, standing, assessment, snapshot, (step, headline, text)))
        found += [_asked_again(one, at, snapshot) for one in made]
    return found


def _asked_again(notice: Verdict, at: datetime, snapshot: Snapshot) -> Verdict:
    """What happened before now has its record, unless nobody got to send it: then the sending is news."""
    return replace(notice, is_known=at != snapshot.now)


def _news(standing: Standing, now: datetime, path: Path) -> list[_News]:
    """Each batch of thresholds to be told."""
    batches: dict[datetime, list[str]] = {}
    for name, fired in _told(standing.memory.fired).items():
        if is_due(fired.at, now, path):
            batches.setdefault(fired.at, []).append(name)
    name = standing.situation.name
    found = []
    for at, names in batches.items():
        levels = sorted((int(n) for n in names if n.isdigit()), reverse=True)
        if levels and not _holds_since(standing, at):
            found.append((f"threshold-{levels[0]}", f"Budget {name}: {levels[0]} % is spent", at))
        found += [(f"threshold-{n}", f"Budget {name}: {_AHEAD[n]}", at) for n in sorted(names) if n in _AHEAD]
    return found


def _holds_since(standing: Standing, at: datetime) -> bool:
    """Whether the look that fired thresholds also began to hold: the limit, which is the higher mark, is told of then."""
    memory = standing.memory
    return memory.is_holding and memory.level_at == at and memory.why is Why.LIMIT_REACHED


def _told(fired: Mapping[str, Fired]) -> dict[str, Fired]:
    return {name: one for name, one in fired.items() if one.is_told}


def begins_to_hold(standing: Standing, now: datetime, path: Path) -> bool:
    """Whether the beginning of a hold is to be told."""
    return standing.memory.is_holding and is_due(standing.memory.level_at, now, path)


def _change(standing: Standing, now: datetime, path: Path, *, is_prevented: bool = False) -> list[_News]:
    memory, name = standing.memory, standing.situation.name
    if memory.level_at is None or memory.why is None or not is_due(memory.level_at, now, path):
        return []
    stamp = memory.level_at.isoformat()
    if memory.is_holding and is_prevented:
        return [(f"unheld-{stamp}", f"Budget {name}: new jobs should be held", memory.level_at)]
    if memory.is_holding:
        return [(f"held-{stamp}", f"Budget {name}: new jobs are held", memory.level_at)]
    if memory.why in _LET_GO:
        return [(f"released-{stamp}", f"Budget {name}: its hold is released", memory.level_at)]
    return []


def _text(standing: Standing, assessment: Assessment, why_not: str) -> str:
    lines = [f"State: {wording.state(standing)}.", f"Numbers: {wording.numbers(standing)}."]
    targets = assessment.targets.get(standing.situation.name)
    if why_not:
        lines.append(f"New jobs are not held: {why_not}. They will be as soon as nothing stands against it.")
    elif standing.memory.is_holding and targets is not None:
        lines.append(wording.releases(standing, assessment.view.policy.policy))
        lines.append("Running jobs go on. " + wording.reach(targets))
    return "\n".join(lines)


def members(wanted: Wanted, assessment: Assessment) -> list[str]:
    """Whose work a hold stops: people of the account; for partitions those with pending jobs there."""
    verb, jobs = wanted.verb, assessment.view.slurm.jobs
    most = assessment.view.policy.policy.most_members_told
    if isinstance(verb, LimitAccount):
        accounts = assessment.tree.below(verb.account)
        return sorted(assessment.tree.people(accounts))[:most]
    partition = (
        verb.partition if isinstance(verb, SetPartitionState | LimitPartitionQos | ReserveNodes) else None
    )
    waiting = {j.login_name for j in jobs if j.state == "PENDING" and partition in j.partition.split(",")}
    return sorted(name for name in waiting if name)[:most]


def about_members(
    wanted: Wanted, assessment: Assessment, snapshot: Snapshot, *, requires: tuple[str, ...]
) -> list[Verdict]:
    """A mail to each member: what pends, why, and what would release it."""
    is_news = bool(requires) or any(
        is_due(s.memory.level_at, snapshot.now, snapshot.path) for s in wanted.holders
    )
    if not is_news:
        return []
    found: list[Verdict] = []
    for standing in wanted.holders:
        at = standing.memory.level_at
        if at is None or not (is_due(at, snapshot.now, snapshot.path) or requires):
            continue
        basis = Basis(standing.situation.memory_subject, at)
        for login_name in members(wanted, assessment):
            text = _member_text(login_name, standing, assessment)
            headline = f"Your jobs on {assessment.view.cluster} wait: budget {standing.situation.name}"
            step = f"member-{at.isoformat()}"
            verdict = _to_person(login_name, standing, assessment, snapshot, (step, headline, text), basis)
            found.append(_asked_again(replace(verdict, requires=requires), at, snapshot))
    return found


def _member_text(login_name: str, standing: Standing, assessment: Assessment) -> str:
    mine = assessment.waiting.get(login_name, [])
    pends = (
        f"{len(mine)} of your jobs wait ({wording.listed(mine)})"
        if mine
        else ("None of your jobs waits at present; new ones will")
    )
    policy = assessment.view.policy.policy
    return (
        f"Hello {login_name},\n\n{pends}. Running jobs go on.\n\nWhy: {wording.state(standing)}. "
        f"{wording.numbers(standing)}.\n{wording.releases(standing, policy)}\n\n{policy.appeal}\n"
    )


def _to_operators(standing: Standing, assessment: Assessment, step: str, headline: str, text: str) -> Verdict:
    situation = standing.situation
    action = NotifyOperators(
        subject=f"operators#{situation.cluster}#{situation.name}#{_kind(step)}",
        headline=f"Proctor: {headline} ({situation.cluster})",
        text=text,
        next_steps=(f"proctor budgets show {situation.name}",),
    )
    return replace(_notice(standing, assessment, step), subject=action.subject, text=headline, action=action)


def _to_person(
    login_name: str,
    standing: Standing,
    assessment: Assessment,
    snapshot: Snapshot,
    message: tuple[str, str, str],
    basis: Basis | None = None,
) -> Verdict:
    step, headline, text = message
    situation = standing.situation
    person = snapshot.people.get(login_name)
    action = NotifyPerson(
        subject=f"notice#{situation.cluster}#{situation.name}#{login_name}#{_kind(step)}",
        login_name=login_name,
        email=person.email if person is not None else None,
        headline=headline,
        text=text,
        basis=basis,
    )
    return replace(_notice(standing, assessment, step), subject=action.subject, text=headline, action=action)


def _kind(step: str) -> str:
    """What a subject is called: every threshold has its own, a change of state one for all its times."""
    return step if step.startswith("threshold-") else step.partition("-")[0]


def _notice(standing: Standing, assessment: Assessment, step: str) -> Verdict:
    """Claimed once per (budget, period, threshold), or per change: a change near a period's end is no news in the next."""
    situation = standing.situation
    period = standing.memory.period
    is_change = _kind(step) in _CHANGES
    return Verdict(
        subject="",
        cluster=situation.cluster,
        rule=Rule.NOTICE.value,
        reason="told",
        text="",
        mode=assessment.mode_of(situation, Rule.NOTICE),
        policy_version=assessment.view.policy.version,
        episode="change" if is_change else period.key if period is not None else "no-period",
        step=step,
    )
