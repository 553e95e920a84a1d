"""What `proctor status` says about agents and budgets: who is silent or disputed, and which budgets and holds need a person.

Verdicts say where each budget and each hold stood at its last change. A verdict outlives its budget, so the definitions
of those that are named are read again: one call per ten.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from budget_holds.definition import BudgetDefinition
from budget_holds.policy import Rule
from proctor.adapters.parameters import read_parameters
from proctor.domain.agents import AgentState
from proctor.domain.errors import InvalidInputError
from proctor.domain.policy import policy_parameter
from proctor.domain.slurm_state import FRESH_FOR
from proctor.wire.policy import policy_parser
from proctor_cli.agents import agent_rows
from proctor_cli.console import shown_age
from proctor_cli.governed import BUDGET_HOLDS
from proctor_cli.world import World

_NEEDS_PERSON = frozenset({"needs_human", "unreadable", "no_such_budget", "clock_back"})
_NOT_HOLDING = frozenset(
    {
        "cannot_bind",
        "refused",
        "failed",
        "left_alone",
        "undone_by_person",
        "agent_dry_run",
        "not_confirmed",
        "obstructed",
    }
)
_NAMED_AT_MOST = 10
_PARSE = policy_parser(BudgetDefinition)


def read_agents(world: World) -> dict[str, Any]:
    """The newest agent of each cluster's controller, and agents whose key is disputed or waits.

    `note` says why enrolled agents were not read; disputes are unknown then.
    """
    rows, note = agent_rows(world.stack.clusters, world, only_controllers=True)
    present = [row for row in rows if row["state"] != AgentState.GONE.value]
    controllers = [
        min(mine, key=lambda row: row["age_seconds"])
        for cluster in world.stack.clusters
        if (mine := [r for r in present if r["cluster"] == cluster and r["role"] == "controller"])
    ]
    unclear = (AgentState.DISPUTED.value, AgentState.WAITING.value)
    return {
        "count": len(present),
        "controllers": [_agent(row) for row in controllers],
        "disputed": [_agent(row) for row in present if row["state"] in unclear],
        "note": note,
    }


def _agent(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("cluster", "instance_id", "node", "state", "age_seconds")}


def agents_attention(agents: Mapping[str, Any], governed: Iterable[str]) -> list[str]:
    """Lines about agents. `governed` are the clusters with budgets, which can't be held without an agent."""
    found = []
    heard = {row["cluster"]: row for row in agents["controllers"]}
    for cluster in sorted({*governed, *heard}):
        row = heard.get(cluster)
        if row is None:
            found.append(f"{cluster}: no agent on the controller reports, so Slurm is unknown: docs/agent.md")
        elif row["age_seconds"] > FRESH_FOR.total_seconds():
            age = shown_age(timedelta(seconds=row["age_seconds"]))
            found.append(
                f"{cluster}: the controller's agent ({row['node'] or row['instance_id']}) is silent for {age}, so Slurm is "
                "unknown; on the controller: systemctl status proctor-agent"
            )
    lines = [
        f"{row['cluster']}: {_dispute(row['state'])} {row['node']} ({row['instance_id']}); compare the fingerprints in the "
        "operators' message, then: proctor approve --agent"
        for row in agents["disputed"]
    ]
    return [*found, *_some(lines, "agents whose key is in doubt: proctor agents --problems")]


def _dispute(state: str) -> str:
    return "two keys claim to be" if state == AgentState.DISPUTED.value else "a key waits for approval as"


@dataclass(frozen=True, slots=True)
class _Definition:
    """The newest version of a budget's definition; `error` None when it can be used."""

    version: int
    error: str | None


