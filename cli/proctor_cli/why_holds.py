"""What `why job`, `why account` and `why partition` share: holds on something, budgets behind them, verdicts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from proctor.domain.slurm_actions import intent_subject
from proctor_cli.budget_records import record_of
from proctor_cli.budgets import budget_fields
from proctor_cli.console import fields, shown_time
from proctor_cli.exits import UsageError
from proctor_cli.holds_seen import HoldSeen
from proctor_cli.judgement import Look
from proctor_cli.why_session import as_data
from proctor_cli.world import World


def budgets_behind(
    look: Look, holds: Sequence[HoldSeen], world: World, *, account: str | None, partitions: Iterable[str]
) -> list[dict[str, Any]]:
    """Records of the budgets that hold this, then of those that govern it; each with its latest verdict (one call)."""
    holding = {name for hold in holds for name in hold.budgets}
    names = sorted(holding) + sorted(_governing(look, account, set(partitions)) - holding)
    return [
        record_of(name, look, holds, world.verdicts.latest(look.situation(name).subject)) for name in names
    ]


def _governing(look: Look, account: str | None, partitions: set[str]) -> set[str]:
    over = look.assessment.tree.above(account) | {account} if account is not None else set()
    found = set()
    for name, standing in look.standings.items():
        budget = standing.situation.budget
        if budget.is_whole_cluster or budget.account in over - {None} or partitions & set(budget.partitions):
            found.add(name)
    return found


def verdicts_on(look: Look, holds: Iterable[HoldSeen], world: World) -> list[dict[str, Any]]:
    """The latest verdict on each held subject, one call each."""
    found = []
    for hold in holds:
        kind, _, subject = hold.sk.partition("#")
        row = world.verdicts.latest(intent_subject(look.cluster, kind, subject))
        if row is not None:
            found.append(as_data(row))
    return found


def only(looks: Sequence[Look], what: str) -> Look:
    """The one cluster that knows it. Raises UsageError when several do."""
    if len(looks) > 1:
        raise UsageError("--cluster", None, f"{', '.join(x.cluster for x in looks)} know {what}; name one")
    return looks[0]


def holds_text(holds: Sequence[HoldSeen]) -> str:
    """Each hold on a line."""
    return "\n".join(f"- {hold.line()}" for hold in holds) or "none"


def budgets_text(records: Sequence[Mapping[str, Any]], world: World) -> list[str]:
    """Each budget with its numbers, as `budgets show` has them."""
    parts: list[str] = []
    for record in records:
        parts += ["", world.console.heading(f"Budget {record['budget']}"), fields(budget_fields(record))]
    return parts or ["", "No budget governs it."]


def verdicts_text(rows: Sequence[Mapping[str, Any]], world: World) -> list[str]:
    """What the function last concluded, and who asked."""
    if not rows:
        return []
    pairs = [
        (
            shown_time(row["decided_at"]),
            f"{row['text']} ({row['outcome']}, woken by {row.get('trigger')}, asked by {row.get('actor')})",
        )
        for row in rows
    ]
    return ["", world.console.heading("Latest verdicts"), fields(pairs)]


def conclusion(holds: Sequence[HoldSeen], look: Look) -> tuple[str, str]:
    """(code, sentence) about something with these holds on it: held, unknown, not in force, or not held."""
    standing = [h for h in holds if h.reason != "releasing"]
    names = ", ".join(h.name for h in standing)
    if not look.is_known:
        asked = f"; asked for is: {names}" if standing else "; no hold is asked for"
        return "unknown", f"{look.since}{asked}"
    if any(h.is_in_force for h in standing):
        return "held", f"held by {', '.join(h.name for h in standing if h.is_in_force)}; running jobs go on"
    if standing:
        return "not_in_force", f"meant to be held, and not in force: {standing[0].text}"
    if holds:
        return "releasing", "being let go: the agent has not reported yet"
    return "not_held", "not held by Proctor"
