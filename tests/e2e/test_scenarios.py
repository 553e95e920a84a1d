"""Every rule of session_limits, on the deployed stack, from the session's start to its end and its record."""

import pytest

from tests.e2e.scenarios import SCENARIOS
from tests.e2e.world import World

pytestmark = pytest.mark.stack


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_scenario(world: World, name: str) -> None:
    world.local.clear_denials()
    SCENARIOS[name](world)
    world.settle()
    assert world.refusals() == []
    assert world.stack.take_dead_letters() == []
