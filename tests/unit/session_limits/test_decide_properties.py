"""What holds for any person, any sessions, any ledger and any policy."""

import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from proctor.domain.actions import TerminateSession
from proctor.domain.decision import Decision, Mode
from proctor.domain.ledger import PersonLedger
from proctor.domain.sessions import SessionStatus, Work
from session_limits.caps import weight_of
from session_limits.decide import decide
from session_limits.policy import Rule, VictimOrder
from session_limits.snapshot import Path, Snapshot
from session_limits.victims import surplus
from tests.fakes.snapshots import located, policy, session_verdicts, situation, snapshot
from tests.fakes.values import NOW, person, session
from tests.strategies import ledgers, policy_fields, sessions


@st.composite
def snapshots(draw: st.DrawFn, /, **fixed: Any) -> Snapshot:
    """One person, her sessions on two clusters, a ledger that may be behind, any policy."""
    hers = draw(sessions())
    someone = draw(
        st.builds(
            person,
            run_as=st.sampled_from([None, "root"]),
            is_disabled=st.booleans(),
            is_break_glass=st.booleans(),
        )
        | st.just(person())
    )
    ledger = draw(ledgers([s.session_id for s in hers]))
    policies = [
        policy(**draw(policy_fields)),
        policy(cluster="beta", **draw(policy_fields)),
    ]
    items = [located(s, draw(st.sampled_from(["alpha", "beta"]))) for s in hers]
    known: dict[str, Any] = {
        "path": draw(st.sampled_from(Path)),
        "bound": draw(st.sampled_from(Mode)),
        "policies": policies,
    }
    return snapshot(situation(someone, items, ledger), **{**known, **fixed})


def ends(decision: Decision) -> dict[str, TerminateSession]:
    """Ends that will really be asked for."""
    return {
        v.action.session_id: v.action
        for v in decision.verdicts
        if isinstance(v.action, TerminateSession) and v.mode is Mode.APPLY
    }


@given(snapshots())
def test_the_same_snapshot_gives_the_same_decision(taken: Snapshot) -> None:
    assert decide(taken) == decide(taken)


@given(snapshots(), st.randoms(use_true_random=False))
def test_the_order_of_the_listing_changes_nothing(taken: Snapshot, chance: random.Random) -> None:
    here = taken.situations[0]
    shuffled = list(here.sessions)
    chance.shuffle(shuffled)

    assert decide(replace(taken, situations=(replace(here, sessions=tuple(shuffled)),))) == decide(taken)


@given(snapshots())
def test_every_session_gets_exactly_one_verdict(taken: Snapshot) -> None:
    subjects = [v.subject for v in decide(taken).verdicts]

    assert len(subjects) == len(set(subjects))
    for item in taken.situations[0].sessions:
        assert f"session#{item.session.session_id}" in subjects


@given(snapshots())
def test_nobody_is_ended_who_does_not_count_or_is_being_ended_or_has_break_glass(taken: Snapshot) -> None:
    here = taken.situations[0]
    for session_id in ends(decide(taken)):
        item = next(i for i in here.sessions if i.session.session_id == session_id)
        entry = here.ledger.entries.get(session_id)
        assert item.session.is_counted
        assert entry is None or not entry.has_intent(taken.now)
        assert here.person is not None
        assert not here.person.is_break_glass


@given(snapshots())
def test_no_action_goes_further_than_bound_policy_and_rule(taken: Snapshot) -> None:
    for verdict in decide(taken).verdicts:
        if verdict.action is None or verdict.is_housekeeping:
            continue
        assert verdict.mode is not Mode.APPLY or taken.bound is Mode.APPLY
        assert verdict.mode is not Mode.APPLY or taken.policies[verdict.cluster].policy.mode is Mode.APPLY


@given(snapshots(path=Path.SWEEP, bound=Mode.APPLY))
def test_what_stays_fits_under_every_cap_that_is_applied(taken: Snapshot) -> None:
    """Invariant: after the ends that one sweep decides, and those under way, each cluster's cap holds."""
    here = taken.situations[0]
    assume(here.person == person())
    gone = ends(decide(taken)).keys()
    for cluster, in_force in taken.policies.items():
        if in_force.policy.mode_of(Rule.CAP, Mode.APPLY) is not Mode.APPLY:
            continue
        left = [
            weight_of(i.session.document_name, in_force.policy)
            for i in here.sessions
            if i.node.cluster == cluster
            and i.session.is_counted
            and i.session.session_id not in gone
            and not ((e := here.ledger.entries.get(i.session.session_id)) and e.has_intent(taken.now))
        ]
        assert sum(left) <= in_force.policy.cap.max_sessions


@given(snapshots(path=Path.SWEEP))
def test_the_memory_holds_what_lives_and_an_intent_on_exactly_the_ends(taken: Snapshot) -> None:
    decision = decide(taken)
    memory = decision.cases[0].memory
    if memory is None:
        assert not ends(decision)
        return
    assert isinstance(memory.data, PersonLedger)
    ours = {sid for sid, e in memory.data.entries.items() if e.intent_token == taken.token}
    assert ours == set(ends(decision))
    assert {i.session.session_id for i in taken.situations[0].sessions} <= memory.data.entries.keys()


@given(snapshots(path=Path.SWEEP, bound=Mode.APPLY))
def test_a_cap_decision_can_be_taken_again_from_its_record_alone(taken: Snapshot) -> None:
    for session_id, verdict in session_verdicts(taken).items():
        if verdict.reason != "over_cap":
            continue
        facts = verdict.inputs
        counted = [
            session(
                row["session_id"],
                status=SessionStatus(row["status"]),
                started_at=datetime.fromisoformat(row["started_at"]) if row["started_at"] else None,
                work=Work(row["work"]),
                idle_minutes=row["idle_minutes"],
            )
            for row in facts["counted"]
        ]
        weights = {row["session_id"]: row["weight"] for row in facts["counted"]}
        again = surplus(
            "", facts["cap"], facts["cap_source"], counted, weights, VictimOrder(facts["victim_order"])
        )
        assert again is not None
        assert session_id in again.victims


@given(st.lists(st.integers(-180, 180), min_size=1, max_size=6), st.integers(1, 3))
def test_whatever_the_clock_does_a_sweep_never_ends_more_than_the_surplus(steps: list[int], cap: int) -> None:
    """Steps of minutes, forwards and backwards; ends take effect at once."""
    now = NOW
    alive = [session(f"ada@uni.example-{n}", started_at=NOW - timedelta(minutes=n)) for n in range(5)]
    ledger = PersonLedger(holder="ada")
    for step in steps:
        now += timedelta(minutes=step)
        here = situation(person(), alive, ledger) if alive else None
        assert here is not None
        decision = decide(snapshot(here, now=now, policies=[policy(cap={"max_sessions": cap})]))
        gone = ends(decision)
        alive = [s for s in alive if s.session_id not in gone]
        assert len(alive) >= min(cap, 5)
        memory = decision.cases[0].memory
        if memory is not None:
            assert isinstance(memory.data, PersonLedger)
            ledger = replace(memory.data, rev=memory.expected_rev + 1)
    assert len(alive) == cap
