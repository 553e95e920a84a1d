"""What operators must look at: numbers that can't be acted on, holds that can't bind, an agent that is silent.

An alarm is repeated once a day while its cause lasts.
"""

from dataclasses import replace

from budget_holds import wording
from budget_holds.assess import NOT_ASKED, Assessment
from budget_holds.facts import Unknown
from budget_holds.policy import Rule
from budget_holds.snapshot import ClusterView, Path, Snapshot
from budget_holds.states import Standing
from proctor.domain.actions import NotifyOperators
from proctor.domain.agent_protocol import Undone, UndoneBy
from proctor.domain.budgets_memory import Doubt
from proctor.domain.decision import Case, Mode, Verdict

_PLUMBING = frozenset({"unreadable", "slurm_unknown", "agent_silent"})
"""Alarms about Proctor's own eyes, not about money or people: also sent in dry-run."""

_ANSWERS = {
    Doubt.JUMP: "if the figure is right: proctor approve {name}",
    Doubt.SHRINK: "if the correction is right: proctor approve {name}",
    Doubt.UNHEALTHY: "repair the AWS budget, or accept its numbers for this period: proctor approve {name}",
    Doubt.STALE: "find out why AWS's numbers are old, or accept them for this period: proctor approve {name}",
    Doubt.CURRENCY: "give budget and rates one currency; this can't be approved",
    Doubt.LIMIT: "set a limit above 0 on the AWS budget; this can't be approved",
}


def alarm(
    view: ClusterView, snapshot: Snapshot, subject: str, code: str, text: str, *steps: str, once: str = ""
) -> Verdict:
    """A message to the operators, once a day, or once for `once`."""
    name = f"alarm#{view.cluster}#{subject}#{code}"
    action = NotifyOperators(
        subject=name,
        headline=f"Proctor: {subject} on {view.cluster}: {code.replace('_', ' ')}",
        text=text,
        next_steps=steps,
    )
    return Verdict(
        subject=name,
        cluster=view.cluster,
        rule=Rule.ALARM.value,
        reason=code,
        text=text,
        mode=Mode.APPLY if code in _PLUMBING else view.policy.policy.mode_of(Rule.ALARM, snapshot.bound),
        policy_version=view.policy.version,
        action=action,
        episode=once or f"{snapshot.now:%Y-%m-%d}",
        step="alarm",
        is_housekeeping=code in _PLUMBING,
    )


def about_numbers(standing: Standing, assessment: Assessment, snapshot: Snapshot) -> list[Verdict]:
    """Alarms of one budget: a doubt, an unreadable source, missing rates, a hold that can't be placed."""
    view, name = assessment.view, standing.situation.name
    kept = f"The state stays {standing.memory.level.value.upper()}."
    found: list[Verdict] = []
    if standing.memory.doubt is not None and standing.reason != NOT_ASKED:
        answer = _ANSWERS[standing.memory.doubt].format(name=name)
        text = f"Budget {name}: {standing.remark or 'the numbers are in doubt'}. {kept}"
        found.append(alarm(view, snapshot, name, f"needs_human_{standing.memory.doubt.value}", text, answer))
    elif isinstance(standing.finding, Unknown) and standing.reason not in {NOT_ASKED, "slurm_unknown"}:
        text = f"Budget {name}: {standing.remark}. {kept}"
        found.append(alarm(view, snapshot, name, standing.reason, text, f"proctor budgets show {name}"))
    elif standing.reason == "clock_back":
        found.append(alarm(view, snapshot, name, "clock_back", f"Budget {name}: {standing.remark}. {kept}"))
    facts = standing.facts
    if facts is not None and standing.memory.doubt is None and not facts.can_hold:
        text = f"Budget {name} only warns: {standing.remark}. {wording.numbers(standing)}."
        found.append(alarm(view, snapshot, name, "warns_only", text, "complete `rates` in the policy"))
    if facts is not None and facts.is_net:
        text = f"Budget {name}: AWS takes credits or refunds off its spend, so it is held later than it should be."
        found.append(
            alarm(view, snapshot, name, "net_of_credits", text, "leave credits and refunds out of the budget")
        )
    targets = assessment.targets.get(name)
    if standing.memory.is_holding and targets is not None and targets.problem:
        text = f"Budget {name} should be held: {targets.problem}."
        found.append(alarm(view, snapshot, name, "cannot_hold", text, f"proctor budgets show {name}"))
    return found


def about_cluster(assessment: Assessment, snapshot: Snapshot) -> list[Case]:
    """Alarms of the whole cluster: a silent agent while something is governed, definitions that can't be read."""
    view = assessment.view
    found: list[Verdict] = []
    if view.situations and not view.slurm.is_fresh(snapshot.now) and snapshot.path is Path.SWEEP:
        seen = view.slurm.seen_at
        since = f"since {seen:%Y-%m-%d %H:%M:%S} UTC" if seen else "and never spoke"
        text = (
            f"The controller's agent of {view.cluster} is silent {since}. Holds stay as they are; allocations are not judged, "
            "and new holds take effect when it returns."
        )
        found.append(
            alarm(
                view,
                snapshot,
                "agent",
                "agent_silent",
                text,
                "systemctl status proctor-agent on the controller",
            )
        )
    for name, error in sorted(view.unusable.items()):
        text = f"The definition of budget {name} in force can't be read: {error}. Its hold, if any, stays."
        found.append(alarm(view, snapshot, name, "definition_unusable", text, "write the definition again"))
    return [Case(subject=v.subject, verdicts=(v,)) for v in found]


def about_undone(undone: Undone, view: ClusterView, snapshot: Snapshot) -> Verdict | None:
    """Somebody undid a hold with scontrol, and the agent put it back; reconfigurations are daily business."""
    if undone.by is not UndoneBy.UPDATE:
        return None
    back = f"put back at {undone.reheld_at:%H:%M:%S} UTC" if undone.reheld_at else "not put back yet"
    text = (
        f"The hold {undone.sk} was undone at {undone.seen_at:%Y-%m-%d %H:%M:%S} UTC by `scontrol update` ({undone.seen}), and "
        f"{back}. slurmctld's log does not say who did it. To let go for good, release the budget."
    )
    made = alarm(
        view,
        snapshot,
        undone.sk,
        "hold_undone",
        text,
        "proctor release <budget>",
        once=undone.seen_at.isoformat(),
    )
    return replace(made, step="undone")
