"""`proctor budgets`: every budget with its three numbers, its state and its hold; `budgets show` has all about one."""

import argparse
from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

from proctor_cli.amounts import whole
from proctor_cli.budget_records import record_of
from proctor_cli.console import clean, fields, shown_age, shown_time, table
from proctor_cli.exits import Exit
from proctor_cli.holds_seen import holds_of
from proctor_cli.judgement import Look, look_at, the_look
from proctor_cli.world import World

_HOLDS = {
    "in_force": "in force",
    "pending": "pending",
    "not_confirmed": "unconfirmed",
    "agent_silent": "unknown",
    "cannot_bind": "can't bind",
    "dry_run": "dry run",
    "paused": "paused",
    "not_seen": "not seen",
    "not_written": "not yet",
}
_WORST_FIRST = (
    "cannot_bind",
    "not_seen",
    "not_confirmed",
    "agent_silent",
    "paused",
    "not_written",
    "dry_run",
    "pending",
    "in_force",
)


def run(args: argparse.Namespace, world: World) -> Exit:
    """Print the table. A cluster whose Slurm is silent, and definitions that can't be read, are named below it."""
    looks = look_at(world, args.cluster)
    rows = [
        record_of(name, look, holds, _verdict_if_needed(name, look, world))
        for look in looks
        for holds in (holds_of(look),)
        for name in look.standings
    ]
    unusable = [
        {"cluster": look.cluster, "budget": name, "error": error}
        for look in looks
        for name, error in sorted(look.view.unusable.items())
    ]
    data = {
        "budgets": rows,
        "slurm": {look.cluster: {"is_known": look.is_known, "text": look.since} for look in looks},
        "paused": {look.cluster: look.paused for look in looks if look.paused is not None},
        "unusable": unusable,
    }
    world.console.answer(data, _text(rows, looks, unusable))
    return Exit.OK


def show(args: argparse.Namespace, world: World) -> Exit:
    """Print one budget with its latest verdict. Raises NotFoundError when it is not in force."""
    look = the_look(look_at(world, args.cluster), args.budget)
    verdict = world.verdicts.latest(look.situation(args.budget).subject)
    record = record_of(args.budget, look, holds_of(look), verdict)
    lines = [
        world.console.heading(f"Budget {args.budget} on {look.cluster}"),
        fields(budget_fields(record)),
        clean(f"Slurm: {look.since}."),
    ]
    if look.paused is not None:
        lines.append(clean(f"{look.paused_text}."))
    world.console.answer({**record, "slurm": look.since, "paused": look.paused}, "\n".join(lines))
    return Exit.OK


def budget_fields(record: Mapping[str, Any]) -> list[tuple[str, object]]:
    """A budget as names and values, for `show` and `why`."""
    numbers = record["numbers"]
    shown: list[tuple[str, object]] = [
        ("governs", f"{record['subject']}; level {record['level']}, owner {record['owner'] or 'nobody'}"),
        ("state", record["state_text"]),
        ("numbers", numbers["text"] if numbers else f"unknown: {record['remark']}"),
    ]
    if numbers:
        age = shown_age(timedelta(seconds=numbers["age_seconds"]))
        seen = f", Slurm as of {shown_time(numbers['slurm_as_of_at'])}" if numbers["slurm_as_of_at"] else ""
        shown.append(("age", f"{age}: settled as of {shown_time(numbers['settled_as_of_at'])}{seen}"))
        if record["remark"]:
            shown.append(("remark", record["remark"]))
    if record["next_state"]:
        shown.append(("next look", f"makes it {record['next_state'].upper()}"))
    if record["is_holding"]:
        holds = [f"{h['subject'].replace('#', ' ', 1)}: {h['text']}" for h in record["holds"]]
        shown.append(("holds", "; ".join(holds) or "nothing in Slurm"))
        shown.append(("release", record["released_when"]))
    verb = "stops" if record["is_holding"] else "would stop"
    shown.append(("others", f"a hold {verb} {_listed(record['stops_others'])} within their budgets"))
    if record["kept_open"]:
        shown.append(("left open", f"{_listed(record['kept_open'])}, by exemptions"))
    shown.append(("ways around", record["bypasses"]))
    if record["problem"]:
        shown.append(("can't be held", record["problem"]))
    if record["mode"] != "apply":
        shown.append(("mode", f"{record['mode']}: nothing is held for it"))
    return shown


def _verdict_if_needed(name: str, look: Look, world: World) -> Mapping[str, Any] | None:
    """The latest verdict of a budget whose numbers can't be computed now; one call each."""
    standing = look.standings[name]
    return world.verdicts.latest(standing.situation.subject) if standing.facts is None else None


def _text(
    rows: Sequence[Mapping[str, Any]], looks: Sequence[Look], unusable: Sequence[Mapping[str, Any]]
) -> str:
    is_one = len({r["cluster"] for r in rows}) < 2
    headers = (
        "BUDGET",
        "PERIOD",
        "LIMIT",
        "SETTLED",
        "IN FLIGHT",
        "COMMITTED",
        "STATE",
        "HOLD",
        "AGE",
        "RELEASE",
    )
    cells = [_cells(r, is_one=is_one) for r in rows]
    parts = [table(headers, cells) if cells else "No budget is in force."]
    notes = [f"{r['budget']}: {r['remark']}" for r in rows if r["remark"]]
    notes += [
        f"{r['budget']}: the numbers are those of the latest verdict, {shown_time(r['decided_at'])}"
        for r in rows
        if r["numbers"] and r["numbers"]["source"] == "verdict"
    ]
    notes += [
        f"{r['budget']}: the next look makes it {r['next_state'].upper()}" for r in rows if r["next_state"]
    ]
    notes += [
        f"{r['budget']}: can't be held: {r['problem']}" for r in rows if r["is_holding"] and r["problem"]
    ]
    notes += [f"{u['budget']}: its definition in force can't be read: {u['error']}" for u in unusable]
    notes += [look.paused_text for look in looks if look.paused is not None]
    notes += [f"Slurm on {look.cluster}: {look.since}" for look in looks]
    return "\n".join([*parts, "", *map(clean, notes)])


def _cells(row: Mapping[str, Any], *, is_one: bool) -> list[object]:
    numbers, period = row["numbers"] or {}, row["period"]
    age = numbers.get("age_seconds")
    dates = f"to {period['end_at'][5:10]}" if period else None
    release_at = row["next_release_at"]
    return [
        row["budget"] if is_one else f"{row['cluster']}/{row['budget']}",
        dates,
        f"{_whole(numbers.get('limit'))} {numbers.get('currency')}" if numbers else None,
        *(_whole(numbers.get(name)) for name in ("settled", "in_flight", "committed")),
        row["state"],
        _hold(row),
        None if age is None else shown_age(timedelta(seconds=age)),
        f"{shown_time(release_at)[5:16]}Z" if release_at else "by hand" if row["is_holding"] else None,
    ]


def _hold(row: Mapping[str, Any]) -> str | None:
    """The worst of its holds."""
    if not row["is_holding"]:
        return None
    found: set[str] = {h["status"] for h in row["holds"]}
    if not found:
        return "dry run" if row["mode"] != "apply" else "nowhere"
    worst = next((reason for reason in sorted(found) if reason not in _HOLDS), None)
    if worst is not None:
        return worst.replace("_", " ")
    return _HOLDS[next(reason for reason in _WORST_FIRST if reason in found)]


def _whole(amount: str | None) -> str | None:
    return whole(Decimal(amount)) if amount is not None else None


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(names[:12]) + more if names else "no account"
