"""Who may not be there whatever the count, and whom nothing touches."""

import pytest

from proctor_local.aws_client import AwsError
from tests.e2e.catalogue import scenario
from tests.e2e.directory import BREAK_GLASS_ROLE, DELTA, GAMMA
from tests.e2e.world import World

COMMAND = "AWS-StartInteractiveCommand"


@scenario
def a_disabled_person_may_have_no_session(world: World) -> None:
    world.expect_ended(world.start(world.someone("disabled")), "person_disabled")


@scenario
def a_closed_instance_group_is_closed(world: World) -> None:
    controller = world.target(group="controller")
    world.expect_ended(world.start(world.someone(), controller), "node_group_not_allowed")
    world.expect_kept(world.start(world.someone("staff"), controller))


@scenario
def an_unmapped_owner_is_reported_and_left_alone(world: World) -> None:
    session_id = world.start("stranger")
    world.expect_verdict(f"session#{session_id}", "unmapped_owner")
    world.expect_told("unmapped owner")
    world.expect_kept(session_id)


@scenario
def a_run_as_name_that_cannot_run_is_reported(world: World) -> None:
    rootly = world.someone("rootly")
    session_id = world.start(rootly)
    world.expect_verdict(f"session#{session_id}", "unmapped_run_as")
    world.expect_told(f"unmapped run as ({rootly})")
    world.expect_kept(session_id)


@scenario
def a_name_under_a_role_of_ones_own_choice_is_not_believed(world: World) -> None:
    ada = world.someone()
    mine = world.starts(ada, 3)
    taken = world.start(ada, role="role/HomeMade")
    world.expect_verdict(f"session#{taken}", "unmapped_owner")
    world.expect_kept(taken, *mine)


@scenario
def a_document_that_may_skip_run_as_is_reported(world: World) -> None:
    ada = world.someone()
    session_id = world.start(ada, document=COMMAND)
    world.expect_verdict(f"session#{session_id}", "document_not_allowed")
    world.expect_told(f"document not allowed ({ada})")
    world.expect_kept(session_id)


@scenario
def break_glass_people_are_reported_and_never_ended(world: World) -> None:
    admin = world.someone("admin")
    started = world.starts(admin, 5)
    for session_id in started:
        world.expect_verdict(f"session#{session_id}", "break_glass")
        world.expect_told(session_id)
    world.expect_kept(*started)


@scenario
def a_break_glass_role_is_never_ended(world: World) -> None:
    ada = world.someone()
    started = [world.start(ada, role=BREAK_GLASS_ROLE) for _ in range(4)]
    world.expect_verdict(f"session#{started[-1]}", "break_glass")
    world.sweep()
    world.expect_kept(*started)


@scenario
def a_protected_person_is_never_ended(world: World) -> None:
    dean = world.someone("protected")
    *kept, newest = world.starts(dean, 4)
    verdict = world.expect_verdict(f"session#{newest}", "over_cap", "withheld")
    assert verdict["detail"] == "a protected subject"
    world.expect_kept(*kept, newest)


@scenario
def a_session_on_another_machine_is_none_of_ours(world: World) -> None:
    ada = world.someone()
    machine = world.local.add_target("i-0123456789abcdef0")
    foreign = world.starts(ada, 4, machine)
    world.expect_verdict(f"session#{foreign[-1]}", "not_ours")
    world.sweep()
    mine = world.starts(ada, 3)
    world.expect_kept(*foreign, *mine)


@scenario
def a_call_that_failed_is_no_session(world: World) -> None:
    ada = world.someone()
    kept = world.starts(ada, 3)
    with pytest.raises(AwsError, match="TargetNotConnected"):
        world.person(ada).start_session("i-0ffffffffffffffff")
    world.expect_kept(*kept)


@scenario
def in_dry_run_everything_is_decided_and_nothing_done(world: World) -> None:
    ada = world.someone()
    started = world.starts(ada, 3, world.target(GAMMA))
    world.expect_verdict(f"session#{started[-1]}", "over_cap", "dry_run")
    world.expect_kept(*started)
    assert not any(ada in str(m["to"]) for m in world.local.mails())


@scenario
def a_paused_cluster_is_left_alone(world: World) -> None:
    ada = world.someone()
    world.stack.set_pause("alpha", "maintenance")
    try:
        *kept, newest = world.starts(ada, 4)
        verdict = world.expect_verdict(f"session#{newest}", "over_cap", "withheld")
        assert verdict["detail"] == "paused: maintenance"
        world.expect_kept(*kept, newest)
    finally:
        world.stack.set_pause("alpha", "off")
    world.sweep()
    world.expect_ended(newest)


@scenario
def more_ends_than_plausible_are_all_held_back(world: World) -> None:
    hoarder = world.someone()
    target = world.target(DELTA)
    world.local.settings(lose_next_records=5)
    started = world.starts(hoarder, 5, target)
    world.sweep()
    world.expect_verdict(f"session#{started[-1]}", "over_cap", "withheld")
    world.expect_kept(*started)
    world.expect_alarm("guardrail-refused")


@scenario
def a_directory_that_disables_half_the_people_ends_nobodys_work(world: World) -> None:
    world.local.settings(lose_next_records=10)
    started = [world.start(world.someone("disabled"), world.target(DELTA)) for _ in range(10)]
    world.sweep()
    for session_id in started:
        world.expect_verdict(f"session#{session_id}", "person_disabled", "withheld")
    world.expect_kept(*started)
