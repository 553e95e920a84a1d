"""What counts against a cap, and which sessions end."""

from datetime import datetime

from tests.e2e.catalogue import scenario
from tests.e2e.directory import ALPHA, BETA, EXTRA_LOGIN_NODE, OTHER_SSO_ROLE
from tests.e2e.world import World

SSH, PORT_FORWARD = "AWS-StartSSHSession", "AWS-StartPortForwardingSession"


@scenario
def within_the_cap_nothing_happens(world: World) -> None:
    ada = world.someone()
    started = world.starts(ada, 3)
    for session_id in started:
        world.expect_verdict(f"session#{session_id}", "allowed")
    world.expect_kept(*started)


@scenario
def over_the_cap_the_newest_ends_and_no_other(world: World) -> None:
    ada = world.someone()
    *kept, newest = world.starts(ada, 4)
    verdict = world.expect_ended(newest)
    assert (verdict["rule"], verdict["action"]) == ("cap", "TerminateSession")
    assert verdict["text"] == "over the cap: 4 in use on alpha, 3 allowed (default)"
    world.expect_kept(*kept)


@scenario
def exactly_the_surplus_ends(world: World) -> None:
    started = world.starts(world.someone(), 7)
    for session_id in started[3:]:
        world.wait(lambda sid=session_id: world.is_ended(sid), f"the end of {session_id}")  # type: ignore[misc]
    world.expect_kept(*started[:3])


@scenario
def disconnected_sessions_count(world: World) -> None:
    ben = world.someone()
    old = world.starts(ben, 3)
    world.settle()
    for session_id in old:
        world.local.set_status(session_id, "Disconnected")
    world.expect_ended(world.start(ben))
    world.expect_kept(*old)


@scenario
def two_permission_sets_are_one_person(world: World) -> None:
    chen = world.someone()
    kept = [world.start(chen), world.start(chen, role=OTHER_SSO_ROLE), world.start(chen)]
    world.expect_ended(world.start(chen, role=OTHER_SSO_ROLE))
    world.expect_kept(*kept)


@scenario
def an_iam_user_is_the_same_person(world: World) -> None:
    dora = world.someone("iam")
    kept = [world.start(dora, role="iam"), world.start(dora), world.start(dora)]
    world.expect_ended(world.start(dora, role="iam"))
    world.expect_kept(*kept)


@scenario
def the_cap_over_all_clusters_binds_too(world: World) -> None:
    erin = world.someone()
    kept = world.starts(erin, 3, world.target(ALPHA)) + world.starts(erin, 2, world.target(BETA))
    world.settle()
    verdict = world.expect_ended(world.start(erin, world.target(BETA)))
    assert "6 in use on all clusters, 5 allowed" in verdict["text"]
    world.expect_kept(*kept)


@scenario
def a_group_has_a_cap_of_its_own(world: World) -> None:
    prof = world.someone("staff")
    kept = world.starts(prof, 4)
    verdict = world.expect_ended(world.start(prof))
    assert "4 allowed (group staff)" in verdict["text"]
    world.expect_kept(*kept)


@scenario
def an_exemption_replaces_the_cap(world: World) -> None:
    kept = world.starts("exempt000", 5)
    world.expect_ended(world.start("exempt000"))
    world.expect_kept(*kept)


@scenario
def kinds_of_sessions_have_weights(world: World) -> None:
    port = world.someone()
    first, second = world.starts(port, 2, document=PORT_FORWARD)
    world.expect_ended(second)
    free = world.starts(port, 4, document=SSH)
    world.expect_kept(first, *free)


@scenario
def room_that_appears_spares_a_session(world: World) -> None:
    fay = world.someone()
    kept = world.starts(fay, 3)
    world.settle()
    world.local.settings(trail_delay_seconds=0.5)
    try:
        newest = world.start(fay)
        world.local.exit_session(kept[0])
        world.expect_verdict(f"session#{newest}", "allowed")
    finally:
        world.local.settings(trail_delay_seconds=0.0)
    world.expect_kept(newest, *kept[1:])


@scenario
def a_session_typed_away_makes_room(world: World) -> None:
    gus = world.someone()
    first, *rest = world.starts(gus, 3)
    world.settle()
    world.local.exit_session(first)
    world.expect_kept(world.start(gus), *rest)


@scenario
def a_resumed_session_counts_again(world: World) -> None:
    hal = world.someone()
    *kept, newest = world.starts(hal, 3)
    world.settle()
    world.local.set_status(newest, "Disconnected")
    world.person(hal).client.call("ssm", "ResumeSession", SessionId=newest)
    world.expect_kept(newest, *kept)
    world.local.settings(lose_next_records=1)
    unseen = world.start(hal)
    world.local.set_status(newest, "Disconnected")
    world.person(hal).client.call("ssm", "ResumeSession", SessionId=newest)
    world.expect_ended(unseen)


@scenario
def an_extra_login_node_is_ours(world: World) -> None:
    ian = world.someone()
    target = world.local.add_target(EXTRA_LOGIN_NODE)
    kept = world.starts(ian, 3, target)
    world.expect_ended(world.start(ian, target))
    world.expect_kept(*kept)


@scenario
def a_bare_instance_id_of_a_cluster_is_ours(world: World) -> None:
    jil = world.someone()
    node = world.clusters[ALPHA]["nodes"][0]["instance_id"]
    target = world.local.add_target(str(node))
    kept = world.starts(jil, 3, target)
    world.expect_ended(world.start(jil, target))
    world.expect_kept(*kept)


@scenario
def what_an_end_was_based_on_is_recorded(world: World) -> None:
    kim = world.someone()
    *_, newest = world.starts(kim, 4)
    world.expect_ended(newest)
    claim = world.wait(
        lambda: next((c for c in world.stack.rows("Claims") if newest in c["claim"]), {}), "the claim"
    )
    assert (claim["state"], claim["attempts"], claim["actor"]) == ("applied", 1, "proctor")
    assert datetime.fromisoformat(claim["changed_at"]).tzinfo is not None
    assert world.stack.proctor("why", "session", newest).count("over the cap: 4 in use on alpha") == 1