def read_budgets(rows: Sequence[Mapping[str, Any]], world: World) -> dict[str, Any]:
    """Budgets and holds that need a person, from the latest verdicts. One call per ten budgets named."""
    judged = {_cluster_and_rest(row): row for row in rows if _kind(row) == "budget"}
    doubted = {key: row for key, row in judged.items() if row["reason"] in _NEEDS_PERSON}
    nowhere = {key: row for key, row in judged.items() if _is_held_nowhere(row)}
    suspects = {key for row in rows for key in _refused(row)}
    clusters = set(world.stack.clusters)
    keys = sorted(key for key in {*doubted, *nowhere, *suspects} if key[0] in clusters)
    known = _definitions(keys, world)
    holds = [r for r in rows if r.get("rule") == Rule.HOLD.value and r["reason"] in _NOT_HOLDING]
    return {
        "needs_person": [_budget(key, doubted[key]) for key in sorted(doubted) if key in known],
        "held_nowhere": [_budget(key, nowhere[key]) for key in sorted(nowhere) if key in known],
        "refused": [
            {"cluster": key[0], "budget": key[1], "version": found.version, "error": found.error}
            for key, found in known.items()
            if found.error is not None
        ],
        "not_holding": [
            {"subject": r["subject"], "reason": r["reason"], "text": r["text"]}
            for r in sorted(holds, key=lambda r: str(r["subject"]))
        ],
    }


def budgets_attention(budgets: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Lines about budgets and holds."""
    refused = [
        f"{r['cluster']}: version {r['version']} of the definition of budget {r['budget']} is refused: {r['error']}"
        for r in budgets["refused"]
    ]
    doubted = [
        f"{r['cluster']}: budget {r['budget']} {_doubt(r['reason'])}; look at: proctor budgets show {r['budget']}"
        for r in budgets["needs_person"]
    ]
    nowhere = [
        f"{r['cluster']}: budget {r['budget']} should hold and has nowhere to; look at: proctor budgets show {r['budget']}"
        for r in budgets["held_nowhere"]
    ]
    holds = [
        f"{_place(r['subject'])} is not held as it should be ({r['reason'].replace('_', ' ')}): {r['text']}"
        for r in budgets["not_holding"]
    ]
    return [
        *_some(refused, "refused definitions: proctor budgets"),
        *_some(doubted, "such budgets: proctor budgets"),
        *_some(nowhere, "such budgets: proctor budgets"),
        *_some(holds, "such holds: proctor budgets"),
    ]


def _some(lines: Sequence[str], what: str) -> list[str]:
    more = len(lines) - _NAMED_AT_MOST
    return [*lines[:_NAMED_AT_MOST], *([f"and {more:,} more {what}"] if more > 0 else [])]


def _doubt(reason: str) -> str:
    if reason == "needs_human":
        return "needs a person (NEEDS_HUMAN): its numbers are in doubt"
    return f"keeps its state, since its numbers can't be used ({reason.replace('_', ' ')})"


def _place(subject: object) -> str:
    kind, _, rest = str(subject).partition("#")
    cluster, _, name = rest.partition("#")
    return f"{cluster}: {kind} {name}"


def _kind(row: Mapping[str, Any]) -> str:
    return str(row["subject"]).partition("#")[0]


def _cluster_and_rest(row: Mapping[str, Any]) -> tuple[str, str]:
    cluster, _, rest = str(row["subject"]).partition("#")[2].partition("#")
    return cluster, rest


def _is_held_nowhere(row: Mapping[str, Any]) -> bool:
    return row["reason"] == "held" and "Not held: " in str(row.get("text"))


def _refused(row: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """The budget whose definition this verdict found unusable, if it did."""
    cluster, rest = _cluster_and_rest(row)
    if row["reason"] == "policy_refused" and rest.startswith(f"{BUDGET_HOLDS}#"):
        yield cluster, rest.partition("#")[2]
    if row["reason"] == "definition_unusable":
        yield cluster, rest.rpartition("#")[0]


def _budget(key: tuple[str, str], row: Mapping[str, Any]) -> dict[str, Any]:
    return {"cluster": key[0], "budget": key[1], "reason": row["reason"], "text": row.get("text")}


def _definitions(keys: Sequence[tuple[str, str]], world: World) -> dict[tuple[str, str], _Definition]:
    """Those that still exist, in their newest version."""
    names = {
        f"{policy_parameter(cluster, BUDGET_HOLDS)}/{budget}": (cluster, budget) for cluster, budget in keys
    }
    found = {}
    for name, (version, text) in read_parameters(world.clients, list(names)).items():
        try:
            _PARSE(text)
        except InvalidInputError as error:
            found[names[name]] = _Definition(version, str(error))
        else:
            found[names[name]] = _Definition(version, None)
    return found
