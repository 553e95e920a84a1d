"""What fails is tried again, five times, and then waits where somebody sees it.

A failed message comes back after the queue's visibility timeout, six minutes in the template. The tests set it to a few
seconds on the live queue; nothing else is changed.
"""

import json
from collections.abc import Iterator

import pytest

from tests.e2e.world import World

pytestmark = [pytest.mark.stack, pytest.mark.timeout(180)]

QUICK_SECONDS, PATIENT_SECONDS = 4, 18
"""The second is longer than botocore's own attempts take, or two copies would work on one message."""

RECEIVES, BOTOCORE_ATTEMPTS = 5, 5


@pytest.fixture
def impatient(world: World) -> Iterator[World]:
    """The world with a queue that gives a failed message back soon."""
    world.settle()
    set_visibility(world, QUICK_SECONDS)
    yield world
    world.stack.purge()
    set_visibility(world, 360)


def set_visibility(world: World, seconds: int) -> None:
    url = world.stack.outputs["SessionLimitsQueueUrl"]
    attributes = {"VisibilityTimeout": str(seconds)}
    world.local.aws().call("sqs", "SetQueueAttributes", QueueUrl=url, Attributes=attributes)


def test_a_listing_that_stays_throttled_keeps_the_event_in_the_queue(impatient: World) -> None:
    world = impatient
    ada = world.someone()
    kept = world.starts(ada, 3)
    world.settle()
    set_visibility(world, PATIENT_SECONDS)
    # A sweep that lists sessions too would take some of the throttled answers.
    with world.stack.without_rules("SessionLimitsSweepRule"):
        world.local.settings(throttle_next={"DescribeSessions": BOTOCORE_ATTEMPTS})
        newest = world.start(ada)
        world.wait(lambda: world.is_ended(newest), "the end, one delivery later", 60)
    retried = [line for line in world.stack.log_lines() if "record will be retried" in line]
    assert any("ThrottledError" in line for line in retried)
    world.expect_kept(*kept)
    assert world.stack.take_dead_letters() == []


def test_a_function_that_cannot_start_leaves_its_events_to_the_operators(impatient: World) -> None:
    world = impatient
    ada = world.someone()
    kept = world.starts(ada, 3)
    world.settle()
    variables = world.stack.configuration()["Environment"]["Variables"]
    without = {name: value for name, value in variables.items() if name != "PROCTOR_SENDER"}
    world.stack.configure(Environment={"Variables": without})
    try:
        newest = world.start(ada)
        world.wait(lambda: world.stack.depth("DeadLetterQueue")[0] == 1, "the dead letter", 90)
        world.expect_alarm("dead-letters")
        world.expect_alarm("errors")
    finally:
        world.stack.configure(Environment={"Variables": variables})
    (letter,) = world.stack.take_dead_letters()
    assert json.loads(letter)["detail"]["responseElements"]["sessionId"] == newest
    assert not world.is_ended(newest)
    lines = [line for line in world.stack.log_lines() if "PROCTOR_SENDER" in line]
    assert len(lines) >= RECEIVES
    world.stack.sweep()
    world.expect_ended(newest)
    world.expect_kept(*kept)
