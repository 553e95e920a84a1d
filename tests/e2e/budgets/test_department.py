"""The scene of `make run`, act by act: what was measured, who was told, and that nothing else happened."""

import pytest

from proctor_local.budget_week import cast
from proctor_local.budget_week.university import University
from tests.e2e.budgets.week import Week

pytestmark = [pytest.mark.stack, pytest.mark.slurm, pytest.mark.timeout(300)]

MEASURED = {
    "hold in force in Slurm after AWS had the figure": 5.0,
    "start of an innocent's job": 5.0,
    "held again after sacctmgr": 10.0,
    "partition held after its use was reported": 5.0,
    "held again after scontrol reconfigure": 10.0,
    "held again after scontrol update": 10.0,
    "start of the waiting job after the release": 10.0,
    "partition up after the sweep of the new period": 10.0,
}


@pytest.mark.parametrize("what", list(MEASURED))
def test_it_is_as_fast_as_promised(week: Week, what: str) -> None:
    assert week.seconds[what] <= MEASURED[what]


def test_everything_measured_is_listed_here(week: Week) -> None:
    assert week.seconds.keys() == MEASURED.keys()


def test_nothing_unexpected_happened(week: Week) -> None:
    """Among it: no running job ended, no job of another account delayed, what was released by hand stayed so."""
    assert week.unexpected == ()


def test_each_hold_was_written_and_let_go_once(week: Week) -> None:
    assert (week.tallies["WriteIntent applied"], week.tallies["WithdrawIntent applied"]) == (2, 2)
    assert {row["sk"]: (row["is_held"], row["owner"]) for row in week.intents} == {
        f"account#{cast.LINGUISTICS}": (False, "budget_holds"),
        f"partition#{cast.VISION}": (False, "budget_holds"),
    }


@pytest.mark.parametrize(
    ("receiver", "subjects"),
    [
        (
            cast.OWNERS[cast.LINGUISTICS],
            {
                "Budget linguistics: 80 % is spent",
                "Budget linguistics: new jobs are held",
                "Budget linguistics: its hold is released",
            },
        ),
        (cast.MEMBERS[cast.LINGUISTICS], {"Your jobs on alpha wait: budget linguistics"}),
    ],
)
def test_people_are_told_once(week: Week, receiver: str, subjects: set[str]) -> None:
    heard = [mail["subject"] for mail in week.mails if f"{receiver}@{cast.DOMAIN}" in mail["to"]]
    assert len(heard) == len(set(heard))
    # AWS's figure stands at 99 % for a while, of which no message tells: a look in between does, none does not.
    assert subjects <= set(heard) <= subjects | {"Budget linguistics: 90 % is spent"}


def test_no_role_lacks_anything_and_nothing_is_lost(week: Week) -> None:
    assert (week.refusals, week.dead_letters) == ([], [])


def test_the_agent_enrolled_as_the_controller(week: Week, university: University) -> None:
    (agent,) = week.agents
    assert (agent["state"], agent["role"]) == ("enrolled", "controller")
    assert agent["instance_id"] == university.controller["instance_id"]
