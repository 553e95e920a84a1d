"""A small part of the budgets' simulation, and that it is to be trusted."""

import pytest

from tests.simulation.budgets.oracle import calendar
from tests.simulation.budgets.play import play
from tests.simulation.budgets.scenario import STARTS, crash_scenario, draw_scenario, with_crash
from tests.simulation.budgets.slurm import SimulatedSlurm
from tests.simulation.budgets.suite import SUITE
from tests.simulation.core.suite import told

BUGS = {bug.name: bug for bug in SUITE.planted}


@pytest.mark.parametrize("seed", range(6))
def test_every_invariant_holds(seed: int) -> None:
    result = play(draw_scenario(seed))

    assert result.broken is None, "\n".join(told(result))


@pytest.mark.parametrize(
    "name",
    [
        "a FORECASTED figure holds",
        "nothing is ever released",
        "the agent overwrites an administrator's drain",
        "GrpJobs is used though a QOS voids it",
        "a partition is not held again after a reconfigure",
    ],
)
def test_a_planted_bug_is_caught(name: str) -> None:
    with BUGS[name].planted():
        caught = [seed for seed in range(3) if play(draw_scenario(seed)).broken is not None]

    assert caught


def test_a_planted_bug_is_taken_back() -> None:
    before = [vars(owner)[name] for bug in SUITE.planted for owner, name, _ in bug.patches()]
    for bug in SUITE.planted:
        with bug.planted():
            pass
    after = [vars(owner)[name] for bug in SUITE.planted for owner, name, _ in bug.patches()]

    assert before == after


def test_one_seed_is_one_run() -> None:
    first, second = (play(draw_scenario(5)) for _ in range(2))

    assert first.story.lines == second.story.lines
    assert first.calls == second.calls > 500


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize("call", [5, 40, 90])
def test_a_crash_at_a_call_is_survived(call: int, *, is_after: bool) -> None:
    result = play(with_crash(crash_scenario(), call, is_after))

    assert result.broken is None, "\n".join(told(result))
    assert any(f"dies {'after' if is_after else 'before'}" in what for _, _, what in result.story.lines)


def test_seeds_hold_and_release_and_cross_borders() -> None:
    lines = [what for seed in range(6) for _, _, what in play(draw_scenario(seed)).story.lines]

    for wanted in (
        "(limit_reached)",
        "(new_period)",
        "GrpJobs=0",
        "State=DOWN",
        "rev 2 released",
        "new jobs are held",
    ):
        assert any(wanted in line for line in lines), wanted


def test_the_oracles_calendar() -> None:
    leap = STARTS[1]

    assert [f"{at:%Y-%m-%d}" for at in calendar("MONTHLY", leap)] == ["2028-02-01", "2028-03-01"]
    assert [f"{at:%Y-%m-%d}" for at in calendar("DAILY", leap)] == ["2028-02-29", "2028-03-01"]
    assert [f"{at:%Y-%m-%d}" for at in calendar("QUARTERLY", leap)] == ["2028-01-01", "2028-04-01"]
    assert [f"{at:%Y-%m-%d}" for at in calendar("ANNUALLY", leap)] == ["2028-01-01", "2029-01-01"]


def test_the_simulated_slurm_voids_a_limit_by_a_qos() -> None:
    slurm = SimulatedSlurm()
    slurm.qos["prio"] = {"GrpJobs": 50, "GrpSubmitJobs": None, "GrpTRES/node": None}
    slurm.limits["phys"]["GrpJobs"] = 0

    assert slurm.why_waiting("phys-a", "gpu", "normal") == "AssocGrpLimit"
    assert slurm.why_waiting("phys-a", "gpu", "prio") is None
    assert slurm.why_waiting("bio", "gpu", "normal") is None
    slurm.states["gpu"] = "DOWN"
    slurm.reconfigure()
    assert slurm.why_waiting("bio", "gpu", "normal") is None
