"""Rule 9: a session over the cap of which no event ever came is an alarm, since then the event path is broken.

The breach is made when the stack is new, and looked for last: an event may be minutes late, and only then is it missing.
"""

import time

import pytest

from tests.e2e.directory import EVENT_GRACE_MINUTES
from tests.e2e.figures import FIGURES
from tests.e2e.world import World

GRACE_SECONDS = EVENT_GRACE_MINUTES * 60 + 2

pytestmark = [pytest.mark.stack, pytest.mark.timeout(GRACE_SECONDS + 120)]


def test_a_breach_that_only_the_sweep_saw_raises_an_alarm(world: World, silent_breach: float) -> None:
    while (left := silent_breach + GRACE_SECONDS - time.monotonic()) > 0:
        time.sleep(min(left, 30.0))
        world.sweep()
    FIGURES["event_path_waited_seconds"] = max(left, 0.0)
    world.sweep()
    world.expect_alarm("breach-without-event")
    world.expect_told("session events do not arrive")
