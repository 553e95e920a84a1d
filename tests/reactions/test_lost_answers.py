"""An end whose answer got lost: the session may be ending, so it is looked at and not counted as failed."""

from proctor.domain.decision import OutcomeStatus
from tests.fakes.taps import FailAt
from tests.fakes.world import World
from tests.reactions.test_port_errors import ERRORS, failing, run


def unanswered() -> World:
    """Ada is about to be over her cap, and the answer to the end of one of her sessions gets lost."""
    world = failing("sessions.terminate", "transient")
    world.taps.active[:] = [FailAt(ERRORS["transient"], name="sessions.terminate", after_call=True)]
    return world


def test_an_end_whose_answer_got_lost_is_read_back() -> None:
    world = unanswered()

    assert run(world, "event") == []
    assert world.outcome("ada@uni.example-0003").status is OutcomeStatus.APPLIED
    assert len(world.mail.sent) == 1


def test_an_end_whose_answer_got_lost_and_that_is_listed_late_takes_no_other_session_with_it() -> None:
    world = unanswered()
    world.sessions.slow["ada@uni.example-0003"] = 8

    assert run(world, "event") == []
    assert world.outcome("ada@uni.example-0003").status is OutcomeStatus.UNCONFIRMED
    world.clock.advance(seconds=5)
    fourth = world.start_session("ada")
    world.sweep()
    assert set(world.sessions.terminate_calls) == {"ada@uni.example-0003", fourth.session_id}
    assert world.live("ada") >= {"ada@uni.example-0001", "ada@uni.example-0002"}


def test_an_end_that_never_reached_the_service_is_asked_for_again() -> None:
    world = failing("sessions.terminate", "transient")

    assert run(world, "event") == []
    assert world.outcome("ada@uni.example-0003").status is OutcomeStatus.UNCONFIRMED
    world.taps.active.clear()
    for _ in range(3):
        world.clock.advance(minutes=2)
        world.sweep()
    assert len(world.live("ada")) == 2
    assert len(world.mail.sent) == 1
