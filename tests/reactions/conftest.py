"""A university of one cluster: ada may have two sessions, and everything is really done."""

from typing import Any

import pytest

from tests.fakes.world import World


def university(**policy: Any) -> World:
    """Ada on cluster alpha; the policy's fields over a cap of two in mode apply."""
    world = World()
    world.add_person("ada")
    world.write_policy({"mode": "apply", "cap": {"max_sessions": 2}, **policy})
    return world


@pytest.fixture
def world() -> World:
    return university()
