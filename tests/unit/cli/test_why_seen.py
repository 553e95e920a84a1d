"""`proctor why`: what is seen counts over what was reported, and what can't be asked for is said."""

from datetime import timedelta

import pytest

from proctor_cli.exits import Exit
from tests.fakes import budget_values as values
from tests.unit.cli.desk import NOW
from tests.unit.cli.holds_desk import HoldsDesk
from tests.unit.cli.test_why_slurm import _ask, _held_partition


def test_a_hold_said_to_be_in_force_that_slurm_does_not_show_is_none(slurm: HoldsDesk) -> None:
    _held_partition(slurm)
    slurm.see("partitions", values.partition("gpu", state="UP"))
    data = _ask(slurm, "partition", "gpu")
    assert (data["conclusion"], data["slurm_state"], data["holds"][0]["status"]) == (
        "not_in_force",
        "UP",
        "not_seen",
    )
    told = " ".join(slurm.desk.run("why", "partition", "gpu").out.split())
    assert "the agent reported State=DOWN in force, but Slurm shows State=UP" in told
    assert "; in force" not in told
    slurm.see("partitions", values.partition("gpu", state="DOWN"))
    assert _ask(slurm, "partition", "gpu")["conclusion"] == "held"


@pytest.mark.parametrize("job_id", ["abc", "4711_", "-1", "4711.batch", "4711_x"])
def test_what_is_no_job_id_is_a_usage_error(slurm: HoldsDesk, job_id: str) -> None:
    printed = slurm.desk.run("why", "job", "--", job_id)
    assert printed.exit == Exit.USAGE
    assert "give the number that squeue shows, e.g. 4711, or 4711_3 for a task of an array" in printed.err


@pytest.mark.parametrize("job_id", ["4711", "4711_3", "4711_[1-9%2]", "4711+1"])
def test_a_job_id_as_squeue_shows_it_is_looked_for(slurm: HoldsDesk, job_id: str) -> None:
    assert slurm.desk.run("why", "job", job_id).exit == Exit.NOT_FOUND


def test_root_is_an_account_like_any_other(slurm: HoldsDesk) -> None:
    data = _ask(slurm, "account", "root")
    assert (data["conclusion"], data["accounts_above"]) == ("not_held", [])
    assert data["accounts_below"] == ["lab1", "lab1-nlp", "lab1-vision", "lab2"]
    assert "above it nothing: it is the top" in " ".join(slurm.desk.run("why", "account", "root").out.split())
    slurm.desk.now = NOW + timedelta(minutes=5)
    assert slurm.desk.run("why", "account", "root").exit == Exit.OK
