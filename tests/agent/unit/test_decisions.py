"""Decisions as tables: what was seen, what was known, what is done."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from proctor.domain.agent_protocol import (
    DrainNode,
    Intent,
    LimitAccount,
    ObservedAssociation,
    ObservedLimits,
    ObservedNode,
    ObservedPartition,
    ObservedQos,
    Outcome,
    PartitionState,
    SetPartitionState,
    Verb,
    controller_pk,
)
from proctor_agent.holds import limits, node, partition
from proctor_agent.holds.limits import Accounting
from proctor_agent.slurm.parse import SchedulerLimits
from proctor_agent.state.records import Record, Status

BINDING = ObservedLimits(
    True, ("associations", "limits", "qos"), "accounting_storage/slurmdbd", "22.05.8", "uni"
)
NODE = "ip-10-1-0-1"


def intent(verb: Verb, rev: int = 1, previous: dict[str, str] | None = None) -> Intent:
    return Intent(
        controller_pk("c"), verb, True, "budget_holds", rev, datetime(2027, 1, 1, tzinfo=UTC), previous
    )


def held(sk: str, value: str, previous: dict[str, str], rev: int = 1) -> Record:
    return Record(sk, rev, Status.HELD, value, previous)


def seen_partition(state: str) -> ObservedPartition:
    return ObservedPartition("nlp", state, "ip-10-1-0-[1-2]", 2, None, False)


@pytest.mark.parametrize("wanted", ["DOWN", "DRAIN", "INACTIVE"])
@pytest.mark.parametrize("seen", ["UP", "DOWN", "DRAIN", "INACTIVE"])
def test_every_wanted_state_against_every_seen_one(wanted: str, seen: str) -> None:
    step = partition.decide(
        intent(SetPartitionState("nlp", PartitionState(wanted))), True, seen_partition(seen), None
    )
    is_enough = seen in {wanted, "INACTIVE"}
    assert bool(step.command) is not is_enough
    assert step.record is not None
    assert step.record.previous == {"State": seen}
    if step.command:
        assert step.command == ("scontrol", "update", "PartitionName=nlp", f"State={wanted}")
        assert step.outcome is Outcome.UNCONFIRMED


def test_our_own_state_is_not_taken_for_the_former_one_after_the_records_were_lost() -> None:
    verb = SetPartitionState("nlp", PartitionState.DOWN)
    wanted = replace(intent(verb), previous={"State": "UP"})
    step = partition.decide(wanted, True, seen_partition("DOWN"), None)

    assert not step.command
    assert step.record is not None
    assert step.record.previous == {"State": "UP"}
    release = partition.decide(
        replace(wanted, is_held=False, rev=2), False, seen_partition("DOWN"), step.record
    )
    assert release.command == ("scontrol", "update", "PartitionName=nlp", "State=UP")


def test_an_administrators_down_between_two_holds_is_kept() -> None:
    wanted = replace(intent(SetPartitionState("nlp", PartitionState.DOWN), rev=3), previous={"State": "UP"})
    released = Record("partition#nlp", 2, Status.RELEASED, "", {"State": "UP"})
    step = partition.decide(wanted, True, seen_partition("DOWN"), released)

    assert step.record is not None
    assert step.record.previous == {"State": "DOWN"}


@pytest.mark.parametrize(
    ("seen", "record", "command", "outcome"),
    [
        ("DOWN", held("partition#nlp", "DOWN", {"State": "UP"}), "State=UP", Outcome.UNCONFIRMED),
        ("DOWN", held("partition#nlp", "DOWN", {"State": "DOWN"}), "", Outcome.RELEASED),
        ("UP", held("partition#nlp", "DOWN", {"State": "UP"}), "", Outcome.RELEASED),
        ("INACTIVE", held("partition#nlp", "DOWN", {"State": "UP"}), "", Outcome.RELEASED),
        ("DOWN", Record("partition#nlp", 1, Status.RELEASED, "", {"State": "UP"}), "", Outcome.RELEASED),
        ("DOWN", None, "", Outcome.LEFT_ALONE),
        ("UP", None, "", Outcome.RELEASED),
    ],
)
def test_release_of_a_partition(seen: str, record: Record | None, command: str, outcome: Outcome) -> None:
    verb = SetPartitionState("nlp", PartitionState.DOWN)
    step = partition.decide(intent(verb, rev=2), False, seen_partition(seen), record)
    assert (step.command[-1] if step.command else "", step.outcome) == (command, outcome)


@pytest.mark.parametrize(
    ("seen", "previous", "detail"),
    [
        ("DOWN", "DOWN", "DOWN was the state before the hold"),
        ("INACTIVE", "UP", "INACTIVE was set by somebody else and stays"),
        ("UP", "UP", ""),
    ],
)
def test_a_release_that_changes_nothing_says_why(seen: str, previous: str, detail: str) -> None:
    verb = SetPartitionState("nlp", PartitionState.DOWN)
    record = held("partition#nlp", "DOWN", {"State": previous})
    step = partition.decide(intent(verb, rev=2), False, seen_partition(seen), record)
    assert (step.command, step.outcome, step.detail) == ((), Outcome.RELEASED, detail)


def association(account: str, parent: str = "root", login_name: str = "", *qos: str) -> ObservedAssociation:
    return ObservedAssociation(account, login_name, "", parent, None, None, "", qos or ("normal",))


def qos(name: str, grp_jobs: int | None = None, tres: str = "", submit: int | None = None) -> ObservedQos:
    return ObservedQos(name, grp_jobs, submit, tres, "")


TREE = (
    association("root", ""),
    association("lab1"),
    association("lab1-a", "lab1"),
    association("lab1-a", "", "ana", "normal", "team"),
    association("lab2", "root", "", "other"),
)
FREE = SchedulerLimits(None, None, None)


@pytest.mark.parametrize(
    ("rows", "partition_qos", "field"),
    [
        ([qos("normal"), qos("team"), qos("other", 5)], None, "GrpJobs"),
        ([qos("normal", 100), qos("team")], None, "GrpTRES/node"),
        ([qos("normal"), qos("team", 0)], None, "GrpTRES/node"),
        ([qos("normal"), qos("team"), qos("part", 9)], "part", "GrpTRES/node"),
        ([qos("normal", 1), qos("team", None, "gres/gpu=8,node=4")], None, ""),
        ([qos("normal", 1), qos("team", None, "gres/gpu=8")], None, "GrpTRES/node"),
    ],
)
def test_the_field_is_one_that_no_usable_qos_sets(
    rows: list[ObservedQos], partition_qos: str | None, field: str
) -> None:
    partitions = {"nlp": ObservedPartition("nlp", "UP", "", 0, partition_qos, False)}
    step = limits.decide_account(
        intent(LimitAccount("lab1")), True, Accounting(BINDING, TREE, rows, partitions), FREE, None
    )
    if not field:
        assert (step.outcome, step.command) == (Outcome.CANNOT_BIND, ())
        return
    word = "GrpTRES=node=0" if field == "GrpTRES/node" else f"{field}=0"
    where = ("where", "name=lab1", "cluster=uni")
    assert step.command == ("sacctmgr", "-i", "-Q", "modify", "account", *where, "set", word)


def test_no_enforcement_no_command() -> None:
    loose = ObservedLimits(False, (), "accounting_storage/slurmdbd", "22.05.8", "uni")
    step = limits.decide_account(
        intent(LimitAccount("lab1")), True, Accounting(loose, TREE, [qos("normal")], {}), FREE, None
    )
    assert (step.outcome, step.command, step.record) == (Outcome.CANNOT_BIND, (), None)


def test_a_zero_that_was_there_before_is_not_lifted() -> None:
    accounting = Accounting(BINDING, TREE, [qos("normal")], {})
    zero = SchedulerLimits(0, None, None)
    first = limits.decide_account(intent(LimitAccount("lab1")), True, accounting, zero, None)
    assert (first.outcome, first.record and first.record.previous) == (Outcome.APPLIED, {"GrpJobs": "0"})
    released = limits.decide_account(intent(LimitAccount("lab1"), 2), False, accounting, zero, first.record)
    assert (released.outcome, released.command) == (Outcome.RELEASED, ())


def test_an_operators_zero_between_two_holds_is_kept() -> None:
    accounting = Accounting(BINDING, TREE, [qos("normal")], {})
    wanted = intent(LimitAccount("lab1"), 3, {"GrpJobs": "-1"})
    let_go = Record("account#lab1", 2, Status.RELEASED, "", {"GrpJobs": "-1"})
    step = limits.decide_account(wanted, True, accounting, SchedulerLimits(0, None, None), let_go)
    assert (step.outcome, step.record and step.record.previous) == (Outcome.APPLIED, {"GrpJobs": "0"})


def test_a_circle_of_accounts_ends() -> None:
    rows = (association("a", "b"), association("b", "a"))
    assert limits.accounts_below(rows, "a") == {"a", "b"}


@pytest.mark.parametrize(
    ("state", "reason", "outcome", "acts"),
    [
        ("idle", "", Outcome.UNCONFIRMED, True),
        ("allocated", "", Outcome.UNCONFIRMED, True),
        ("drained", "proctor: other", Outcome.APPLIED, False),
        ("drained", "Ana: cable", Outcome.LEFT_ALONE, False),
        ("draining", "nhc: disk", Outcome.LEFT_ALONE, False),
        ("fail", "Action:Replace", Outcome.LEFT_ALONE, False),
        ("down", "Action:Reboot now", Outcome.LEFT_ALONE, False),
        ("down", "Not responding", Outcome.UNCONFIRMED, True),
        ("down", "Ana: cable", Outcome.LEFT_ALONE, False),
    ],
)
def test_a_drain_respects_every_other_reason(state: str, reason: str, outcome: Outcome, acts: bool) -> None:
    seen = ObservedNode(NODE, state, "", reason, "", None)
    step = node.decide(intent(DrainNode(NODE, "i-0123456789", "proctor: xid 79")), True, seen, None)
    assert (step.outcome, bool(step.command)) == (outcome, acts)


def test_a_resumed_drain_waits_for_a_new_observation() -> None:
    idle = ObservedNode(NODE, "idle", "", "", "", None)
    verb = DrainNode(NODE, "i-0123456789", "proctor: xid 79")
    record = held(f"node#{NODE}", "proctor: xid 79", {})
    first = node.decide(intent(verb), True, idle, record)
    assert (first.outcome, first.record and first.record.status) == (Outcome.UNDONE_BY_PERSON, Status.RESUMED)
    assert node.decide(intent(verb), True, idle, first.record).outcome is Outcome.UNDONE_BY_PERSON
    assert node.decide(intent(verb, rev=2), True, idle, first.record).command
