"""The controller's lanes on fakes: who acts, what is told, what happens when Slurm does not answer."""

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from proctor.domain.agent_protocol import (
    Intent,
    Outcome,
    PartitionState,
    Report,
    SetPartitionState,
    UndoneBy,
    controller_pk,
    decode,
)
from proctor_agent.controller import Controller
from proctor_agent.errors import SlurmError
from proctor_agent.holds.reconciler import Mode
from proctor_agent.lane import Shared
from proctor_agent.outbox import Outbox
from proctor_agent.slurm.reads import SlurmReads
from proctor_agent.state.files import StateFiles
from proctor_agent.state.intents import IntentBook
from proctor_agent.state.records import Records
from tests.agent.unit.fake_commands import CONFIG, FakeCommands
from tests.agent.unit.values import FakeClock

PK = controller_pk("ml-cluster")
TWO_CONTROLLERS = (*CONFIG, "SlurmctldHost[1] = ip-10-0-0-2(10.0.0.2)")


class Bench:
    """A controller on fakes."""

    def __init__(self, folder: Path, commands: FakeCommands | None = None, host: str = "ip-10-0-0-1") -> None:
        self.clock = FakeClock()
        self.commands = commands or FakeCommands()
        files = StateFiles(folder / "state")
        self.outbox = Outbox()
        self.records = Records(files)
        self.book = IntentBook(files, PK)
        shared = Shared(self.book, self.records, self.outbox, self.clock, frozenset({host}))
        self.controller = Controller(self.commands, SlurmReads(self.commands), shared, Mode())

    def item(self, partition: str, rev: int = 1, **changes: Any) -> dict[str, Any]:
        verb = SetPartitionState(partition, PartitionState.DOWN)
        expires_at = self.clock.now() + timedelta(days=1)
        return Intent(PK, verb, True, "budget_holds", rev, expires_at).to_item() | changes

    def reports(self) -> list[Report]:
        found = []
        while (parcel := self.outbox.take(0)) is not None:
            found.append(decode(Report, json.loads(parcel.body)))
        return found

    def step(self, seconds: float = 0) -> None:
        self.clock.advance(seconds)
        self.controller.step_once()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_hold_is_applied_with_the_step_after_the_read(bench: Bench) -> None:
    bench.controller.take_intents([bench.item("nlp")])
    bench.step()
    assert bench.commands.states == {"nlp": "DOWN", "vision": "UP"}
    results = [result for report in bench.reports() for result in report.results]
    assert [(result.sk, result.outcome) for result in results] == [("partition#nlp", Outcome.APPLIED)]


def test_an_unchanged_outcome_is_told_once_and_again_with_a_snapshot(bench: Bench) -> None:
    bench.controller.take_intents([bench.item("nlp")])
    for _ in range(5):
        bench.step(5)
    bench.reports()
    bench.step(5)
    assert [result for report in bench.reports() for result in report.results] == []
    bench.outbox.ask_snapshot()
    bench.step(60)
    bench.step(5)
    assert [result.sk for report in bench.reports() for result in report.results] == ["partition#nlp"]


