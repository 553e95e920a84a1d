from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from proctor.adapters.agents_table import DynamoAgents
from proctor.adapters.observed_table import DynamoSlurmState
from proctor.adapters.observed_writer import DynamoObserved
from proctor.domain.agent_protocol import (
    Header,
    IntentResult,
    ObservedAssociation,
    ObservedJob,
    ObservedLimits,
    ObservedPartition,
    ObservedQos,
    ObservedUsage,
    Outcome,
    Removed,
    Role,
    Undone,
    UndoneBy,
)
from proctor.domain.agent_writes import Forget, ReportWrite
from proctor.domain.agents import AgentRecord, AgentState
from proctor.domain.errors import LostRaceError, ThrottledError
from proctor.domain.observed_rows import SNAPSHOT_SECTIONS, ReportRows, RowGone, RowPut, rows_of, said
from tests.adapters.agent_reports.conftest import Setting, read
from tests.adapters.aws import CountedClients, ScriptedClients, json_error
from tests.fakes.agent_world import heartbeat
from tests.fakes.values import NOW

BOOT = "1788256800000-0a0b0c0d"
AGENT = AgentRecord(
    cluster="alpha",
    instance_id="i-0123456789abcdef0",
    role=Role.CONTROLLER,
    node="ip-10-1-0-1",
    key=b"k" * 32,
    state=AgentState.ENROLLED,
    enrolled_at=NOW,
    last_seen_at=NOW,
)


def put(key: str, sequence: int = 1, sender: str = AGENT.instance_id, **fields: Any) -> RowPut:
    common = {
        "observed_at": int(NOW.timestamp()),
        "sender": sender,
        "role": "controller",
        "node": "n",
        "said": said(BOOT, sequence),
    }
    return RowPut("alpha#jobs", key, {"state": f"as of {sequence}", **common, **fields}, 2**31)


def write(sequence: int, *puts: RowPut, rev: int, gone: tuple[str, ...] = (), **fields: Any) -> ReportWrite:
    rows = ReportRows(puts=puts, gone=tuple(RowGone("alpha#jobs", key) for key in gone))
    return ReportWrite(record=replace(AGENT, rev=rev), rows=rows, said=said(BOOT, sequence), **fields)


def states(here: Setting) -> dict[str, str]:
    return {key: row["state"] for key, row in here.rows("alpha#jobs").items()}


def test_rows_and_progress_are_written_together(here: Setting) -> None:
    here.agents.enrol(AGENT)
    here.observed.apply(write(1, put("1"), put("2"), rev=1))
    here.observed.apply(write(2, put("1", 2), rev=2, gone=("2", "3")))

    assert states(here) == {"1": "as of 2"}
    found = here.agents.get("alpha", AGENT.instance_id)
    assert found is not None
    assert found.rev == 3


def test_a_message_that_another_one_overtook_is_a_lost_race_and_writes_nothing(here: Setting) -> None:
    here.agents.enrol(AGENT)
    here.observed.apply(write(2, put("1", 2), rev=1))
    with pytest.raises(LostRaceError):
        here.observed.apply(write(1, put("1", 1), put("2", 1), rev=1))
    assert states(here) == {"1": "as of 2"}


def test_a_late_message_writes_over_older_rows_only(here: Setting) -> None:
    here.agents.enrol(AGENT)
    here.observed.apply(write(1, put("old", 1), rev=1))
    here.observed.apply(write(5, put("new", 5), rev=2))
    here.observed.apply(write(3, put("old", 3), put("new", 3), put("more", 3), rev=3, is_late=True))

    assert states(here) == {"old": "as of 3", "new": "as of 5", "more": "as of 3"}


def test_a_late_message_makes_no_row_that_a_later_one_may_have_removed(here: Setting) -> None:
    here.agents.enrol(AGENT)
    here.observed.apply(write(1, put("old", 1), rev=1))
    here.observed.apply(write(5, rev=2, gone=("gone",)))
    late = write(3, put("gone", 3), put("old", 3), rev=3, is_late=True, removed_at=said(BOOT, 5))
    here.observed.apply(late)

    assert states(here) == {"old": "as of 3"}


def test_a_late_removal_spares_what_was_said_later(here: Setting) -> None:
    here.agents.enrol(AGENT)
    here.observed.apply(write(1, put("a", 1), put("b", 1), rev=1))
    here.observed.apply(write(5, put("a", 5), rev=2))
    here.observed.apply(write(3, rev=3, gone=("a", "b", "c"), is_late=True))

    assert states(here) == {"a": "as of 5"}


