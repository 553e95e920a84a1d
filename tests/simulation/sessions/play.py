"""Plays one seed, with its checks, and says what came of it."""

from dataclasses import dataclass

from tests.simulation.core.story import Story
from tests.simulation.core.violation import ViolationError
from tests.simulation.sessions.checks_final import check_same_end, check_settled, check_survivors, sweep_only
from tests.simulation.sessions.scenario import Scenario
from tests.simulation.sessions.university import University


@dataclass(frozen=True, slots=True)
class Result:
    """One run. `broken` None: every invariant held."""

    scenario: Scenario
    world: University
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
    """Run a scenario; in a still world also once more by the sweep alone."""
    world = University(scenario)
    try:
        world.run()
        check_settled(world)
        if scenario.is_still:
            check_survivors(world)
        if scenario.is_played_twice:
            alone = University(sweep_only(scenario))
            alone.run()
            check_settled(alone)
            check_same_end(world, alone)
    except ViolationError as broken:
        return Result(scenario, world, broken)
    return Result(scenario, world, None)
