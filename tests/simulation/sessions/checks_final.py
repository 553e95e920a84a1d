"""Checks when all has settled: caps hold, what must end has ended, every decision can be made again, the audit explains it.

Invariants 1 (after quiescence), 8 (the sweep alone comes to the same), 9 (whatever the clocks did), 10 (reproducible).
"""

import json
import pickle
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import session_limits.decide as product
from proctor.domain.actions import NotifyPerson
from tests.simulation.core.queueing import Delivery
from tests.simulation.core.violation import ViolationError
from tests.simulation.sessions import oracle
from tests.simulation.sessions.people import Human
from tests.simulation.sessions.scenario import Scenario
from tests.simulation.sessions.service import TrueSession

if TYPE_CHECKING:
    from tests.simulation.sessions.university import University

_INCIDENT_PART = 900.0
"""Seconds for which one message speaks."""

_REPLAYED = 4
"""Every fourth decision is made again, every other one of these after a trip through bytes: a third of a run's time else."""


def check_settled(world: "University") -> None:
    """Everything that must hold in the end."""
    _same_again(world)
    _audit_explains(world)
    if world.scenario.is_dry_run or world.scenario.small_budget or world.refused_in_quiet:
        return
    policies = world.policies()
    if any(policy.get("mode") != "apply" for policy in policies.values()):
        return
    for session in world.service.ours():
        why = oracle.must_end(session, policies) if session.is_counted else None
        if why is not None:
            text = f"{session.session_id} of {session.human.nick} is still there ({why})"
            raise ViolationError(_name(world, "1 end"), text, [session.session_id, session.human.nick])
    for human in world.humans:
        if human.login_name is not None and not human.is_protected and not human.is_break_glass:
            _cap_holds(world, human, policies)
    if not world.scenario.clock_steps:
        _ends_were_told(world)


def final_state(world: "University") -> dict[str, set[str]]:
    """Holder → sessions that live on."""
    found: dict[str, set[str]] = {}
    for session in world.service.ours():
        if session.is_counted:
            found.setdefault(session.holder, set()).add(session.session_id)
    return found


def sweep_only(scenario: Scenario) -> Scenario:
    """The same day with every event lost."""
    return replace(scenario, delivery=Delivery(loss=1.0, environments=scenario.delivery.environments))


def check_same_end(world: "University", other: "University") -> None:
    """Invariant 8: with events or without, and by the oracle, the same sessions live on."""
    left, alone = final_state(world), final_state(other)
    moot = {human.login_name for human in world.humans if _is_moot(world, human)}
    for holder in sorted((left.keys() | alone.keys()) - moot):
        if left.get(holder) != alone.get(holder):
            text = f"{holder} keeps {left.get(holder)} with events and {alone.get(holder)} by the sweep alone"
            raise ViolationError("8 sweep", text, [*left.get(holder, ()), *alone.get(holder, ())])


def check_survivors(world: "University") -> None:
    """In a still world the survivors can be worked out beforehand."""
    policies, now = world.policies(), world.wall()
    for human in world.humans:
        if human.login_name is None or human.is_protected or human.is_break_glass or _is_moot(world, human):
            continue
        ever = [s for s in _mine(world, human) if not s.is_break_glass]
        left = {s.session_id for s in ever if s.is_counted}
        expected = oracle.survivors(human, ever, policies, now)
        if left != expected:
            text = f"{human.nick} keeps {sorted(left)}, by the rules {sorted(expected)}"
            raise ViolationError("8 survivors", text, [human.nick, *(left ^ expected)])


def _ends_were_told(world: "University") -> None:
    """Whoever lost a session was told, in the quarter of an hour before (the same incident) or at any time after."""
    told: dict[str, list[float]] = {}
    for acts in world.witness.acts.values():
        for act in acts:
            if isinstance(act.verdict.action, NotifyPerson):
                told.setdefault(act.verdict.action.login_name, []).append(act.at)
    for session in world.service.ours():
        human, at = session.human, session.killed_at
        is_reachable = human.has_address and session.holder == human.login_name
        if (
            at is None
            or not is_reachable
            or any(mail > at - _INCIDENT_PART for mail in told.get(session.holder, ()))
        ):
            continue
        text = f"{human.nick} was never told of the end of {session.session_id}"
        raise ViolationError("told", text, [human.nick, session.session_id])


