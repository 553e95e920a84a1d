"""A controller's agent that said nothing since early in the run. The last of the tests, so that the wait is short."""

from datetime import timedelta

import pytest

from tests.e2e.agents import now
from tests.e2e.directory import GAMMA
from tests.e2e.world import World

pytestmark = pytest.mark.stack

SILENT_AFTER = timedelta(seconds=120)


def test_a_silent_controller_is_told_by_the_sweep(world: World) -> None:
    since = world.agents.silent_since
    world.wait(
        lambda: now() - since > SILENT_AFTER, "two minutes of silence", SILENT_AFTER.total_seconds() + 10
    )
    world.reports.sweep()
    world.expect_told(f"the controller's agent on {GAMMA} is silent")
    world.expect_verdict(f"agents#{GAMMA}", "controller_silent", "applied")
