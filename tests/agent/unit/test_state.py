"""What the agent keeps: intents over vanished and odd items, records, its identity, reports waiting to be sent."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from proctor.domain.agent_protocol import (
    Heartbeat,
    Intent,
    LimitAccount,
    ObservedNode,
    Report,
    Role,
    UndoneBy,
    controller_pk,
    open_envelope,
    seal,
)
from proctor_agent.clock import Backoff
from proctor_agent.errors import AgentError, SettingsError
from proctor_agent.log_watch import LogWatch
from proctor_agent.outbox import Outbox
from proctor_agent.settings import AgentSettings, load_settings
from proctor_agent.state.files import StateFiles
from proctor_agent.state.identity import Identity
from proctor_agent.state.intents import IntentBook
from proctor_agent.state.records import Record, Records, Status
from proctor_agent.tracker import Packer, Tracker
from tests.agent.unit.values import FakeClock

PK = controller_pk("ml-cluster")
NOW = datetime(2026, 11, 30, 18, tzinfo=UTC)
SETTINGS = AgentSettings(
    "ml-cluster", Role.CONTROLLER, "ip-10-0-0-1", "i-0123456789abcdef0", "us-west-2", "intents", "https://q"
)


def item(account: str = "lab1", rev: int = 1, hours: int = 1, **changes: Any) -> dict[str, Any]:
    verb = LimitAccount(account)
    return Intent(PK, verb, True, "budget_holds", rev, NOW + timedelta(hours=hours)).to_item() | changes


@pytest.fixture
def files(tmp_path: Path) -> StateFiles:
    return StateFiles(tmp_path / "state")


def test_intents_survive_a_restart_and_an_outage(files: StateFiles) -> None:
    IntentBook(files, PK).merge([item("lab1"), item("lab2", 4)], NOW)
    assert [(intent.sk, intent.rev) for intent in IntentBook(files, PK)] == [
        ("account#lab1", 1),
        ("account#lab2", 4),
    ]
    assert list(IntentBook(files, controller_pk("other"))) == []


def test_a_vanished_hold_is_kept_and_told_until_it_expires(files: StateFiles) -> None:
    book = IntentBook(files, PK)
    book.merge([item("lab1")], NOW)
    assert not book.merge([], NOW)
    assert (sorted(book.vanished), len(list(book))) == (["account#lab1"], 1)
    book.merge([], NOW + timedelta(hours=2))
    assert (sorted(book.vanished), sorted(book.gone)) == ([], ["account#lab1"])


def test_an_odd_item_leaves_the_last_good_one(files: StateFiles) -> None:
    book = IntentBook(files, PK)
    book.merge([item("lab1", 3)], NOW)
    book.merge([item("lab1", 4, is_held="no")], NOW)
    (intent,) = list(book)
    assert intent.rev == 3
    assert [(refused.sk, refused.rev) for refused in book.refused] == [("account#lab1", 4)]
    assert book.vanished == frozenset()


def test_an_item_of_another_agent_is_refused(files: StateFiles) -> None:
    book = IntentBook(files, PK)
    book.merge([item("lab1", pk=controller_pk("other"))], NOW)
    assert list(book) == []
    assert "not this agent's" in book.refused[0].detail


@pytest.mark.parametrize(
    ("switch", "paused"), [({"is_paused": True}, True), ({"is_paused": False}, False), ({}, True)]
)
def test_a_pause_that_can_not_be_read_is_on(files: StateFiles, switch: dict[str, bool], paused: bool) -> None:
    book = IntentBook(files, PK)
    book.merge([{"pk": PK, "sk": "control#pause", "rev": 1} | switch], NOW)
    assert book.is_paused is paused
    assert IntentBook(files, PK).is_paused is paused


def test_records_survive_and_spoilt_ones_are_dropped(files: StateFiles) -> None:
    records = Records(files)
    good = Record("account#lab1", 2, Status.HELD, "0", {"GrpJobs": "10"})
    assert records.put(good)
    assert list(Records(files)) == [good]
    files.write("records.json", [{"sk": "nonsense"}, *files.read("records.json")])
    assert list(Records(files)) == [good]
    records.drop("account#lab1")
    assert list(Records(files)) == []


def test_state_files_are_private_and_one_agent_at_a_time(files: StateFiles) -> None:
    files.write("records.json", [])
    assert files.directory.stat().st_mode & 0o777 == 0o700
    assert (files.directory / "records.json").stat().st_mode & 0o777 == 0o600
    assert files.lock()
    other = StateFiles(files.directory)
    assert not other.lock()
    files.unlock()
    assert other.lock()
    other.unlock()


def test_a_spoilt_file_reads_as_nothing(files: StateFiles) -> None:
    (files.directory / "intents.json").write_text('{"items": [', encoding="utf-8")
    assert files.read("intents.json") is None
    assert list(IntentBook(files, PK)) == []


def test_a_directory_that_can_not_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AgentError, match="state directory"):
        StateFiles(tmp_path / "file" / "state")


def test_each_start_is_later_than_the_last_even_when_the_clock_went_back(files: StateFiles) -> None:
    clock = FakeClock()
    first = Identity(SETTINGS, files, clock)
    clock.advance(-3600)
    second = Identity(SETTINGS, files, clock)
    assert second.boot_id > first.boot_id
    assert second.key == first.key
    assert second.next_header().is_newer_than(first.boot_id, 10**6)


def test_the_outbox_stays_small_and_wishes_a_snapshot() -> None:
    outbox = Outbox()
    assert outbox.take_snapshot_wish()
    assert not outbox.take_snapshot_wish()
    for _ in range(200):
        outbox.put_state("x" * 100_000)
    assert outbox.take_snapshot_wish()
    waiting, dropped = outbox.counts()
    assert waiting <= 60
    assert waiting + dropped == 200


def test_only_the_latest_heartbeat_waits_and_events_go_first() -> None:
    outbox = Outbox()
    beat = Heartbeat("1", "3.13", "", (), True, False, NOW, None, None, 0, 0)
    outbox.put_heartbeat(Report(sent_at=NOW, heartbeat=beat))
    outbox.put_heartbeat(Report(sent_at=NOW + timedelta(minutes=1), heartbeat=beat))
    outbox.put_state('{"sent_at":1}')
    outbox.put_event(Report(sent_at=NOW))
    kinds = [parcel.kind.name for _ in range(4) if (parcel := outbox.take(0))]
    assert kinds == ["EVENT", "STATE", "HEARTBEAT"]


def test_what_could_not_be_sent_keeps_its_place() -> None:
    outbox = Outbox()
    outbox.put_state('{"sent_at":1}')
    outbox.put_state('{"sent_at":2}')
    first = outbox.take(0)
    assert first is not None
    outbox.put_back(first)
    assert outbox.take(0) == first


def rows(count: int, reason: str = "") -> list[ObservedNode]:
    return [
        ObservedNode(f"ip-10-1-{index // 250}-{index % 250}", "idle", "", reason, "", None)
        for index in range(count)
    ]


def test_only_changes_are_told() -> None:
    tracker = Tracker("nodes")
    for wanted_news, wanted_gone, seen in (
        (["a", "b"], [], {"a": 1, "b": 1}),
        ([], [], {"a": 1, "b": 1}),
        (["b"], ["a"], {"b": 2}),
    ):
        tracker.begin(is_full=False)
        assert [key for key, raw in seen.items() if tracker.is_news(key, raw)] == wanted_news
        assert tracker.finish() == wanted_gone
    tracker.begin(is_full=True)
    assert tracker.is_news("b", 2)


def test_a_snapshot_of_5000_nodes_fits_messages_and_says_where_it_ends(files: StateFiles) -> None:
    bodies: list[str] = []
    packer = Packer(FakeClock(), bodies.append, "snap")
    for row in rows(5000, 'a "quoted" reason'):
        packer.add("nodes", row)
    packer.close()
    header = Identity(SETTINGS, files, FakeClock()).next_header()
    reports = [open_envelope(seal(header, body, bytes(32))).report() for body in bodies]
    assert sum(len(report.nodes) for report in reports) == 5000
    chunks = [report.chunk for report in reports if report.chunk]
    assert [chunk.index for chunk in chunks] == list(range(len(bodies)))
    assert [chunk.count for chunk in chunks] == [0] * (len(bodies) - 1) + [len(bodies)]


def test_the_log_tells_how_a_hold_was_lost(tmp_path: Path) -> None:
    log = tmp_path / "slurmctld.log"
    log.write_text("[..] slurmctld version 22.05.8 started on cluster uni\n", encoding="utf-8")
    watch = LogWatch()
    assert watch.news() is None
    watch.follow(str(log))
    assert watch.news() is None

    def add(text: str) -> None:
        with log.open("a", encoding="utf-8") as handle:
            handle.write(text)

    add("[..] error: something else\n")
    assert watch.news() is None
    add("[..] update_part: setting state_up to 3 for partition nlp\n")
    assert watch.news() is UndoneBy.UPDATE
    add(
        "[..] Processing Reconfiguration Request\n[..] update_part: setting state_up to 3 for partition nlp\n"
    )
    assert watch.news() is UndoneBy.RECONFIGURE
    log.rename(tmp_path / "slurmctld.log.1")
    log.write_text("[..] slurmctld version 22.05.8 started\n", encoding="utf-8")
    assert watch.news() is UndoneBy.RESTART
    log.unlink()
    assert watch.news() is None


def test_pauses_grow_to_a_ceiling() -> None:
    backoff = Backoff(FakeClock(), 60)
    assert [backoff.failed() for _ in range(8)] == [0.75, 1.5, 3.0, 6.0, 12.0, 24.0, 45.0, 45.0]
    backoff.succeeded()
    assert backoff.failed() == 0.75


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "agent.json"),
        ("[]", "object"),
        ('{"cluster": "c"}', "missing"),
        ('{"cluster": "a b"}', "cluster"),
        ('{"surprise": 1}', "surprise"),
    ],
)
def test_wrong_settings_name_the_field(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "agent.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError, match=words):
        load_settings(path, {})
    with pytest.raises(SettingsError, match="install-agent"):
        load_settings(tmp_path / "none.json", {})