def test_rows_of_another_sender_are_written_over(here: Setting) -> None:
    here.agents.enrol(AGENT)
    here.agents.enrol(replace(AGENT, instance_id="i-other000"))
    theirs = put("1", 9, sender="i-other000")
    here.observed.apply(
        replace(write(9, theirs, rev=1), record=replace(AGENT, instance_id="i-other000", rev=1))
    )
    here.observed.apply(write(1, put("1", 1), rev=1, is_late=True))

    assert here.rows("alpha#jobs")["1"]["sender"] == AGENT.instance_id


def forget(before: int, **fields: Any) -> Forget:
    given = {
        "cluster": "alpha",
        "sections": SNAPSHOT_SECTIONS,
        "sender": AGENT.instance_id,
        "before_said": said(BOOT, before),
        "before_at": NOW,
    }
    return Forget(**{**given, **fields})


def test_what_a_snapshot_did_not_name_is_forgotten(here: Setting) -> None:
    here.agents.enrol(AGENT)
    earlier = int((NOW - timedelta(minutes=1)).timestamp())
    other_old = put("former", 99, sender="i-other000", observed_at=earlier)
    other_new = put("rival", 1, sender="i-other000")
    here.observed.apply(write(1, put("stale", 1), put("named", 1), other_old, other_new, rev=1))
    here.observed.apply(write(5, put("named", 5), put("between", 4), rev=2, forget=forget(4)))

    assert sorted(here.rows("alpha#jobs")) == ["between", "named", "rival"]


@pytest.mark.parametrize("count", [0, 1, 98, 99, 100, 250])
def test_any_number_of_rows(here: Setting, count: int) -> None:
    here.agents.enrol(AGENT)
    here.observed.apply(write(1, *(put(str(n)) for n in range(count)), rev=1))
    assert len(here.rows("alpha#jobs")) == count


# The tables


@pytest.mark.parametrize(
    ("count", "calls"), [(0, 1), (1, 1), (99, 1), (100, 2), (198, 2), (199, 3), (600, 7)]
)
def test_calls_are_linear_in_rows(tables: CountedClients, count: int, calls: int) -> None:
    DynamoAgents(tables, "agents").enrol(AGENT)
    tables.calls.clear()
    rows = [put(str(n)) for n in range(count)]
    DynamoObserved(tables, "observed", "agents").apply(write(1, *rows, rev=1))
    assert tables.calls == ["TransactWriteItems"] * calls


def test_calls_of_a_snapshots_end(tables: CountedClients) -> None:
    DynamoAgents(tables, "agents").enrol(AGENT)
    observed = DynamoObserved(tables, "observed", "agents")
    observed.apply(write(1, *(put(str(n), 1) for n in range(250)), rev=1))
    tables.calls.clear()
    observed.apply(write(5, put("1", 5), rev=2, forget=forget(5)))

    assert tables.count("Query") == len(SNAPSHOT_SECTIONS)
    assert tables.count("TransactWriteItems") == 1 + 3 + 1
    assert sorted(read(tables, "alpha#jobs")) == ["1"]


def test_a_row_that_is_said_again_while_a_snapshot_ends_stays(tables: CountedClients) -> None:
    agents, observed = DynamoAgents(tables, "agents"), DynamoObserved(tables, "observed", "agents")
    other = replace(AGENT, instance_id="i-other000")
    agents.enrol(AGENT)
    agents.enrol(other)
    observed.apply(write(1, put("1", 1), put("2", 1), rev=1))
    again = replace(write(9, put("1", 9, sender="i-other000"), rev=1), record=replace(other, rev=1))
    elsewhere = DynamoObserved(CountedClients(), "observed", "agents")
    tables.meanwhile["TransactWriteItems"] = lambda: elsewhere.apply(again)
    observed.apply(write(5, rev=2, forget=forget(5)))

    assert {key: row["sender"] for key, row in read(tables, "alpha#jobs").items()} == {"1": "i-other000"}


