"""Every scenario of the three functions, on the deployed stack, from what wakes them to what is recorded."""

import pytest

from tests.e2e.scenarios import SCENARIOS
from tests.e2e.world import World

pytestmark = pytest.mark.stack


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_scenario(world: World, name: str) -> None:
    world.local.clear_denials()
    SCENARIOS[name](world)
    world.settle_all()
    assert world.refusals() == []
    assert [letter for f in world.functions.values() for letter in f.take_dead_letters()] == []
