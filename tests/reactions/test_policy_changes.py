"""A policy is written: validated first, and only then in force."""

import pytest

from proctor.domain.decision import Mode
from proctor.domain.errors import ThrottledError
from tests.fakes.events import policy_event
from tests.fakes.taps import FailAt
from tests.fakes.world import World

NAME = "/proctor/alpha/session_limits"


def fresh() -> World:
    world = World()
    world.add_person("ada")
    return world


@pytest.mark.parametrize("bound", [Mode.APPLY, Mode.DRY_RUN])
def test_a_valid_version_is_put_in_force_even_while_the_stack_is_in_dry_run(bound: Mode) -> None:
    world = fresh()
    world.bound = bound
    world.write_policy("{}", in_force=False)

    assert world.deliver(policy_event()) == []
    assert world.policies.labels == {NAME: 1}
    assert world.verdicts.latest["policy#alpha"].status.value == "applied"
    assert world.verdicts.latest["policy#alpha"].verdict.text == f"{NAME} version 1: valid"


def test_a_bad_version_is_refused_told_with_its_field_and_the_last_good_one_stays() -> None:
    world = fresh()
    world.write_policy({"mode": "apply", "cap": {"max_sessions": 1}})
    world.write_policy({"mode": "apply", "cap": {"max_sessions": 0}}, in_force=False)

    assert world.deliver(policy_event()) == []
    assert world.policies.labels == {NAME: 1}
    (notice,) = world.operators.published
    assert "version 2 is refused" in notice.headline
    assert "max_sessions must be 1 or more" in notice.text
    for _ in range(2):
        world.start_session("ada")
    assert len(world.live("ada")) == 1


def test_a_bad_version_is_told_once_however_often_it_is_seen() -> None:
    world = fresh()
    world.write_policy("{}")
    world.write_policy("{", in_force=False)
    for _ in range(4):
        world.deliver(policy_event())
        world.clock.advance(minutes=2)
        world.sweep()

    assert len(world.operators.published) == 1


def test_a_corrected_version_is_put_in_force() -> None:
    world = fresh()
    world.write_policy("{", in_force=False)
    world.deliver(policy_event())
    assert world.policies.labels == {}

    world.write_policy("{}", in_force=False)
    world.deliver(policy_event())
    assert world.policies.labels == {NAME: 2}


def test_the_sweep_finds_a_version_whose_event_was_lost() -> None:
    world = fresh()
    world.write_policy({"mode": "apply", "cap": {"max_sessions": 1}}, in_force=False)
    world.sweep()
    assert world.policies.labels == {NAME: 1}


def test_the_label_s_own_event_does_nothing() -> None:
    world = fresh()
    world.write_policy("{}", in_force=False)

    assert world.deliver(policy_event(operation="LabelParameterVersion")) == []
    assert world.policies.labels == {}


def test_a_policy_of_a_cluster_that_is_not_governed_is_left_alone() -> None:
    world = fresh()

    assert world.deliver(policy_event("omega")) == []
    assert world.verdicts.latest == {}
    assert world.parking.parked == []


def test_a_label_that_could_not_be_moved_is_moved_by_the_next_sweep() -> None:
    world = fresh()
    world.write_policy("{}", in_force=False)
    world.taps.active.append(FailAt(lambda: ThrottledError("slow down"), name="policies.put_in_force"))

    assert world.deliver(policy_event()) == []
    assert world.verdicts.latest["policy#alpha"].status.value == "failed"
    world.clock.advance(minutes=2)
    world.sweep()
    assert world.policies.labels == {NAME: 1}


def test_a_version_written_between_validation_and_label_does_not_get_the_label_unseen() -> None:
    world = fresh()
    world.write_policy("{}", in_force=False)

    class WriteMeanwhile:
        def before(self, call: object) -> None:
            if getattr(call, "name", "") == "policies.put_in_force" and world.policies.labels == {}:
                world.policies.write("alpha", "{")

        def after(self, call: object) -> None:
            pass

    world.taps.active.append(WriteMeanwhile())
    world.deliver(policy_event())
    assert world.policies.labels == {NAME: 1}
    assert world.verdicts.latest["policy#alpha"].status.value == "applied"


def test_a_cluster_without_any_policy_has_nothing_done_and_its_operators_told_once_a_day() -> None:
    world = fresh()
    for _ in range(9):
        world.start_session("ada")
    for _ in range(3):
        world.sweep()
        world.clock.advance(minutes=2)

    assert len(world.live("ada")) == 9
    assert world.outcome("ada@uni.example-0001").verdict.text == "alpha has no policy in force"
    assert [n.headline for n in world.operators.published] == [
        "Proctor: alpha has no policy for session_limits"
    ]
    world.clock.advance(hours=24)
    world.sweep()
    assert len(world.operators.published) == 2


def test_a_new_cap_reaches_those_who_are_there_already() -> None:
    world = fresh()
    world.write_policy({"mode": "apply", "cap": {"max_sessions": 3}})
    for _ in range(3):
        world.start_session("ada")
    world.write_policy({"mode": "apply", "cap": {"max_sessions": 1}}, in_force=False)
    world.deliver(policy_event())
    world.sweep()

    assert len(world.live("ada")) == 1
