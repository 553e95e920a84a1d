"""Who is told what, and what others can see."""

from tests.e2e.catalogue import scenario
from tests.e2e.directory import SENDER, session_name
from tests.e2e.world import NotSoError, World


@scenario
def the_person_is_mailed_with_rule_count_and_appeal(world: World) -> None:
    ada = world.someone()
    *_, newest = world.starts(ada, 4)
    mail = world.expect_mail(ada)
    assert mail["from"] == SENDER
    for part in ("Rule cap: 4 in use on alpha, 3 allowed (default)", newest, "Write to hpc-help."):
        assert part in mail["text"]
    world.expect_verdict(f"notice#{ada}", "told", "applied")


@scenario
def the_operators_are_told(world: World) -> None:
    ada = world.someone()
    *_, newest = world.starts(ada, 4)
    message = world.expect_told(f"1 session(s) on alpha ended ({ada})")
    assert newest in message["Message"]
    assert f"proctor why person {ada}" in message["Message"]


@scenario
def one_incident_is_one_mail(world: World) -> None:
    ada = world.someone()
    world.starts(ada, 3)
    for _ in range(2):
        world.expect_ended(world.start(ada))
        world.settle()
    mails = [m for m in world.local.mails() if session_name(ada) in m["to"]]
    assert len(mails) == 1


@scenario
def a_suppressed_address_is_recorded_as_undeliverable(world: World) -> None:
    ada = world.someone("bounced")
    world.local.suppress(session_name(ada))
    *_, newest = world.starts(ada, 4)
    world.expect_ended(newest)
    verdict = world.expect_verdict(f"notice#{ada}", "told", "failed")
    assert "undeliverable: the address is suppressed or refused" in verdict["detail"]
    assert not any(session_name(ada) in m["to"] for m in world.local.mails())
    world.expect_alarm("notices-undeliverable")


@scenario
def a_missing_address_is_recorded_as_undeliverable(world: World) -> None:
    ada = world.someone("silent")
    *_, newest = world.starts(ada, 4)
    world.expect_ended(newest)
    verdict = world.expect_verdict(f"notice#{ada}", "told", "failed")
    assert "undeliverable: the directory holds no address" in verdict["detail"]


@scenario
def what_was_done_is_published_on_the_bus(world: World) -> None:
    *_, newest = world.starts(world.someone(), 4)
    event = world.wait(
        lambda: next((e for e in world.outcomes() if e["detail"]["subject"] == f"session#{newest}"), {}),
        "the event",
    )
    assert (event["source"], event["detail-type"]) == ("proctor.session_limits", "Proctor Outcome")
    assert (event["detail"]["action"], event["detail"]["outcome"]) == ("TerminateSession", "applied")


@scenario
def the_log_says_what_was_done_without_addresses(world: World) -> None:
    ada = world.someone()
    *_, newest = world.starts(ada, 4)
    lines = world.wait(
        lambda: [
            line for line in world.stack.log_lines() if newest in line and '"outcome":"applied"' in line
        ],
        "a line in the log",
    )
    assert any("over the cap: 4 in use" in line for line in lines)
    if any("token" in line.lower() for line in lines):
        raise NotSoError("the log holds a token")
