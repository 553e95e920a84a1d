"""The deployed stack from outside, as an operator and as its queues, tables and logs show it. Standard library only."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor_local.control import LocalAwsClient, wait_until

ROOT = Path(__file__).resolve().parents[2]
FUNCTION = "session_limits"
CLI_SECONDS = 60.0
_CLI_PATHS = ("cli", "layers/proctor", "functions")


class CommandError(RuntimeError):
    """`proctor` ended with an error; the message is what it said."""


@dataclass(frozen=True, slots=True)
class DeployedStack:
    """A stack with its outputs; calls are the account root's."""

    local: LocalAwsClient
    name: str
    outputs: Mapping[str, str]

    # the function

    @property
    def function(self) -> str:
        """Name of session_limits' function."""
        return self.outputs["SessionLimitsFunctionName"]

    @property
    def role_arn(self) -> str:
        """ARN of the function's own role."""
        return str(self.configuration()["Role"])

    def configuration(self) -> dict[str, Any]:
        """The function's configuration."""
        path = f"/2015-03-31/functions/{self.function}/configuration"
        return dict(json.loads(self.local.aws().rest("lambda", "GET", path)))

    def configure(self, **members: Any) -> None:
        """UpdateFunctionConfiguration; the next invocation starts cold."""
        path = f"/2015-03-31/functions/{self.function}/configuration"
        self.local.aws().rest("lambda", "PUT", path, json.dumps(members).encode())
        wait_until(lambda: self.configuration().get("State") == "Active", 10, what="the function's update")

    def recycle(self) -> None:
        """Let all warm copies go, as a new release does: what they had read is forgotten with them.

        Waits until nothing is being worked on, for MiniStack ends its workers in the middle of their work.
        """
        wait_until(lambda: not self.depth()[1], 20, what="the end of all running invocations")
        self.configure(Timeout=self.configuration()["Timeout"])

    def invoke(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Invoke the function and wait, as `sam remote invoke` does; an error is its `errorType` and `errorMessage`."""
        path = f"/2015-03-31/functions/{self.function}/invocations"
        answer = self.local.aws().rest("lambda", "POST", path, json.dumps(event).encode())
        return dict(json.loads(answer or b"{}"))

    def sweep(self) -> None:
        """Fire the scheduled rule now."""
        self.local.fire("SessionLimitsSweepRule")

    def copies(self) -> int:
        """How many copies of the function there are now."""
        return len(self.local.workers()["functions"].get(self.function, ()))

    def log_lines(self) -> list[str]:
        """What the function printed so far, oldest first."""
        group = self.outputs["SessionLimitsLogGroupName"]
        lines: list[str] = []
        token = ""
        while True:
            page = {"nextToken": token} if token else {}
            answer = self.local.aws().call("logs", "FilterLogEvents", logGroupName=group, **page)
            lines += [str(event["message"]) for event in answer.get("events", [])]
            token = str(answer.get("nextToken") or "")
            if not token:
                return lines

    @contextlib.contextmanager
    def without_rules(self, *logical_ids: str) -> Iterator[None]:
        """Rules of the default bus are off within the block; `fire` works all the same. Raises LookupError."""
        events = self.local.aws()
        known = [str(rule["Name"]) for rule in events.call("events", "ListRules", Limit=100)["Rules"]]
        names = [next((name for name in known if one in name), "") for one in logical_ids]
        if not all(names):
            raise LookupError(f"rules = {logical_ids}: not all are among {sorted(known)}")
        for name in names:
            events.call("events", "DisableRule", Name=name)
        try:
            yield
        finally:
            for name in names:
                events.call("events", "EnableRule", Name=name)

    # policies

    def policy_name(self, cluster: str) -> str:
        """Parameter name of a cluster's policy."""
        return f"/proctor/{cluster}/{FUNCTION}"

    def put_policy(self, cluster: str, policy: Mapping[str, Any] | str) -> int:
        """Write a policy as an operator does; the version."""
        value = policy if isinstance(policy, str) else json.dumps(policy)
        answer = self.local.aws().call(
            "ssm", "PutParameter", Name=self.policy_name(cluster), Value=value, Type="String", Overwrite=True
        )
        return int(answer["Version"])

    def version_in_force(self, cluster: str) -> int:
        """The version that carries the label `in-force`; 0 when none does."""
        name = f"{self.policy_name(cluster)}:in-force"
        found = self.local.aws().call("ssm", "GetParameters", Names=[name])["Parameters"]
        return int(found[0]["Version"]) if found else 0

    def set_pause(self, cluster: str, value: str) -> None:
        """Write the pause switch."""
        self.local.aws().call(
            "ssm",
            "PutParameter",
            Name=f"/proctor/{cluster}/pause",
            Value=value,
            Type="String",
            Overwrite=True,
        )

    # tables

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows of a table (`Claims`, `Verdicts`, ...) as plain values."""
        found: list[dict[str, Any]] = []
        start: dict[str, Any] = {}
        while True:
            answer = self.local.aws().call(
                "dynamodb", "Scan", TableName=self.outputs[f"{table}TableName"], **start
            )
            found += [plain(item) for item in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                return found
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def verdict(self, subject: str) -> dict[str, Any]:
        """The latest verdict on a subject (`session#<id>`); empty when there is none."""
        key = {"subject": {"S": subject}, "at": {"S": "latest"}}
        answer = self.local.aws().call(
            "dynamodb", "GetItem", TableName=self.outputs["VerdictsTableName"], Key=key, ConsistentRead=True
        )
        return plain(answer.get("Item") or {})

    def verdicts(self, subject: str) -> list[dict[str, Any]]:
        """All verdicts on a subject, newest first."""
        answer = self.local.aws().call(
            "dynamodb",
            "Query",
            TableName=self.outputs["VerdictsTableName"],
            KeyConditionExpression="subject = :s",
            ExpressionAttributeValues={":s": {"S": subject}},
            ConsistentRead=True,
        )
        return sorted(map(plain, answer["Items"]), key=lambda row: str(row["decided_at"]), reverse=True)

    def wait_for_verdict(self, subject: str, seconds: float = 10.0) -> dict[str, Any]:
        """The first verdict on a subject. Raises TimeoutError."""
        return wait_until(lambda: self.verdict(subject), seconds, what=f"a verdict on {subject}")

    # queues

    def depth(self, which: str = "Queue") -> tuple[int, int]:
        """Messages waiting and in flight in the function's `Queue` or `DeadLetterQueue`."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        url = self.outputs[f"SessionLimits{which}Url"]
        found = self.local.aws().call("sqs", "GetQueueAttributes", QueueUrl=url, AttributeNames=names)
        return int(found["Attributes"][names[0]]), int(found["Attributes"][names[1]])

    def is_idle(self) -> bool:
        """Whether nothing waits for the function and nothing is being worked on."""
        return not self.local.has_due() and self.depth() == (0, 0)

    def take_dead_letters(self) -> list[str]:
        """Receive and remove what is in the dead-letter queue; the bodies."""
        return self.take(self.outputs["SessionLimitsDeadLetterQueueUrl"])

    def take(self, url: str) -> list[str]:
        """Receive and remove all messages of a queue; the bodies."""
        root, bodies = self.local.aws(), list[str]()
        while True:
            answer = root.call("sqs", "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10)
            messages = answer.get("Messages", [])
            for message in messages:
                bodies.append(str(message["Body"]))
                root.call("sqs", "DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            if not messages:
                return bodies

    def send(self, body: str) -> None:
        """Put a message into the function's queue."""
        self.local.aws().call(
            "sqs", "SendMessage", QueueUrl=self.outputs["SessionLimitsQueueUrl"], MessageBody=body
        )

    def purge(self) -> None:
        """Empty the function's queue and its dead-letter queue, messages in flight included."""
        for which in ("Queue", "DeadLetterQueue"):
            self.local.aws().call("sqs", "PurgeQueue", QueueUrl=self.outputs[f"SessionLimits{which}Url"])

    # listening

    def listen(self) -> tuple[str, str]:
        """Two new queues, as others would attach them: Proctor's own events, and the operators' topic; their URLs."""
        return self._event_queue("outcomes"), self._operator_queue("operators")

    def _event_queue(self, name: str) -> str:
        root = self.local.aws()
        url, arn = self._queue(name, "events.amazonaws.com")
        pattern = json.dumps({"source": [{"prefix": "proctor."}]})
        root.call("events", "PutRule", Name=name, EventPattern=pattern)
        root.call("events", "PutTargets", Rule=name, Targets=[{"Id": "queue", "Arn": arn}])
        return url

    def _operator_queue(self, name: str) -> str:
        url, arn = self._queue(name, "sns.amazonaws.com")
        self.local.aws().query(
            "sns", "Subscribe", TopicArn=self.outputs["OperatorsTopicArn"], Protocol="sqs", Endpoint=arn
        )
        return url

    def _queue(self, name: str, service: str) -> tuple[str, str]:
        arn = f"arn:aws:sqs:{self.local.region}:{self.local.account}:{name}"
        statement = {
            "Effect": "Allow",
            "Principal": {"Service": service},
            "Action": "sqs:SendMessage",
            "Resource": arn,
        }
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        answer = self.local.aws().call("sqs", "CreateQueue", QueueName=name, Attributes={"Policy": policy})
        return str(answer["QueueUrl"]), arn

    # the command line

    def environment(self) -> dict[str, str]:
        """What `aws`, `sam` and `proctor` need to speak to this stack."""
        return {
            "AWS_ENDPOINT_URL": self.local.endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": self.local.region,
        }

    def proctor(self, *arguments: str, is_failure_fine: bool = False) -> str:
        """Run `proctor`; what it printed. Raises CommandError when it ends with an error."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        paths = os.pathsep.join(str(ROOT / path) for path in _CLI_PATHS)
        done = subprocess.run(
            [sys.executable, "-m", "proctor_cli.main", "--stack", self.name, *arguments],
            env={**kept, **self.environment(), "PYTHONPATH": paths, "AWS_REGION": self.local.region},
            capture_output=True,
            text=True,
            timeout=CLI_SECONDS,
            check=False,
        )
        if done.returncode and not is_failure_fine:
            raise CommandError(f"proctor {' '.join(arguments)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout


def plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """A DynamoDB item as plain values."""
    return {name: _value(value) for name, value in item.items()}


def _value(typed: Mapping[str, Any]) -> Any:
    ((kind, value),) = typed.items()
    if kind == "N":
        return float(value) if "." in value else int(value)
    if kind == "M":
        return plain(value)
    if kind == "L":
        return [_value(item) for item in value]
    return None if kind == "NULL" else value


def seed_sender(local: LocalAwsClient, address: str) -> None:
    """Verify a sender in SES."""
    body = json.dumps({"EmailIdentity": address}).encode()
    local.aws().rest("ses", "POST", "/v2/email/identities", body)
