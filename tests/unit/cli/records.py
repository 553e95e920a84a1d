"""Verdicts, claims and ledgers as the function itself would store them."""

from datetime import datetime, timedelta
from typing import Any

from proctor.adapters.claims_table import DynamoClaims
from proctor.adapters.memory_table import DynamoCounters, DynamoSessionLedger
from proctor.adapters.verdicts_table import DynamoVerdicts
from proctor.domain.actions import TerminateSession
from proctor.domain.claims import Claim, ClaimKey, ClaimState
from proctor.domain.decision import Mode, Outcome, OutcomeStatus, RunContext, Verdict
from proctor.domain.ledger import LedgerEntry, SeenBy
from tests.unit.cli.desk import CLUSTER, NOW, Desk


def context(at: datetime = NOW, trigger: str = "StartSession", actor: str = "proctor") -> RunContext:
    return RunContext(
        function="session_limits",
        now=at,
        token="t",
        trigger=trigger,
        actor=actor,
        justification="" if actor == "proctor" else "ticket 4711",
    )


def verdict(session_id: str, holder: str, reason: str, **more: Any) -> Verdict:
    subject = f"session#{session_id}"
    ends = reason in {"over_cap", "requested"}
    action = TerminateSession(subject=subject, session_id=session_id, holder=holder) if ends else None
    return Verdict(
        subject=subject,
        cluster=CLUSTER,
        rule="manual" if reason == "requested" else "cap",
        reason=reason,
        text=more.pop("text", reason.replace("_", " ")),
        mode=Mode.APPLY,
        policy_version=3,
        inputs={"holder": holder, "document": "SSM-SessionManagerRunShell", "ledger_rev": 2, **more},
        action=action,
        episode=session_id,
        step="end",
    )


def record(
    desk: Desk, made: Verdict, status: OutcomeStatus, run: RunContext | None = None, detail: str = ""
) -> None:
    DynamoVerdicts(desk.clients, "verdicts").record(Outcome(made, status, detail), run or context())


def claim(desk: Desk, made: Verdict, run: RunContext, state: ClaimState, detail: str = "") -> None:
    claims = DynamoClaims(desk.clients, "claims")
    key = ClaimKey("session_limits", made.subject, made.rule, made.episode, made.step)
    held = Claim(key, ClaimState.CLAIMED, "t", run.now + timedelta(minutes=2), run.now)
    claims.put(held, made, run, replaces=None)
    claims.settle(held, state, detail, run.now)


def start(desk: Desk, holder: str, session_id: str, at: datetime = NOW) -> None:
    ledger = DynamoSessionLedger(desk.clients, "memory", "session_limits#ledger")
    ledger.note_started(holder, session_id, LedgerEntry(cluster=CLUSTER, seen_by=SeenBy.EVENT, seen_at=at))


def first_sweep(desk: Desk, at: datetime) -> None:
    DynamoCounters(desk.clients, "memory").first("session_limits#first_sweep", at)
