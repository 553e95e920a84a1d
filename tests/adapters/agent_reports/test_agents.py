from dataclasses import replace
from datetime import timedelta

import pytest

from proctor.adapters.agents_table import DynamoAgents
from proctor.adapters.items import to_item
from proctor.domain.agent_protocol import Role
from proctor.domain.agents import AgentRecord, AgentSeen, AgentState, Progress, SnapshotParts
from proctor.domain.errors import LostRaceError, TerminalError
from tests.adapters.agent_reports.conftest import Setting
from tests.adapters.aws import CountedClients
from tests.adapters.retries import LossyClients, no_backoff
from tests.fakes.values import NOW

FULL = AgentRecord(
    cluster="alpha",
    instance_id="i-0123456789abcdef0",
    role=Role.CONTROLLER,
    node="ip-10-1-0-7",
    key=b"k" * 32,
    state=AgentState.DISPUTED,
    enrolled_at=NOW,
    last_seen_at=NOW + timedelta(seconds=60),
    contender=b"r" * 32,
    contender_role=Role.CONTROLLER,
    silent_since=NOW,
    progress=Progress(
        boot_id="1788256800000-0a0b0c0d",
        sequence=2**53,
        window=2**64 - 1,
        removed_at_sequence=7,
        parts=SnapshotParts(snapshot="s", first_sequence=3, first_sent_at=NOW, seen=2**1024 - 1, count=1024),
        whole_at=NOW,
    ),
)
BARE = AgentRecord(
    cluster="alpha",
    instance_id="i-0aaaaaaaaaaaaaaa1",
    role=Role.NODE,
    node="ip-10-1-0-8",
    state=AgentState.WAITING,
    enrolled_at=NOW,
    last_seen_at=NOW,
)


@pytest.mark.parametrize("record", [FULL, BARE])
def test_an_agent_comes_back_whole(here: Setting, record: AgentRecord) -> None:
    assert here.agents.get(record.cluster, record.instance_id) is None
    here.agents.enrol(record)
    assert here.agents.get(record.cluster, record.instance_id) == replace(record, rev=1)


def test_an_agent_enrols_once_whatever_its_key(here: Setting) -> None:
    here.agents.enrol(FULL)
    for other in (replace(FULL, enrolled_at=FULL.last_seen_at), replace(FULL, key=b"x" * 32, role=Role.NODE)):
        with pytest.raises(LostRaceError):
            here.agents.enrol(other)
    assert here.agents.get("alpha", FULL.instance_id) == replace(FULL, rev=1)


def test_a_swap_is_over_the_revision_that_was_read(here: Setting) -> None:
    with pytest.raises(LostRaceError):
        here.agents.swap(FULL)
    here.agents.enrol(FULL)
    here.agents.swap(replace(FULL, rev=1, silent_since=None))
    with pytest.raises(LostRaceError):
        here.agents.swap(replace(FULL, rev=1))
    assert here.agents.get("alpha", FULL.instance_id) == replace(FULL, rev=2, silent_since=None)


def test_an_approved_contender_starts_anew(here: Setting) -> None:
    here.agents.enrol(FULL)
    here.agents.approve(replace(FULL, rev=1), b"r" * 32)
    expected = replace(
        FULL,
        rev=2,
        key=b"r" * 32,
        contender=None,
        contender_role=None,
        state=AgentState.ENROLLED,
        progress=Progress(),
    )
    assert here.agents.get("alpha", FULL.instance_id) == expected


def test_an_approved_first_key_goes_on_where_it_was(here: Setting) -> None:
    here.agents.enrol(FULL)
    here.agents.approve(replace(FULL, rev=1), b"k" * 32)
    found = here.agents.get("alpha", FULL.instance_id)
    assert found is not None
    assert (found.key, found.contender, found.progress) == (FULL.key, None, FULL.progress)
    with pytest.raises(LostRaceError):
        here.agents.approve(replace(FULL, rev=1), b"r" * 32)


def test_all_agents_without_keys(here: Setting) -> None:
    here.agents.enrol(FULL)
    here.agents.enrol(replace(BARE, cluster="beta"))

    found = {(seen.cluster, seen.instance_id): seen for seen in here.agents.all()}
    assert found["alpha", FULL.instance_id] == AgentSeen(
        cluster="alpha",
        instance_id=FULL.instance_id,
        role=Role.CONTROLLER,
        node="ip-10-1-0-7",
        state=AgentState.DISPUTED,
        last_seen_at=FULL.last_seen_at,
        silent_since=NOW,
        rev=1,
    )
    assert len(found) == 2


# The table


def test_a_write_that_meets_itself_is_no_lost_race(
    tables: CountedClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    lossy = LossyClients()
    agents = DynamoAgents(lossy, "agents")
    with no_backoff(monkeypatch):
        agents.enrol(FULL)
        agents.swap(replace(FULL, rev=1, silent_since=None))
    assert lossy.lost == ["PutItem", "PutItem"]
    assert agents.get("alpha", FULL.instance_id) == replace(FULL, rev=2, silent_since=None)
    with no_backoff(monkeypatch), pytest.raises(LostRaceError):
        agents.swap(replace(FULL, rev=1))


def test_calls(tables: CountedClients) -> None:
    agents = DynamoAgents(tables, "agents")
    agents.enrol(FULL)
    agents.get("alpha", FULL.instance_id)
    agents.swap(replace(FULL, rev=1))
    agents.approve(replace(FULL, rev=2), b"r" * 32)
    agents.all()
    assert tables.calls == ["PutItem", "GetItem", "PutItem", "UpdateItem", "Scan"]


def test_a_broken_row_is_an_error_that_shows_nothing_of_it(tables: CountedClients) -> None:
    row = {"agent": "alpha#i-0123456789abcdef0", "key": "c0ffee" * 10, "role": "root"}
    tables.dynamodb().put_item(TableName="agents", Item=to_item(row))
    with pytest.raises(TerminalError) as error:
        DynamoAgents(tables, "agents").get("alpha", "i-0123456789abcdef0")
    assert "c0ffee" not in str(error.value)
    assert error.value.__cause__ is None
