"""`proctor why person`: what Proctor believes about one person, which cap binds and why, and what was ended lately."""

import argparse
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from proctor.adapters.people_table import record_of
from proctor.domain.errors import NotFoundError
from proctor.domain.exemptions import Exemption
from proctor.domain.identity import Person
from proctor.domain.ledger import PersonLedger
from proctor_cli.console import fields, shown_time, table
from proctor_cli.exits import Exit
from proctor_cli.governed import SESSION_LIMITS
from proctor_cli.people_commands import person_fields
from proctor_cli.why_session import as_data
from proctor_cli.world import World
from session_limits.caps import Policies, cap_in_cluster, cap_over_all

ENDS_SHOWN = 10
_SSH = "Counted are Session Manager sessions. SSH logins are not seen until agents report."


def run(args: argparse.Namespace, world: World) -> Exit:
    """Print everything about a login name, or about `owner:<arn>`. Raises NotFoundError when nothing is known."""
    holder, now = args.holder, world.clock()
    person = None if holder.startswith("owner:") else world.people.by_login_name(holder)
    ledger = world.ledger.get(holder)
    read = world.verdicts.latest_rows(holder)
    if person is None and ledger.rev == 0 and not read.rows:
        raise NotFoundError(f"person: {holder!r} is in neither the people directory nor the ledger")
    exemptions = [e for e in world.exemptions.for_function(SESSION_LIMITS) if e.login_name == holder]
    by_session = {str(row["subject"]).removeprefix("session#"): as_data(row) for row in read.rows}
    ends = [v for v in by_session.values() if v.get("action") == "TerminateSession"]
    data = {
        "holder": holder,
        "person": record_of(person) if person else None,
        "caps": _caps(person, ledger, world.policies.in_force(), exemptions, now) if person else [],
        "sessions": _sessions(ledger, by_session, now),
        "exemptions": [_exemption(e, now) for e in exemptions],
        "ends": ends[:ENDS_SHOWN],
        "evicted_at": [at.isoformat() for at in ledger.evicted_at],
        "reconnect_bursts_at": [at.isoformat() for at in ledger.burst_at],
        "incident_at": ledger.incident_at,
        "is_partial": read.is_partial,
    }
    world.console.answer(data, _text(data, person, world))
    return Exit.OK


def _caps(
    person: Person,
    ledger: PersonLedger,
    policies: Policies,
    exemptions: Sequence[Exemption],
    now: datetime,
) -> list[dict[str, Any]]:
    found = []
    for cluster, in_force in sorted(policies.items()):
        cap = cap_in_cluster(person, cluster, in_force.policy, exemptions, now)
        found.append(_cap(cluster, ledger.weight_in(cluster, now), cap.max_sessions, cap.source))
    over_all = cap_over_all(person, policies, exemptions, now)
    found.append(_cap("all clusters", ledger.weight_in(None, now), over_all.max_sessions, over_all.source))
    return found


def _cap(scope: str, used: int, cap: int | None, source: str) -> dict[str, Any]:
    return {"scope": scope, "in_use": used, "cap": cap, "source": source}


def _sessions(
    ledger: PersonLedger, verdicts: Mapping[str, dict[str, Any]], now: datetime
) -> list[dict[str, Any]]:
    return [
        {
            "session_id": sid,
            "cluster": entry.cluster,
            "weight": entry.weight,
            "seen_at": entry.seen_at.isoformat(),
            "seen_by": entry.seen_by.value,
            "is_being_ended": entry.has_intent(now),
            "verdict": verdicts.get(sid),
        }
        for sid, entry in sorted(ledger.entries.items(), key=lambda item: (item[1].seen_at, item[0]))
    ]


def _exemption(exemption: Exemption, now: datetime) -> dict[str, Any]:
    return {
        "cluster": exemption.cluster,
        "max_sessions": exemption.max_sessions,
        "ends_at": exemption.ends_at.isoformat(),
        "is_over": now >= exemption.ends_at,
        "granted_by": exemption.granted_by,
        "justification": exemption.justification,
    }


def _text(data: Mapping[str, Any], person: Person | None, world: World) -> str:
    heading = world.console.heading
    who = fields(person_fields(person)) if person else "not in the people directory: no cap is counted"
    parts = [heading(f"Person {data['holder']}"), who]
    for title, text in (
        ("Caps", _caps_text(data["caps"])),
        ("Sessions in the ledger", _sessions_text(data["sessions"])),
        ("Exemptions", _exemptions_text(data["exemptions"])),
        ("Latest ends", _ends_text(data["ends"])),
    ):
        parts += ["", heading(title), text]
    if data["is_partial"]:
        parts.append("More may have been ended: only a part of the verdicts was read.")
    if data["reconnect_bursts_at"]:
        parts.append(f"Reconnect bursts in the last day: {len(data['reconnect_bursts_at'])}")
    return "\n".join([*parts, "", _SSH])


def _caps_text(rows: Sequence[Mapping[str, Any]]) -> str:
    cells = [(r["scope"], r["in_use"], "no cap" if r["cap"] is None else r["cap"], r["source"]) for r in rows]
    return table(("WHERE", "IN USE", "CAP", "SOURCE"), cells) if cells else "none"


def _sessions_text(rows: Sequence[Mapping[str, Any]]) -> str:
    cells = [
        (
            r["session_id"],
            r["cluster"],
            r["weight"],
            shown_time(r["seen_at"]),
            "being ended" if r["is_being_ended"] else (r["verdict"] or {}).get("reason"),
            (r["verdict"] or {}).get("outcome"),
        )
        for r in rows
    ]
    return (
        table(("SESSION", "CLUSTER", "WEIGHT", "SEEN AT", "VERDICT", "OUTCOME"), cells) if cells else "none"
    )


def _exemptions_text(rows: Sequence[Mapping[str, Any]]) -> str:
    cells = [
        (
            r["cluster"] or "all clusters",
            "no cap" if r["max_sessions"] is None else r["max_sessions"],
            shown_time(r["ends_at"]) + (" (over)" if r["is_over"] else ""),
            r["granted_by"].rpartition("/")[2],
            r["justification"],
        )
        for r in rows
    ]
    return table(("WHERE", "CAP", "ENDS AT", "GRANTED BY", "JUSTIFICATION"), cells) if cells else "none"


def _ends_text(rows: Sequence[Mapping[str, Any]]) -> str:
    cells = [
        (
            shown_time(r["decided_at"]),
            str(r["subject"]).removeprefix("session#"),
            r["outcome"],
            r["rule"],
            r["text"],
        )
        for r in rows
    ]
    return table(("DECIDED AT", "SESSION", "OUTCOME", "RULE", "WHY"), cells) if cells else "none"
