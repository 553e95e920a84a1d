"""Plays one seed, with its checks, and says what came of it."""

from dataclasses import dataclass

from tests.simulation.budgets.campus import Campus
from tests.simulation.budgets.checks_final import check_settled
from tests.simulation.budgets.scenario import Scenario
from tests.simulation.core.story import Story
from tests.simulation.core.violation import ViolationError


@dataclass(frozen=True, slots=True)
class Result:
    """One run. `broken` None: every invariant held."""

    scenario: Scenario
    world: Campus
    broken: ViolationError | None

    @property
    def story(self) -> Story:
        """What happened."""
        return self.world.story

    @property
    def calls(self) -> int:
        """Port calls made."""
        return self.world.faults.calls


def play(scenario: Scenario) -> Result:
    """Run a scenario."""
    world = Campus(scenario)
    try:
        world.run()
        check_settled(world)
    except ViolationError as broken:
        return Result(scenario, world, broken)
    return Result(scenario, world, None)
