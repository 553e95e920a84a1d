"""Messages that are lost, repeated, or say what can't be: each budget has an account of its own, held and let go in Slurm."""

from collections.abc import Callable, Iterator

import pytest

from proctor_local.budget_week import cast
from proctor_local.budget_week.slurm_acts import Cluster
from proctor_local.budget_week.university import University
from proctor_local.control import wait_until

pytestmark = [pytest.mark.stack, pytest.mark.slurm, pytest.mark.timeout(300)]

NAMES = ("lost", "twice", "recovering", "jumping", "sick")
_PATH = f"/proctor/{cast.CLUSTER}/budget_holds"


@pytest.fixture(scope="module")
def desk(university: University, cluster: Cluster) -> Iterator[University]:
    """Five departments with a budget each; the functions start afresh, so that they know them.

    Whatever the agent sees change lets budget_holds look at all budgets, and the schedule does too: here both are off, so
    that nothing but what a test does leads to a decision.
    """
    for name in NAMES:
        cluster.slurm.run("sacctmgr", "-i", "-Q", "add", "account", name, f"cluster={cast.CLUSTER}")
        university.make_aws_budget(name, name)
    owner = cast.OWNERS[cast.LINGUISTICS]
    university.write(
        {
            f"{_PATH}/{name}": {
                "aws_budget": name,
                "account": name,
                "is_only_account": True,
                "owner": owner,
            }
            for name in NAMES
        }
    )
    with university.stack.without_rules("BudgetHoldsObservedRule", "BudgetHoldsSweepRule"):
        university.settle()
        university.holds.recycle()
        before = len(university.book.unexpected)
        yield university
    assert university.book.unexpected[before:] == []


def becomes(is_so: Callable[[], object], what: str) -> None:
    wait_until(is_so, 15, what=what)


def is_held(desk: University, name: str) -> bool:
    return bool(desk.intent(f"account#{name}").get("is_held"))


def held_mails(desk: University, name: str) -> int:
    return [m["subject"] for m in desk.local.mails()].count(f"Budget {name}: new jobs are held")


def test_a_lost_message_is_made_up_for_by_the_sweep(desk: University, cluster: Cluster) -> None:
    desk.local.refresh_budget("lost", actual="10040", messages=0)
    desk.settle()
    assert not is_held(desk, "lost")
    desk.holds.recycle()
    desk.holds.sweep()
    becomes(lambda: cluster.is_limited("lost"), "the hold in Slurm")


def test_messages_that_come_again_hold_and_tell_once(desk: University, cluster: Cluster) -> None:
    desk.local.refresh_budget("twice", actual="10040", messages=3)
    desk.holds.sweep()
    becomes(lambda: cluster.is_limited("twice"), "the hold in Slurm")
    desk.settle()
    # Written once, and once more at most, with the former limit that the agent tells of an account it saw first.
    assert desk.intent("account#twice")["rev"] <= 2
    assert held_mails(desk, "twice") == 1


def test_recovery_is_silent_and_the_sweep_lets_go(desk: University, cluster: Cluster) -> None:
    desk.local.refresh_budget("recovering", actual="10040")
    becomes(lambda: cluster.is_limited("recovering"), "the hold in Slurm")
    desk.local.refresh_budget("recovering", actual="9450")
    desk.settle()
    assert is_held(desk, "recovering")
    desk.holds.recycle()
    desk.holds.sweep()
    becomes(lambda: not cluster.is_limited("recovering"), "the limit taken away")
    assert not is_held(desk, "recovering")


def test_a_figure_that_cannot_be_right_waits_for_a_person(desk: University, cluster: Cluster) -> None:
    desk.local.refresh_budget("jumping", actual="90000000")
    becomes(lambda: _alarm(desk, "jumping", "needs_human_jump"), "the operators' alarm")
    desk.settle()
    assert not is_held(desk, "jumping")
    desk.stack.proctor("approve", "jumping", "--justification", "the reserved capacity", "--apply")
    becomes(lambda: cluster.is_limited("jumping"), "the hold in Slurm")


def test_an_unhealthy_budget_changes_nothing(desk: University, cluster: Cluster) -> None:
    desk.local.refresh_budget("sick", actual="10040", health="BILLING_VIEW_UNHEALTHY")
    becomes(lambda: _alarm(desk, "sick", "needs_human_unhealthy"), "the operators' alarm")
    desk.settle()
    assert not is_held(desk, "sick")
    desk.local.refresh_budget("sick", health="HEALTHY")
    desk.holds.recycle()
    desk.holds.sweep()
    becomes(lambda: cluster.is_limited("sick"), "the hold in Slurm")


def _alarm(desk: University, name: str, code: str) -> bool:
    """Whether the operators were alarmed. Each threshold's message looks again, and finds it told already."""
    rows = desk.stack.verdicts(f"alarm#{cast.CLUSTER}#{name}#{code}")
    return any(row["outcome"] == "applied" and name in row["text"] for row in rows)
