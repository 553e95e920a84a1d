"""The scenarios by name. A scenario raises an AssertionError when Proctor does not do what it should."""

from collections.abc import Callable

from tests.e2e.world import World

type Scenario = Callable[[World], None]

SCENARIOS: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    """Enter a function into the catalogue."""
    assert function.__name__ not in SCENARIOS
    SCENARIOS[function.__name__] = function
    return function
