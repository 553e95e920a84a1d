"""Events that are lost, repeated or malformed; services that throttle or lie; a client that never gives up."""

import json

from tests.e2e.catalogue import scenario
from tests.e2e.directory import session_name
from tests.e2e.world import World


@scenario
def a_lost_event_is_made_up_for_by_the_sweep(world: World) -> None:
    ada = world.someone()
    kept = world.starts(ada, 3)
    world.settle()
    world.local.settings(lose_next_records=1)
    newest = world.start(ada)
    world.expect_kept(newest, *kept)
    world.stack.sweep()
    world.expect_ended(newest)
    world.expect_kept(*kept)


@scenario
def a_repeated_event_ends_one_session_once(world: World) -> None:
    ada = world.someone()
    world.local.settings(trail_duplication=1.0)
    try:
        *kept, newest = world.starts(ada, 4)
        world.expect_ended(newest)
    finally:
        world.local.settings(trail_duplication=0.0)
    world.expect_kept(*kept)
    claims = [c for c in world.stack.rows("Claims") if newest in c["claim"]]
    assert [(c["state"], c["attempts"]) for c in claims] == [("applied", 1)]
    assert sum(session_name(ada) in m["to"] for m in world.local.mails()) == 1


@scenario
def a_message_that_cannot_be_read_is_parked_redacted(world: World) -> None:
    secret = "not-for-anybody@uni.example"
    body = {
        "source": "aws.ssm",
        "detail-type": "AWS API Call via CloudTrail",
        "detail": {"eventName": "StartSession", "tokenValue": secret, "responseElements": {"sessionId": 7}},
    }
    world.stack.send(json.dumps(body))
    letters: list[str] = []

    def parked() -> bool:
        letters.extend(world.stack.take_dead_letters())
        return bool(letters)

    world.wait(parked, "a parked message")
    (letter,) = letters
    assert secret not in letter
    parked_event = json.loads(letter)
    assert parked_event["function"] == "session_limits"
    assert parked_event["error"].startswith("InvalidInputError: ")
    assert parked_event["event"]["detail"]["eventName"] == "StartSession"
    assert parked_event["event"]["detail"]["tokenValue"] == "redacted"
    world.expect_alarm("records-parked")


@scenario
def a_throttled_listing_is_asked_for_again(world: World) -> None:
    ada = world.someone()
    kept = world.starts(ada, 3)
    world.settle()
    world.local.settings(throttle_next={"DescribeSessions": 2, "TerminateSession": 1})
    world.expect_ended(world.start(ada))
    world.expect_kept(*kept)


@scenario
def an_end_that_does_not_happen_is_never_called_done(world: World) -> None:
    ada = world.someone()
    kept = world.starts(ada, 3)
    world.settle()
    world.local.settings(ignore_terminations=1)
    newest = world.start(ada)
    world.expect_verdict(f"session#{newest}", "over_cap", "unconfirmed")
    world.expect_kept(newest, *kept)


@scenario
def a_client_that_reconnects_at_once_is_backed_off_from(world: World) -> None:
    loop = world.someone()
    kept = world.starts(loop, 3)
    world.settle()
    for _ in range(3):
        world.expect_ended(world.start(loop))
        world.settle()
    for _ in range(3):
        newest = world.start(loop)
        world.expect_verdict(f"session#{newest}", "backing_off")
        world.stack.sweep()
        world.expect_ended(newest)
        world.settle()
    message = world.expect_told(f"{loop} reconnects at once, 5 times")
    proposed = json.loads(
        message["Message"].partition("A deny that would stop it:\n")[2].partition("\n\nWhat")[0]
    )
    (statement,) = proposed["Statement"]
    assert (statement["Effect"], statement["Action"]) == ("Deny", ["ssm:StartSession", "ssm:ResumeSession"])
    assert statement["Condition"] == {"StringLike": {"aws:userid": [f"*:{session_name(loop)}"]}}
    world.expect_kept(*kept)
