"""Intents against what budgets want: writes, joins, renewals, releases."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from budget_holds.plan import HOLD_FOR, OWNER, TOMBSTONE_FOR
from proctor.domain.actions import Basis
from proctor.domain.agent_protocol import (
    Intent,
    LimitAccount,
    Outcome,
    PartitionState,
    ReserveNodes,
    SetPartitionState,
    Undone,
    UndoneBy,
)
from proctor.domain.decision import Mode
from proctor.domain.slurm_actions import WithdrawIntent, WriteIntent
from tests.fakes.budget_values import ASSOCIATIONS, NOW, partition, reading
from tests.unit.budget_holds.intents import HELD, alarms, held_view, intent, result, verdicts, write
from tests.unit.budget_holds.judging import CLOUD, LAB1, decided, situation


def test_a_first_hold_is_revision_one_and_remembers_what_was_before() -> None:
    rows = tuple(
        replace(a, grp_jobs=12, grp_tres="cpu=5,node=9") if a.account == "lab1" and not a.login_name else a
        for a in ASSOCIATIONS
    )
    action = write(held_view(associations=rows))
    assert (action.expected_rev, action.intent.rev, action.intent.is_held, action.intent.owner) == (
        0,
        1,
        True,
        OWNER,
    )
    assert action.intent.previous == {"GrpJobs": "12", "GrpSubmitJobs": "-1", "GrpTRES/node": "9"}
    assert action.intent.expires_at == NOW + HOLD_FOR
    assert action.holders == (Basis("alpha#lab1", HELD.level_at),)


def test_a_standing_hold_is_left_alone() -> None:
    cluster = held_view(stored={"account#lab1": intent()}, results={"account#lab1": result()})
    (verdict,) = verdicts(cluster)
    assert (verdict.action, verdict.reason) == (None, "held")
    assert alarms(cluster) == []


@pytest.mark.parametrize(
    ("stored", "why"),
    [
        (intent(held=False), "release"),
        (intent(LimitAccount("lab1", refuse_submissions=True)), "another hold"),
        (intent(written=NOW - HOLD_FOR / 2), "expire"),
    ],
)
def test_what_is_written_again(stored: Intent, why: str) -> None:
    cluster = held_view(stored={"account#lab1": stored})
    action = write(cluster)
    assert (action.expected_rev, action.intent.rev) == (3, 4)
    assert why in verdicts(cluster)[0].text


def test_our_own_zero_is_never_taken_for_what_was_before() -> None:
    zero = tuple(
        replace(a, grp_jobs=0) if a.account == "lab1" and not a.login_name else a for a in ASSOCIATIONS
    )
    not_let_go = held_view(stored={"account#lab1": intent(held=False)}, associations=zero)
    assert write(not_let_go).intent.previous == {"GrpJobs": "7"}
    let_go = held_view(
        stored={"account#lab1": intent(held=False)},
        associations=ASSOCIATIONS,
        results={"account#lab1": result(Outcome.RELEASED)},
    )
    assert write(let_go).intent.previous == {"GrpJobs": "-1", "GrpSubmitJobs": "-1", "GrpTRES/node": "-1"}
    not_seen_yet = held_view(
        stored={"account#lab1": intent(held=False)},
        associations=zero,
        results={"account#lab1": result(Outcome.RELEASED)},
    )
    assert write(not_seen_yet).intent.previous == {"GrpJobs": "7"}
    blind = held_view(seen_at=None)
    assert write(blind).intent.previous is None


@pytest.mark.parametrize(
    ("stored", "word"),
    [(intent(owner="node_health"), "belongs to node_health"), (None, "can't read")],
)
def test_others_intents_are_not_touched(stored: Intent | None, word: str) -> None:
    cluster = held_view(stored={"account#lab1": stored})
    assert all(not isinstance(v.action, WriteIntent) for v in decided(cluster).verdicts)
    assert alarms(cluster) == ["obstructed"]
    assert word in verdicts(cluster)[0].text


def test_a_verb_that_the_agent_does_not_know_is_not_sent() -> None:
    cluster = held_view(verbs=frozenset({"DrainNode"}))
    assert all(v.action is None for v in verdicts(cluster))
    assert alarms(cluster) == ["obstructed"]


def test_what_no_budget_wants_is_let_go_and_restored() -> None:
    cluster = held_view(situation(LAB1), stored={"account#lab1": intent()})
    (verdict,) = verdicts(cluster)
    assert isinstance(verdict.action, WithdrawIntent)
    let_go = verdict.action.intent
    assert (let_go.is_held, let_go.rev, let_go.previous) == (False, 4, {"GrpJobs": "7"})
    assert let_go.expires_at == NOW + TOMBSTONE_FOR
    assert verdict.action.holders == ("alpha#lab1",)


def test_others_holds_are_never_let_go() -> None:
    foreign = intent(LimitAccount("lab2"), owner="slurm_policy")
    cluster = held_view(situation(LAB1), stored={"account#lab2": foreign, "account#lab1": None})
    assert all(not isinstance(v.action, WithdrawIntent) for v in decided(cluster).verdicts)


def test_two_budgets_on_one_subject_the_last_lets_go() -> None:
    one, two = (
        situation(LAB1, memory=HELD),
        situation({**CLOUD, "account": "lab1", "is_only_account": True}, name="grant", answer=reading(1)),
    )
    stored = {"account#lab1": intent()}
    assert not [
        v
        for v in decided(held_view(one, two, stored=stored)).verdicts
        if isinstance(v.action, WithdrawIntent)
    ]
    let_go = decided(held_view(situation(LAB1), two, stored=stored))
    (action,) = [v.action for v in let_go.verdicts if isinstance(v.action, WithdrawIntent)]
    assert action.holders == ("alpha#grant", "alpha#lab1")


def test_a_budget_that_joins_writes_too_so_that_a_racing_release_loses() -> None:
    joining = situation(
        {**CLOUD, "account": "lab1", "is_only_account": True}, name="grant", answer=reading(10001)
    )
    cluster = held_view(situation(LAB1, memory=HELD), joining, stored={"account#lab1": intent()})
    (verdict,) = verdicts(cluster)
    assert isinstance(verdict.action, WriteIntent)
    assert verdict.action.holders == (Basis("alpha#grant", NOW), Basis("alpha#lab1", HELD.level_at))


def partition_budget(state: str) -> dict[str, Any]:
    return {
        **CLOUD,
        "partitions": ["gpu"],
        "hold": {"level": "partition", "partition_state": state, "accept_collateral": True},
    }


@pytest.mark.parametrize(
    ("states", "wanted"),
    [
        (("DOWN", "DRAIN"), PartitionState.INACTIVE),
        (("DRAIN", "INACTIVE"), PartitionState.INACTIVE),
        (("DOWN", "DOWN"), PartitionState.DOWN),
    ],
)
def test_two_states_on_one_partition_become_the_stricter(
    states: tuple[str, str], wanted: PartitionState
) -> None:
    budgets = [
        situation(partition_budget(s), name=n, memory=HELD, answer=reading(1))
        for s, n in zip(states, "ab", strict=True)
    ]
    (verdict,) = verdicts(held_view(*budgets), "partition#")
    assert isinstance(verdict.action, WriteIntent)
    assert verdict.action.intent.verb == SetPartitionState("gpu", wanted)
    assert verdict.action.intent.previous == {"State": "UP"}


def test_nodes_are_reserved_under_our_own_name() -> None:
    budget = {**CLOUD, "partitions": ["gpu"], "hold": {"level": "nodes", "accept_collateral": True}}
    (verdict,) = verdicts(held_view(situation(budget, memory=HELD, answer=reading(1))), "reservation#")
    assert isinstance(verdict.action, WriteIntent)
    assert isinstance(verdict.action.intent.verb, ReserveNodes)
    assert verdict.action.intent.previous is None


def test_nothing_is_let_go_while_it_is_unknown_what_is_wanted() -> None:
    everybody = situation(CLOUD, name="all", memory=HELD, answer=reading(1))
    cluster = held_view(
        situation(LAB1), everybody, stored={"account#lab2": intent(LimitAccount("lab2"))}, seen_at=None
    )
    (verdict,) = verdicts(cluster, "account#alpha#lab2")
    assert (verdict.action, verdict.reason) == (None, "kept_unknown")
    broken = replace(
        held_view(situation(LAB1), stored={"account#lab1": intent()}),
        unusable={"x": "odd"},
        unusable_holding=frozenset({"x"}),
    )
    (kept,) = verdicts(broken)
    assert (kept.action, kept.reason) == (None, "kept_unknown")


def test_a_budget_in_dry_run_writes_nothing_and_keeps_no_hold_of_another() -> None:
    dry = situation({**LAB1, "mode": "dry_run"}, memory=HELD)
    (verdict,) = verdicts(held_view(dry))
    assert isinstance(verdict.action, WriteIntent)
    assert verdict.mode is Mode.DRY_RUN
    (let_go,) = verdicts(held_view(dry, stored={"account#lab1": intent()}))
    assert isinstance(let_go.action, WithdrawIntent)


@pytest.mark.parametrize(
    ("by", "told"), [(UndoneBy.UPDATE, True), (UndoneBy.RECONFIGURE, False), (UndoneBy.RESTART, False)]
)
def test_a_hold_that_somebody_undid_is_told_once(by: UndoneBy, told: bool) -> None:
    undone = Undone("account#lab1", "GrpJobs=-1", by, NOW - timedelta(minutes=2), NOW - timedelta(minutes=1))
    cluster = held_view(
        stored={"account#lab1": intent()}, results={"account#lab1": result()}, undone=(undone,)
    )
    assert ("hold_undone" in alarms(cluster)) is told


def test_collateral_that_is_not_accepted_holds_nothing_and_says_whom_it_would_stop() -> None:
    budget = {**CLOUD, "partitions": ["gpu"], "hold": {"level": "partition"}}
    cluster = held_view(
        situation(budget, memory=HELD, answer=reading(1)), partitions={"gpu": partition("gpu")}
    )
    assert verdicts(cluster, "partition#") == []
    assert alarms(cluster) == ["cannot_hold"]
    (said,) = [v.text for v in decided(cluster).verdicts if v.reason == "cannot_hold"]
    assert "lab2" in said


def test_protected_accounts_are_felt_by_the_action() -> None:
    assert "account#lab1" in write(held_view()).touches
    assert "account#root" in decided(held_view()).rails["alpha"].protected_subjects


def test_every_plan_says_which_ways_stay_open() -> None:
    (verdict,) = verdicts(held_view())
    assert "closed" in verdict.inputs["lab1"]["bypasses"]
