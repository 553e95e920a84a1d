"""A queue that a rule feeds: how the tests read what reached the default bus."""

import json
from typing import Any

from proctor_local.control import LocalAwsClient, wait_until


class Watch:
    """A rule and its queue, made through the APIs as any account would."""

    def __init__(
        self,
        local: LocalAwsClient,
        pattern: dict[str, Any],
        name: str = "watch",
        *,
        policy: bool = True,
        target: dict[str, Any] | None = None,
        key: str = "",
    ) -> None:
        self._aws, account = local.aws(), f"{local.region}:{local.account}"
        attributes = {"KmsMasterKeyId": key} if key else {}
        self.url = str(
            self._aws.call("sqs", "CreateQueue", QueueName=name, Attributes=attributes)["QueueUrl"]
        )
        self.arn = f"arn:aws:sqs:{account}:{name}"
        if policy:
            self.allow("events.amazonaws.com")
        self._aws.call("events", "PutRule", Name=name, EventPattern=json.dumps(pattern))
        self._aws.call(
            "events", "PutTargets", Rule=name, Targets=[{"Id": "queue", "Arn": self.arn, **(target or {})}]
        )

    def allow(self, service: str) -> None:
        policy = {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Principal": {"Service": service},
                    "Action": "sqs:SendMessage",
                    "Resource": self.arn,
                }
            ],
        }
        self._aws.call(
            "sqs", "SetQueueAttributes", QueueUrl=self.url, Attributes={"Policy": json.dumps(policy)}
        )

    def bodies(self) -> list[str]:
        """What arrived since the last look, as text."""
        found: list[str] = []
        while True:
            answer = self._aws.call("sqs", "ReceiveMessage", QueueUrl=self.url, MaxNumberOfMessages=10)
            messages = answer.get("Messages", [])
            for message in messages:
                found.append(message["Body"])
                self._aws.call(
                    "sqs", "DeleteMessage", QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"]
                )
            if not messages:
                return found

    def wait_for(self, count: int, seconds: float = 5.0) -> list[dict[str, Any]]:
        """The events, once ``count`` have arrived; and no more than that."""
        seen: list[str] = []

        def enough() -> bool:
            seen.extend(self.bodies())
            return len(seen) >= count

        wait_until(enough, seconds, what=f"{count} events")
        assert len(seen) == count
        return [json.loads(body) for body in seen]