def test_an_undone_hold_is_back_with_the_next_look(bench: Bench) -> None:
    bench.controller.take_intents([bench.item("nlp")])
    bench.step()
    bench.commands.states["nlp"] = "UP"
    bench.step(1)
    assert bench.commands.states["nlp"] == "UP"
    bench.step(4)
    assert bench.commands.states["nlp"] == "DOWN"
    (undone,) = [undone for report in bench.reports() for undone in report.undone]
    assert (undone.sk, undone.seen, undone.by, undone.reheld_at) == (
        "partition#nlp", "UP", UndoneBy.UNKNOWN, bench.clock.now(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ping", "host", "acts"),
    [
        (
            ["Slurmctld(primary) at ip-10-0-0-1 is UP", "Slurmctld(backup) at ip-10-0-0-2 is UP"],
            "ip-10-0-0-1",
            True,
        ),
        (
            ["Slurmctld(primary) at ip-10-0-0-1 is UP", "Slurmctld(backup) at ip-10-0-0-2 is UP"],
            "ip-10-0-0-2",
            False,
        ),
        (
            ["Slurmctld(primary) at ip-10-0-0-1 is DOWN", "Slurmctld(backup) at ip-10-0-0-2 is UP"],
            "ip-10-0-0-2",
            True,
        ),
        (
            ["Slurmctld(primary) at ip-10-0-0-1 is DOWN", "Slurmctld(backup) at ip-10-0-0-2 is DOWN"],
            "ip-10-0-0-1",
            False,
        ),
        ([], "ip-10-0-0-1", False),
    ],
)
def test_of_two_controllers_only_the_acting_one_acts(
    tmp_path: Path, ping: list[str], host: str, acts: bool
) -> None:
    commands = FakeCommands(TWO_CONTROLLERS)
    commands.ping = ping
    bench = Bench(tmp_path, commands, host)
    bench.controller.take_intents([bench.item("nlp")])
    bench.step()
    assert bool(commands.writes) is acts
    assert bench.controller.fast.is_acting is acts


def test_a_takeover_is_followed_within_five_seconds(tmp_path: Path) -> None:
    commands = FakeCommands(TWO_CONTROLLERS)
    commands.ping = ["Slurmctld(primary) at ip-10-0-0-1 is UP", "Slurmctld(backup) at ip-10-0-0-2 is UP"]
    bench = Bench(tmp_path, commands, "ip-10-0-0-2")
    bench.controller.take_intents([bench.item("nlp")])
    bench.step()
    assert commands.writes == []
    commands.ping[0] = "Slurmctld(primary) at ip-10-0-0-1 is DOWN"
    bench.step(5)
    assert commands.states["nlp"] == "DOWN"


def test_a_silent_slurm_is_asked_once_a_pass_and_told(bench: Bench) -> None:
    bench.controller.take_intents([bench.item("nlp"), bench.item("vision")])
    bench.step()
    bench.commands.states.update(nlp="UP", vision="UP")
    bench.commands.writes.clear()
    tried: list[Sequence[str]] = []

    def fail(argv: Sequence[str]) -> SlurmError | None:
        if "update" not in argv:
            return None
        tried.append(argv)
        return SlurmError("scontrol: no answer within 30 s", is_silent=True)

    bench.commands.fail = fail
    bench.step(5)
    assert len(tried) == 1
    assert bench.controller.problems() == ("slurm: scontrol: no answer within 30 s",)
    bench.commands.fail = lambda _argv: None
    bench.step(1)
    assert bench.commands.states == {"nlp": "DOWN", "vision": "DOWN"}
    assert bench.controller.problems() == ()


def test_one_that_slurm_refuses_does_not_stop_the_others(bench: Bench) -> None:
    bench.commands.fail = lambda argv: (
        SlurmError("scontrol: slurm_update error: Invalid partition name specified")
        if "PartitionName=nlp" in argv
        else None
    )
    bench.controller.take_intents([bench.item("nlp"), bench.item("vision")])
    bench.step()
    assert bench.commands.states == {"nlp": "UP", "vision": "DOWN"}
    assert [result.outcome for result in bench.controller.results()] == [Outcome.FAILED, Outcome.APPLIED]


def test_a_slurm_that_says_yes_and_does_not_is_unconfirmed(bench: Bench) -> None:
    class Deaf(dict[str, str]):
        def __setitem__(self, key: str, value: str) -> None:
            return

    bench.commands.states = Deaf(bench.commands.states)
    bench.controller.take_intents([bench.item("nlp")])
    bench.step()
    (result,) = bench.controller.results()
    assert (result.outcome, result.detail) == (Outcome.UNCONFIRMED, "done, but Slurm does not show it yet")


def test_an_unreadable_section_is_told_and_the_snapshot_stays_open(bench: Bench) -> None:
    bench.commands.fail = lambda argv: SlurmError("sinfo: broken") if argv[0] == "sinfo" else None
    bench.step()
    assert bench.controller.problems() == ("nodes: sinfo: broken",)
    assert [report.chunk for report in bench.reports() if report.chunk and report.chunk.count] == []
    bench.commands.fail = lambda _argv: None
    bench.step(60)
    assert bench.controller.problems() == ()
    assert [report.chunk.count for report in bench.reports() if report.chunk] == [1]


def test_partitions_are_told_within_five_seconds_without_any_intent(bench: Bench) -> None:
    bench.step()
    bench.reports()
    bench.commands.states["vision"] = "DRAIN"
    bench.step(5)
    assert [(row.name, row.state) for report in bench.reports() for row in report.partitions] == [
        ("vision", "DRAIN")
    ]


def test_while_paused_nothing_is_held_nor_released(bench: Bench) -> None:
    pause = {"pk": PK, "sk": "control#pause", "is_paused": True, "rev": 1}
    bench.controller.take_intents([bench.item("nlp"), pause])
    bench.step(60)
    assert bench.commands.writes == []
    bench.controller.take_intents([bench.item("nlp"), pause | {"is_paused": False}])
    bench.step()
    assert bench.commands.states["nlp"] == "DOWN"
