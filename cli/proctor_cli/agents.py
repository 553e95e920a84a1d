"""`proctor agents`: every agent with its last report, role, version and problems."""

import argparse
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from proctor.domain.agents import AgentSeen, AgentState
from proctor.domain.errors import DeniedError
from proctor.domain.slurm_state import FRESH_FOR
from proctor_cli.console import clean, cut, shown_age, shown_time, table
from proctor_cli.exits import Exit
from proctor_cli.heartbeats import Beat
from proctor_cli.world import World

_PROBLEMS_AT_MOST = 5
_LETTERS_AT_MOST = 300
_AGENTS_AT_MOST = 50
"""How much of what nodes say is printed for people; a node may say anything."""

_MARKS = {
    AgentState.DISPUTED: "another key claims to be this agent",
    AgentState.WAITING: "its key waits for approval",
}


def run(args: argparse.Namespace, world: World) -> Exit:
    """Print agents that enrolled and agents that report; with --problems only those that have some."""
    clusters = (world.stack.cluster(args.cluster),) if args.cluster else world.stack.clusters
    found, note = agent_rows(clusters, world)
    shown = [row for row in found if row["problems"] or not args.problems]
    world.console.answer(
        {"agents": shown, "count": len(found), "unread": {"agents": note} if note else {}},
        _text(shown, len(found), note, is_filtered=args.problems),
    )
    return Exit.REFUSED if note else Exit.OK


def agent_rows(
    clusters: Sequence[str], world: World, *, only_controllers: bool = False
) -> tuple[list[dict[str, Any]], str | None]:
    """Agents that enrolled or report, controllers first, and why those that enrolled were not read.

    A scan of the agents; of heartbeats two queries a cluster, or with `only_controllers` one, for their rows only.
    """
    enrolled, note = _enrolled(world)
    found: list[dict[str, Any]] = []
    for cluster in clusters:
        read = world.heartbeats.controllers if only_controllers else world.heartbeats.beats
        beats = {beat.instance_id: beat for beat in read(cluster)}
        mine = {agent.instance_id: agent for agent in enrolled if agent.cluster == cluster}
        found += [
            _row(cluster, name, mine.get(name), beats.get(name), world.clock())
            for name in sorted(mine.keys() | beats.keys())
        ]
    found.sort(key=lambda row: (row["cluster"], row["role"] != "controller", row["node"], row["instance_id"]))
    return found, note


def _enrolled(world: World) -> tuple[Sequence[AgentSeen], str | None]:
    """Enrolled agents, without keys. The table is closed to many operators: then heartbeats must do."""
    try:
        return world.agents.all(), None
    except DeniedError as error:
        return (), str(error)


def _row(
    cluster: str, instance_id: str, agent: AgentSeen | None, beat: Beat | None, now: datetime
) -> dict[str, Any]:
    content = beat.content if beat else None
    times = [at for at in (agent and agent.last_seen_at, beat and beat.observed_at) if at]
    last_at = max(times)
    return {
        "cluster": cluster,
        "instance_id": instance_id,
        "node": agent.node if agent else beat.node if beat else "",
        "role": agent.role.value if agent else beat.role if beat else "",
        "state": agent.state.value if agent else None,
        "last_report_at": last_at.isoformat(),
        "age_seconds": int((now - last_at).total_seconds()),
        "version": content.agent_version if content else None,
        "slurm_version": content.slurm_version if content else None,
        "python_version": content.python_version if content else None,
        "is_acting": content.is_acting if content else None,
        "is_dry_run": content.is_dry_run if content else None,
        "slurm_read_at": content.slurm_read_at.isoformat() if content and content.slurm_read_at else None,
        "problems": list(_problems(agent, beat, now - last_at)),
    }


def _problems(agent: AgentSeen | None, beat: Beat | None, silence: timedelta) -> list[str]:
    if agent is not None and agent.state is AgentState.GONE:
        return []
    found = []
    if silence > FRESH_FOR:
        found.append(f"silent for {shown_age(silence)}")
    if agent is not None and agent.state in _MARKS:
        found.append(_MARKS[agent.state])
    if beat is None:
        return [*found, "no heartbeat yet"]
    content = beat.content
    if content is None:
        return [*found, "its heartbeat can't be read by this version"]
    if content.dropped_reports:
        found.append(f"{content.dropped_reports} reports were dropped on the node")
    if content.is_dry_run:
        found.append("in dry-run: it holds nothing")
    return [*found, *content.problems]


def _text(rows: Sequence[Mapping[str, Any]], count: int, note: str | None, *, is_filtered: bool) -> str:
    cells = [
        (
            r["cluster"],
            r["node"] or r["instance_id"],
            f"{r['role']} (acting)" if r["is_acting"] and r["role"] == "controller" else r["role"],
            r["state"],
            shown_age(timedelta(seconds=r["age_seconds"])),
            r["version"],
            "; ".join(r["problems"][:_PROBLEMS_AT_MOST]) or "none",
        )
        for r in rows
    ]
    headers = ("CLUSTER", "NODE", "ROLE", "STATE", "REPORTED", "VERSION", "PROBLEMS")
    if cells:
        parts = [table(headers, cells)]
    elif is_filtered and count:
        parts = [f"None of {count} agents has a problem."]
    else:
        parts = ["No agent has enrolled; install one by docs/agent.md."]
    if details := _details([r for r in rows if r["problems"]]):
        parts += ["", *details]
    if note:
        parts += ["", clean(f"Enrolled agents were not read, only heartbeats are shown: {note}")]
    return "\n".join(parts)


def _details(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each problem on a line, as far as people read; what is left out is counted."""
    found = []
    for row in rows[:_AGENTS_AT_MOST]:
        name = f"{row['node'] or row['instance_id']} ({row['instance_id']})"
        problems = row["problems"]
        found += [
            f"{name}, last report {shown_time(row['last_report_at'])}: {cut(problem, _LETTERS_AT_MOST)}"
            for problem in problems[:_PROBLEMS_AT_MOST]
        ]
        if (more := len(problems) - _PROBLEMS_AT_MOST) > 0:
            found.append(f"{name}: {more:,} more problems; --json has all")
    if (more := len(rows) - _AGENTS_AT_MOST) > 0:
        found.append(f"and {more:,} more agents with problems; --json has all")
    return [clean(line) for line in found]
