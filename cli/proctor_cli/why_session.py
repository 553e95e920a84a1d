"""`proctor why session`: the latest verdict on one session, what it was based on, and how it came to be."""

import argparse
import json
from collections.abc import Mapping
from typing import Any

from proctor.domain.claims import ClaimKey
from proctor.domain.errors import NotFoundError
from proctor_cli.console import fields, shown_time, table
from proctor_cli.exits import Exit
from proctor_cli.governed import SESSION_LIMITS
from proctor_cli.world import World

OUTCOMES = {
    "none": "nothing was to be done",
    "applied": "done, and confirmed by reading back",
    "unconfirmed": "asked for, not confirmed by reading back; it is tried again",
    "failed": "could not be done",
    "withheld": "not done: a guard, a pause or a newer look at the truth forbade it",
    "dry_run": "would be done, but the mode is dry_run",
    "already_applied": "was done before",
    "contended": "another evaluator was at it",
}
"""What each outcome means, for people."""


def run(args: argparse.Namespace, world: World) -> Exit:
    """Print verdict, claim and history. Raises NotFoundError when no verdict is stored."""
    history = world.verdicts.history(f"session#{args.session_id}")
    latest = next((row for row in history if row["at"] == "latest"), None)
    if latest is None:
        raise NotFoundError(
            f"session_id: no verdict on {args.session_id!r}; it was never seen, belongs to no governed cluster, "
            "or ended more than 90 days ago"
        )
    claim = world.claims.row(_claim_key(args.session_id, latest)) if latest.get("action") else None
    data = {
        "verdict": as_data(latest),
        "claim": claim,
        "history": [as_data(row) for row in history if row is not latest],
    }
    world.console.answer(data, _text(data, world))
    return Exit.OK


def as_data(row: Mapping[str, Any]) -> dict[str, Any]:
    """A stored verdict for programs: inputs as an object, nothing of the table's own."""
    kept = {name: row.get(name) for name in row if name not in ("at", "digest", "expires_at", "inputs")}
    return {**kept, "inputs": inputs_of(row)}


def inputs_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The facts behind a verdict."""
    try:
        found = json.loads(row.get("inputs") or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _claim_key(session_id: str, row: Mapping[str, Any]) -> ClaimKey:
    return ClaimKey(SESSION_LIMITS, f"session#{session_id}", str(row["rule"]), session_id, "end")


def _text(data: Mapping[str, Any], world: World) -> str:
    heading, verdict = world.console.heading, data["verdict"]
    outcome = str(verdict["outcome"])
    parts = [
        heading(f"Session {verdict['subject'].removeprefix('session#')}"),
        fields(
            [
                ("verdict", verdict["text"]),
                ("reason", verdict["reason"]),
                ("rule", f"{verdict['rule']} of {verdict['function']}"),
                ("action", verdict.get("action") or "none"),
                ("outcome", f"{outcome}: {OUTCOMES.get(outcome, 'unknown to this version')}"),
                ("detail", verdict.get("detail")),
                ("cluster", verdict.get("cluster")),
                ("policy version", verdict.get("policy_version")),
                ("decided at", shown_time(verdict["decided_at"])),
                ("woken by", verdict.get("trigger")),
                ("asked by", verdict.get("actor")),
            ]
        ),
        "",
        heading("What it was based on"),
        fields(sorted(verdict["inputs"].items())) or "nothing was recorded",
    ]
    if claim := data["claim"]:
        parts += ["", heading("The act"), _claim_text(claim)]
    parts += ["", heading("Before"), history_text(data["history"])]
    return "\n".join(parts)


def _claim_text(claim: Mapping[str, Any]) -> str:
    return fields(
        [
            ("state", claim["state"]),
            ("attempts", claim["attempts"]),
            ("changed at", shown_time(claim["changed_at"])),
            ("asked by", claim.get("actor")),
            ("justification", claim.get("justification")),
            ("detail", claim.get("detail")),
        ]
    )


def history_text(rows: list[dict[str, Any]]) -> str:
    """Superseded verdicts, newest first."""
    if not rows:
        return "no other verdict"
    cells = [
        (shown_time(r["decided_at"]), r["outcome"], r["reason"], r.get("policy_version"), r.get("trigger"))
        for r in rows
    ]
    return table(("DECIDED AT", "OUTCOME", "REASON", "POLICY", "WOKEN BY"), cells)