def _is_moot(world: "University", human: Human) -> bool:
    """An exemption that a clock ends and begins again leaves its mark on who is there when."""
    return human.exempt is not None and bool(world.scenario.clock_steps)


def _mine(world: "University", human: Human) -> list[TrueSession]:
    return [s for s in world.service.ours() if s.human is human and s.holder == human.login_name]


def _cap_holds(world: "University", human: Human, policies: oracle.Policies) -> None:
    now = world.wall()
    mine = [s for s in _mine(world, human) if s.is_counted and not s.is_break_glass]
    caps = [(c, oracle.cap_in(human, p, now)) for c, p in policies.items()]
    caps.append(("", oracle.cap_over_all(human, policies, now)[0]))
    for cluster, cap in caps:
        here = [s for s in mine if cluster in ("", s.cluster)]
        used = sum(oracle.weight(s, policies) for s in here)
        if cap is not None and used > cap:
            names = [s.session_id for s in here]
            text = (
                f"{human.nick} has {used} sessions on {cluster or 'all clusters'}, {cap} are allowed: {names}"
            )
            raise ViolationError(_name(world, "1 cap in the end"), text, [human.nick, *names])


def _name(world: "University", usual: str) -> str:
    """A breach that outlasts a clock set back is invariant 9."""
    return "9 time" if any(step < 0 for _, step in world.scenario.clock_steps) else usual


def _same_again(world: "University") -> None:
    """Invariant 10: the snapshot alone makes the decision, also after a trip through bytes."""
    for number, (snapshot, decision) in list(enumerate(world.witness.decisions))[::_REPLAYED]:
        again = pickle.loads(pickle.dumps(snapshot)) if number % (2 * _REPLAYED) else snapshot  # noqa: S301 - our own bytes
        if product.decide(again) != decision:
            raise ViolationError(
                "10 replay", f"decision {number} comes out differently from the same snapshot"
            )


def _audit_explains(world: "University") -> None:
    """Invariant 10: a claim's record alone says who was counted under which cap, and makes the same choice again."""
    for row in _audits(world):
        if row["reason"] == "over_cap" and row["action"].get("action") == "TerminateSession":
            inputs, action = row["inputs"], row["action"]
            missing = {"holder", "cap", "victim_order", "counted"} - inputs.keys()
            if missing:
                text = f"the record of {row['subject']} lacks {', '.join(sorted(missing))}"
                raise ViolationError("10 audit", text, [action["session_id"]])
            if inputs["cap"] != action["cap"] or action["session_id"] not in _chosen_again(inputs):
                text = f"the record of {row['subject']} leads to another choice"
                raise ViolationError("10 audit", text, [action["session_id"]])


def _chosen_again(inputs: Mapping[str, Any]) -> set[str]:
    sign = -1.0 if inputs["victim_order"] == "newest" else 1.0
    ranked = sorted(
        inputs["counted"],
        key=lambda c: (sign * datetime.fromisoformat(c["started_at"]).timestamp(), c["session_id"]),
    )
    excess, chosen = sum(c["weight"] for c in ranked) - inputs["cap"], set()
    for counted in ranked:
        if excess > 0 and counted["weight"]:
            chosen.add(counted["session_id"])
            excess -= counted["weight"]
    return chosen


def _audits(world: "University") -> list[dict[str, Any]]:
    if world.scenario.stores == "fakes":
        return [
            {
                "subject": a.verdict.subject,
                "reason": a.verdict.reason,
                "action": json.loads(json.dumps(a.verdict.action.as_record() if a.verdict.action else {})),
                "inputs": a.verdict.inputs,
            }
            for a in world.site.fakes.claims.audits.values()
        ]
    return [_audit_row(item) for item in world.tables.items["claims"].values()]


def _audit_row(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "subject": item["claim"]["S"].split("#")[2],
        "reason": item["reason"]["S"],
        "action": json.loads(item["action"]["S"]) or {},
        "inputs": json.loads(item["inputs"]["S"]),
    }
