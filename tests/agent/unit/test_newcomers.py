"""What an operator sets just before a hold is his, although the intent was written without knowing of it."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from proctor.domain.agent_protocol import Intent, LimitAccount, Outcome, ReserveNodes, controller_pk
from proctor_agent.controller import Controller
from proctor_agent.holds.reconciler import Mode
from proctor_agent.lane import Shared
from proctor_agent.outbox import Outbox
from proctor_agent.slurm.reads import SlurmReads
from proctor_agent.state.files import StateFiles
from proctor_agent.state.intents import IntentBook
from proctor_agent.state.records import Records, Status
from tests.agent.unit.fake_accounting import FakeAccounting
from tests.agent.unit.values import FakeClock

PK = controller_pk("uni")
PHYSICS = "account#physics"


class FakeDisk(StateFiles):
    """A directory that takes nothing more while it is full."""

    is_full = False

    def write(self, name: str, value: Any) -> bool:
        return not self.is_full and super().write(name, value)


class Bench:
    """A controller on fakes. `start` makes a new process on the same disk."""

    def __init__(self, folder: Path) -> None:
        self.clock, self.slurm, self.disk = FakeClock(), FakeAccounting(), FakeDisk(folder / "state")
        self.start()

    def start(self) -> None:
        files = self.disk
        self.records = Records(files)
        shared = Shared(IntentBook(files, PK), self.records, Outbox(), self.clock, frozenset({"ip-10-0-0-1"}))
        self.controller = Controller(self.slurm, SlurmReads(self.slurm), shared, Mode())

    def look(self, *items: dict[str, Any]) -> list[Outcome]:
        """One read of the table, and one look a minute later."""
        self.clock.advance(60)
        self.controller.take_intents(list(items))
        self.controller.step_once()
        return [result.outcome for result in self.controller.results()]

    def item(self, rev: int, *, is_held: bool) -> dict[str, Any]:
        expires_at = self.clock.now() + timedelta(days=14)
        before = {"GrpJobs": "-1"}
        verb = LimitAccount("physics")
        return Intent(PK, verb, is_held, "budget_holds", rev, expires_at, before).to_item()

    def hold_and_release(self) -> str:
        """What GrpJobs is after both."""
        self.look(self.item(1, is_held=True))
        assert Outcome.RELEASED in self.look(self.item(2, is_held=False))
        return self.slurm.accounts["physics"]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_zero_set_just_before_the_first_hold_is_the_operators(bench: Bench) -> None:
    assert bench.look() == []
    bench.slurm.accounts["physics"] = "0"
    assert bench.hold_and_release() == "0"


def test_a_zero_that_was_set_beside_a_hold_that_could_not_bind_is_the_operators(bench: Bench) -> None:
    bench.slurm.qos_line = "normal|5||node=3|"
    assert bench.look() == []
    assert bench.look(bench.item(1, is_held=True)) == [Outcome.CANNOT_BIND]
    bench.slurm.accounts["physics"] = "0"
    bench.start()
    assert bench.look(bench.item(2, is_held=False)) == [Outcome.RELEASED]
    assert bench.slurm.accounts["physics"] == "0"


def test_what_stood_in_the_table_at_the_first_read_may_be_ours(bench: Bench) -> None:
    bench.slurm.accounts["physics"] = "0"
    assert bench.hold_and_release() == "-1"


def test_what_came_while_another_controller_was_acting_may_be_of_its_agent(bench: Bench) -> None:
    bench.slurm.config.append("SlurmctldHost[1] = ip-10-0-0-2(10.0.0.2)")
    assert bench.look() == []
    bench.slurm.ping = ["Slurmctld(backup) at ip-10-0-0-2 is UP"]
    assert bench.look(bench.item(1, is_held=True)) == []
    bench.slurm.accounts["physics"] = "0"
    bench.slurm.ping = ["Slurmctld(primary) at ip-10-0-0-1 is UP"]
    assert bench.hold_and_release() == "-1"


def test_an_item_that_was_not_understood_at_first_is_no_newcomer(bench: Bench) -> None:
    bench.slurm.accounts["physics"] = "0"
    bench.look(bench.item(1, is_held=True) | {"verb": "Unheard"})
    assert bench.hold_and_release() == "-1"


def test_a_full_disk_that_says_let_go_is_not_contradicted(bench: Bench) -> None:
    assert bench.look() == []
    assert bench.look(bench.item(1, is_held=False)) == [Outcome.RELEASED]
    bench.disk.is_full = True
    for _ in range(2):
        assert bench.look(bench.item(2, is_held=True)) == [Outcome.FAILED]
    assert bench.slurm.accounts["physics"] == ""
    bench.disk.is_full = False
    assert bench.look(bench.item(2, is_held=True)) == [Outcome.APPLIED]


def test_a_disk_that_was_full_at_the_first_sight_leaves_it_to_the_intent(bench: Bench) -> None:
    assert bench.look() == []
    bench.disk.is_full = True
    assert bench.look(bench.item(1, is_held=True)) == [Outcome.APPLIED]
    bench.disk.is_full = False
    bench.start()
    assert bench.look(bench.item(2, is_held=False)) == [Outcome.RELEASED]
    assert bench.slurm.accounts["physics"] == "-1"


def test_a_standing_hold_is_put_back_on_a_full_disk(bench: Bench) -> None:
    assert bench.look(bench.item(1, is_held=True)) == [Outcome.APPLIED]
    bench.disk.is_full = True
    bench.slurm.accounts["physics"] = ""
    assert bench.look(bench.item(2, is_held=True)) == [Outcome.APPLIED]
    assert bench.slurm.accounts["physics"] == "0"


def test_only_what_a_release_puts_back_is_noted(bench: Bench) -> None:
    verb = ReserveNodes("proctor-hold-nlp-000000", "nlp")
    reserve = Intent(PK, verb, True, "budget_holds", 1, bench.clock.now() + timedelta(days=14))
    assert bench.look() == []
    bench.look(bench.item(1, is_held=False), reserve.to_item())
    noted = bench.records.get(PHYSICS)
    assert noted is not None
    assert noted.status is Status.RELEASED
    kept = bench.records.get(reserve.sk)
    assert kept is None or kept.status is Status.HELD
