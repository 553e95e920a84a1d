"""Holds that were undone one after another: the record shows the newest, history the others, and each alarms once."""

from datetime import timedelta

from proctor.domain.agent_protocol import Role, Undone, UndoneBy
from tests.fakes.agent_world import AgentWorld
from tests.fakes.values import NOW
from tests.reactions.agent_reports.rows import sent

SUBJECT = "undone#alpha"


def undone(by: UndoneBy, sk: str = "partition#gpu", minutes: int = 0) -> Undone:
    at = NOW + timedelta(minutes=minutes)
    return Undone(sk, "UP", by, at, at + timedelta(seconds=4))


def texts(world: AgentWorld) -> list[str]:
    """What the record says, newest first."""
    past = [o.verdict.text for o in world.verdicts.history.get(SUBJECT, [])]
    return [world.verdicts.latest[SUBJECT].verdict.text, *reversed(past)]


def test_a_later_undo_of_another_kind_or_of_another_hold_is_shown() -> None:
    world = AgentWorld()
    controller = world.controller()
    told = [
        undone(UndoneBy.RECONFIGURE),
        undone(UndoneBy.UPDATE, minutes=5),
        undone(UndoneBy.UPDATE, "account#lab1", minutes=5),
        undone(UndoneBy.RECONFIGURE, minutes=9),
    ]
    for one in told:
        world.deliver(controller.report(sent(undone=(one,))), role=Role.CONTROLLER)

    found = texts(world)
    assert len(found) == len(world.operators.published) == 4
    assert "partition#gpu was seen as UP at 10:09:00 UTC: slurmctld was reconfigured" in found[0]
    assert "account#lab1" in found[1]
    assert "somebody changed it with scontrol" in found[2]
    assert "10:00:00" in found[3]


def test_the_same_undo_told_again_alarms_once_and_takes_nothing_from_a_later_one() -> None:
    world = AgentWorld()
    controller = world.controller()
    first = controller.report(sent(undone=(undone(UndoneBy.RESTART),)))
    second = controller.report(sent(undone=(undone(UndoneBy.UPDATE, minutes=3),)))
    for message in (first, second, first, second, first):
        world.deliver(message, role=Role.CONTROLLER)

    assert len(world.operators.published) == 2
    assert ["scontrol" in text for text in texts(world)] == [True, False]
