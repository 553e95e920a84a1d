"""Snapshots for decide, as plain values: one cluster, its policy by JSON fields, and one holder's situation."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from proctor.domain.decision import Decision, Mode, Verdict
from proctor.domain.exemptions import Exemption
from proctor.domain.identity import Person
from proctor.domain.ledger import LedgerEntry, PersonLedger, SeenBy
from proctor.domain.policy import PolicyInForce
from proctor.domain.sessions import Node, Session
from proctor.wire.policy import policy_parser
from session_limits.decide import decide
from session_limits.policy import SessionLimitsPolicy
from session_limits.snapshot import Located, Path, Situation, Snapshot
from tests.fakes import values

_PARSE = policy_parser(SessionLimitsPolicy)


def policy(
    version: int = 7, cluster: str = values.CLUSTER, **fields: Any
) -> PolicyInForce[SessionLimitsPolicy]:
    """A policy in force, in mode apply unless the fields say otherwise."""
    return PolicyInForce(cluster, version, _PARSE(json.dumps({"mode": "apply", **fields})))


def located(session: Session, cluster: str = values.CLUSTER) -> Located:
    """A session on a node of a governed cluster; the node group is the target's."""
    target = session.target
    group, instance_id = (target.instance_group, target.instance_id) if target else (None, values.NODE)
    return Located(session, Node(cluster, group, instance_id))


def sessions_of(login_name: str, count: int, **fields: Any) -> list[Session]:
    """Sessions a, b, c, … of a person, each started a minute after the one before."""
    return [
        values.session(
            f"{login_name}@uni.example-{chr(97 + n)}",
            **{"started_at": values.NOW - timedelta(minutes=60 - n), **fields},
        )
        for n in range(count)
    ]


def entry(session: Session | None = None, cluster: str = values.CLUSTER, **fields: Any) -> LedgerEntry:
    """A ledger entry that an event made an hour ago."""
    known: dict[str, Any] = {"seen_by": SeenBy.EVENT, "seen_at": values.NOW - timedelta(hours=1), **fields}
    return LedgerEntry(cluster=cluster, **known)


def ledger_of(sessions: Iterable[Session], holder: str = "ada", rev: int = 3, **fields: Any) -> PersonLedger:
    """A ledger that knows these sessions by their events."""
    entries = {s.session_id: entry(s) for s in sessions}
    return replace(PersonLedger(holder=holder, rev=rev, entries=entries), **fields)


def situation(
    someone: Person | None,
    sessions: Iterable[Session | Located],
    ledger: PersonLedger | None = None,
    *,
    is_complete: bool = True,
) -> Situation:
    """What a holder has; the ledger knows all of it by events unless given."""
    found = tuple(s if isinstance(s, Located) else located(s) for s in sessions)
    holder = someone.login_name if someone else f"owner:{found[0].session.owner_arn}"
    known = ledger or ledger_of([item.session for item in found], holder)
    return Situation(holder=holder, person=someone, sessions=found, ledger=known, is_complete=is_complete)


def snapshot(
    *situations: Situation,
    policies: Iterable[PolicyInForce[SessionLimitsPolicy]] | None = None,
    path: Path = Path.SWEEP,
    bound: Mode = Mode.APPLY,
    now: datetime = values.NOW,
    exemptions: Iterable[Exemption] = (),
    first_sweeps: Mapping[str, datetime] | None = None,
    **fields: Any,
) -> Snapshot:
    """One evaluation's knowledge; the first sweep was a day ago."""
    in_force = {p.cluster: p for p in (policies if policies is not None else [policy()])}
    return Snapshot(
        now=now,
        token="token-1",
        path=path,
        bound=bound,
        policies=in_force,
        exemptions=tuple(exemptions),
        situations=situations,
        first_sweeps=first_sweeps
        if first_sweeps is not None
        else dict.fromkeys(in_force, values.NOW - timedelta(days=1)),
        **fields,
    )


def by_subject(decision: Decision) -> dict[str, Verdict]:
    """Verdicts by subject."""
    return {v.subject: v for v in decision.verdicts}


def session_verdicts(taken: Snapshot) -> dict[str, Verdict]:
    """Verdicts about sessions by session id, of deciding a snapshot."""
    found = by_subject(decide(taken))
    return {k.removeprefix("session#"): v for k, v in found.items() if k.startswith("session#")}


def reasons(taken: Snapshot) -> dict[str, str]:
    """Session id's last part → reason."""
    return {sid.rpartition("-")[2]: v.reason for sid, v in session_verdicts(taken).items()}


def ended(taken: Snapshot) -> set[str]:
    """Last parts of the ids of sessions whose end is decided, in whatever mode."""
    return {sid.rpartition("-")[2] for sid, v in session_verdicts(taken).items() if v.action is not None}