def test_newer_rows_among_many_cost_one_call_more(tables: CountedClients) -> None:
    DynamoAgents(tables, "agents").enrol(AGENT)
    observed = DynamoObserved(tables, "observed", "agents")
    observed.apply(write(5, *(put(str(n), 5) for n in range(0, 90, 3)), rev=1))
    tables.calls.clear()
    observed.apply(write(3, *(put(str(n), 3) for n in range(90)), rev=2, is_late=True))

    assert tables.calls == ["TransactWriteItems"] * 2
    assert len(read(tables, "alpha#jobs")) == 90


def test_a_conflict_is_a_lost_race_and_a_throttle_a_throttle() -> None:
    for code, error in (("TransactionConflict", LostRaceError), ("ThrottlingError", ThrottledError)):
        reasons = [{"Code": "None"}, {"Code": code}]
        refused = json_error("TransactionCanceledException", "cancelled", CancellationReasons=reasons)
        aws = ScriptedClients(TransactWriteItems=refused)
        with pytest.raises(error):
            DynamoObserved(aws, "observed", "agents").apply(write(1, put("1"), rev=1))
        assert aws.count("TransactWriteItems") == 1


def test_a_writer_that_is_cut_off_leaves_the_progress_as_it_was(tables: CountedClients) -> None:
    agents, observed = DynamoAgents(tables, "agents"), DynamoObserved(tables, "observed", "agents")
    agents.enrol(AGENT)
    other = CountedClients()
    many = write(2, *(put(str(n), 2) for n in range(150)), rev=1)

    def overtake() -> None:
        DynamoObserved(other, "observed", "agents").apply(write(3, put("1", 3), rev=1))

    tables.meanwhile["TransactWriteItems"] = overtake
    with pytest.raises(LostRaceError):
        observed.apply(many)
    assert {row["said"] for row in read(tables, "alpha#jobs").values()} == {said(BOOT, 3)}


def test_rules_read_what_was_written(tables: CountedClients) -> None:
    """Both sides of the table, over one report with every section."""
    header = Header("alpha", Role.CONTROLLER, AGENT.node, AGENT.instance_id, BOOT, 2)
    partition = ObservedPartition("gpu", "UP", "ip-10-1-0-[7-9]", 3, None, is_default=True)
    job = ObservedJob(
        "12_[3-9]", "PENDING", "Priority", "gpu,cpu", "physics", "ada", "normal", 2, "", "", NOW, None, None
    )
    association = ObservedAssociation("physics", "", "", "root", None, 10, "", ("normal",))
    qos = ObservedQos("normal", None, None, "", "")
    limits = ObservedLimits(
        True, ("associations", "limits"), "accounting_storage/slurmdbd", "24.11.5", "alpha"
    )
    used = ObservedUsage("physics", "gpu", NOW, 3600, 28_800, 4)
    result = IntentResult("partition#gpu", 3, Outcome.APPLIED, "", "State", {"State": "UP"}, NOW)
    lost = Undone("partition#gpu", "UP", UndoneBy.UPDATE, NOW, None)
    report = heartbeat(
        partitions=(partition,),
        jobs=(job,),
        associations=(association,),
        qos=(qos,),
        limits=limits,
        usage=(used,),
        results=(result,),
        undone=(lost,),
        removed=(Removed("jobs", "11"),),
    )
    DynamoAgents(tables, "agents").enrol(AGENT)
    rows = rows_of(header, report, NOW, is_whole=True)
    full = ReportWrite(record=replace(AGENT, rev=1), rows=rows, said=said(BOOT, 2))
    DynamoObserved(tables, "observed", "agents").apply(full)

    view = DynamoSlurmState(tables, "observed").view("alpha", usage_since=NOW - timedelta(hours=1))
    assert view.seen_at == NOW
    assert view.partitions == {"gpu": partition}
    assert (view.jobs, view.associations, view.qos, view.limits) == ((job,), (association,), (qos,), limits)
    assert (view.usage, view.results, view.undone) == ((used,), {"partition#gpu": result}, (lost,))


def test_until_a_snapshot_is_whole_rules_know_nothing(tables: CountedClients) -> None:
    header = Header("alpha", Role.CONTROLLER, AGENT.node, AGENT.instance_id, BOOT, 2)
    DynamoAgents(tables, "agents").enrol(AGENT)
    rows = rows_of(header, heartbeat(), NOW, is_whole=False)
    DynamoObserved(tables, "observed", "agents").apply(
        ReportWrite(record=replace(AGENT, rev=1), rows=rows, said=said(BOOT, 2))
    )
    assert DynamoSlurmState(tables, "observed").view("alpha", usage_since=None).seen_at is None
