"""Accounting is read once a minute, but no hold is refused for accounting that is older than the hold."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from proctor.domain.agent_protocol import Intent, IntentResult, LimitAccount, Outcome, controller_pk
from proctor_agent.errors import SlurmError
from proctor_agent.holds.reconciler import Mode, Reconciler
from proctor_agent.holds.view import AccountingCache
from proctor_agent.slurm.reads import SlurmReads
from proctor_agent.state.files import StateFiles
from proctor_agent.state.records import Records
from tests.agent.unit.fake_accounting import ASSOCIATIONS, FakeAccounting
from tests.agent.unit.values import FakeClock


class Bench:
    """A reconciler over one cache, as a lane has it: nobody forgets the cache here."""

    def __init__(self, folder: Path) -> None:
        self.slurm, clock = FakeAccounting(), FakeClock()
        reads = SlurmReads(self.slurm)
        records = Records(StateFiles(folder / "state"))
        cache = AccountingCache(reads)
        self._reconciler = Reconciler(self.slurm, reads, cache, records, clock, Mode())

    def look(self, *accounts: str, rev: int = 1) -> list[IntentResult]:
        """One pass over a hold of each account."""
        expires_at = datetime(2027, 1, 1, tzinfo=UTC)
        pk = controller_pk("uni")
        return self._reconciler.run(
            Intent(pk, LimitAccount(name), True, "budget_holds", rev, expires_at) for name in accounts
        ).results

    def outcomes(self, *accounts: str, rev: int = 1) -> list[Outcome]:
        return [result.outcome for result in self.look(*accounts, rev=rev)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    assert made.outcomes("physics") == [Outcome.APPLIED]
    return made


def test_an_account_made_since_the_last_reading_is_held_at_once(bench: Bench) -> None:
    bench.slurm.accounts["optics"] = ""
    assert bench.outcomes("physics", "optics") == [Outcome.APPLIED, Outcome.APPLIED]
    assert bench.slurm.accounts["optics"] == "0"


def test_several_new_accounts_cost_one_reading(bench: Bench) -> None:
    before = bench.slurm.readings()
    bench.slurm.accounts |= {"optics": "", "music": ""}
    assert bench.outcomes("optics", "music") == [Outcome.APPLIED, Outcome.APPLIED]
    assert bench.slurm.readings() == before + 1


def test_an_account_that_slurm_lacks_is_looked_for_once_a_revision(bench: Bench) -> None:
    before = bench.slurm.readings()
    for _ in range(5):
        (result,) = bench.look("nobody")
        assert (result.outcome, result.detail) == (Outcome.REFUSED, "account nobody is not in Slurm")
    assert bench.slurm.readings() == before + 1
    bench.slurm.accounts["nobody"] = ""
    assert bench.outcomes("nobody", rev=2) == [Outcome.APPLIED]


def test_a_qos_that_no_longer_voids_the_hold_is_seen(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.slurm.qos_line = "normal|5||node=3|"
    assert bench.outcomes("physics") == [Outcome.CANNOT_BIND]
    bench.slurm.qos_line = "normal||||"
    assert bench.outcomes("physics", rev=2) == [Outcome.APPLIED]


def test_what_could_not_be_asked_is_asked_again(bench: Bench) -> None:
    bench.slurm.accounts["optics"] = ""
    bench.slurm.fail = lambda argv: (
        SlurmError("sacctmgr: broken") if tuple(argv[3:5]) == ASSOCIATIONS else None
    )
    assert bench.outcomes("optics") == [Outcome.FAILED]
    bench.slurm.fail = lambda _argv: None
    assert bench.outcomes("optics") == [Outcome.APPLIED]
