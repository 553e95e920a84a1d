"""budget_holds and the agent in the simulation."""

from tests.simulation.budgets.planted.acting import ACTING
from tests.simulation.budgets.planted.deciding import DECIDING
from tests.simulation.budgets.planted.holding import HOLDING
from tests.simulation.budgets.play import play
from tests.simulation.budgets.scenario import crash_scenario, draw_scenario, parts, with_crash
from tests.simulation.core.suite import Suite

SUITE = Suite(
    name="budget_holds",
    draw=draw_scenario,
    play=play,
    parts=parts,
    planted=(*DECIDING, *ACTING, *HOLDING),
    crash_scenario=crash_scenario,
    with_crash=with_crash,
)
