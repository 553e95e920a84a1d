"""The other side of permissions: without their statement in a queue's, topic's or key's policy, services deliver nothing."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from proctor_local.aws_client import text_of
from tests.e2e.scenarios import SCENARIOS
from tests.e2e.statements import OVER_THE_CAP
from tests.e2e.world import World

pytestmark = pytest.mark.stack

type Put = Callable[[str], object]


def misses(world: World, scenario: str) -> str:
    """What a scenario says when it fails. Fails itself when it passes."""
    world.is_mutant = True
    try:
        SCENARIOS[scenario](world)
    except AssertionError as missed:
        return str(missed)
    finally:
        world.is_mutant = False
    pytest.fail(f"{scenario} passes")


@contextmanager
def without(world: World, sid: str, policy: str, put: Put) -> Iterator[None]:
    """A live resource policy without one statement."""
    world.settle()
    document: dict[str, Any] = json.loads(policy)
    kept = [statement for statement in document["Statement"] if statement.get("Sid") != sid]
    assert len(kept) == len(document["Statement"]) - 1
    put(json.dumps({**document, "Statement": kept}))
    world.local.clear_denials()
    try:
        yield
    finally:
        put(policy)
        world.stack.purge()
        world.local.clear_denials()


def queue_policy(world: World, which: str) -> tuple[str, Put]:
    root, url = world.local.aws(), world.stack.outputs[f"SessionLimits{which}Url"]
    found = root.call("sqs", "GetQueueAttributes", QueueUrl=url, AttributeNames=["Policy"])
    return str(found["Attributes"]["Policy"]), lambda text: root.call(
        "sqs", "SetQueueAttributes", QueueUrl=url, Attributes={"Policy": text}
    )


def test_rules_reach_the_queue_by_its_policy_and_else_the_dead_letter_queue(world: World) -> None:
    with without(world, "RulesSend", *queue_policy(world, "Queue")):
        misses(world, OVER_THE_CAP)
        assert any("EventBridge delivery: the queue policy" in text for text in world.refusals())
        world.wait(lambda: world.stack.depth("DeadLetterQueue")[0] > 0, "the undelivered event")


def test_rules_reach_the_dead_letter_queue_by_its_policy(world: World) -> None:
    with (
        without(world, "RulesSend", *queue_policy(world, "Queue")),
        without(world, "RulesSend", *queue_policy(world, "DeadLetterQueue")),
    ):
        misses(world, OVER_THE_CAP)
        assert any("EventBridge dead-letter queue: the queue policy" in text for text in world.refusals())
        assert world.stack.depth("DeadLetterQueue") == (0, 0)


def test_services_use_the_key_by_its_policy(world: World) -> None:
    root, key = world.local.aws(), world.stack.outputs["KeyArn"]
    policy = str(root.call("kms", "GetKeyPolicy", KeyId=key, PolicyName="default")["Policy"])

    def put(text: str) -> object:
        return root.call("kms", "PutKeyPolicy", KeyId=key, PolicyName="default", Policy=text)

    with without(world, "ServicesDeliver", policy, put):
        misses(world, OVER_THE_CAP)
        assert any("kms:GenerateDataKey" in text for text in world.refusals())


def test_alarms_reach_the_operators_by_the_topics_policy(world: World) -> None:
    root, topic = world.local.aws(), world.stack.outputs["OperatorsTopicArn"]
    answer = root.query("sns", "GetTopicAttributes", TopicArn=topic)
    entries = [e for e in answer.iter() if e.tag.rsplit("}", 1)[-1] == "entry"]
    policy = next(text_of(e, "value") for e in entries if text_of(e, "key") == "Policy")

    def put(text: str) -> object:
        return root.query(
            "sns", "SetTopicAttributes", TopicArn=topic, AttributeName="Policy", AttributeValue=text
        )

    with without(world, "AlarmsPublish", policy, put):
        root.query(
            "monitoring",
            "SetAlarmState",
            AlarmName=f"{world.stack.name}-session_limits-records-parked",
            StateValue="OK",
            StateReason="so that it can be raised again",
        )
        world.stack.send("no event")
        world.wait(lambda: any("alarm notification" in text for text in world.refusals()), "the refusal")
        world.wait(world.stack.take_dead_letters, "the parked message")
