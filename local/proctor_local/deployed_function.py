"""One function of the deployed stack, whichever it is: invoke it, look into its queues, let its warm copies go."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor_local.control import wait_until
from proctor_local.deployed import DeployedStack


@dataclass(frozen=True, slots=True)
class DeployedFunction:
    """`name` as in policies (`budget_holds`), `prefix` as in logical ids (`BudgetHolds`), `queues`: outputs it reads from."""

    stack: DeployedStack
    name: str
    prefix: str
    queues: tuple[str, ...]

    @property
    def role_name(self) -> str:
        """Name of the function's own role."""
        return str(self.configuration()["Role"]).rsplit("/", 1)[-1]

    def configuration(self) -> dict[str, Any]:
        """The function's configuration."""
        return dict(json.loads(self.stack.local.aws().rest("lambda", "GET", self._path("configuration"))))

    def configure(self, **members: Any) -> None:
        """UpdateFunctionConfiguration; the next invocation starts cold."""
        self.stack.local.aws().rest(
            "lambda", "PUT", self._path("configuration"), json.dumps(members).encode()
        )
        wait_until(lambda: self.configuration().get("State") == "Active", 10, what=f"{self.name}'s update")

    def recycle(self) -> None:
        """Let all warm copies go, once none is at work: what they had read is forgotten with them.

        No new work is begun meanwhile: MiniStack ends its workers in the middle of it, and then the message stays away for
        the queue's visibility timeout.
        """
        with self._without_new_work():
            wait_until(lambda: not self.depth()[1], 20, what=f"the end of {self.name}'s running invocations")
            self.configure(Timeout=self.configuration()["Timeout"])

    @contextlib.contextmanager
    def _without_new_work(self) -> Iterator[None]:
        root, path = self.stack.local.aws(), "/2015-03-31/event-source-mappings/"
        function = self.stack.outputs[f"{self.prefix}FunctionName"]
        answer = json.loads(root.rest("lambda", "GET", path, FunctionName=function))
        mappings = [str(found["UUID"]) for found in answer["EventSourceMappings"]]
        for mapping in mappings:
            root.rest("lambda", "PUT", path + mapping, json.dumps({"Enabled": False}).encode())
        try:
            yield
        finally:
            for mapping in mappings:
                root.rest("lambda", "PUT", path + mapping, json.dumps({"Enabled": True}).encode())

    def invoke(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Invoke and wait; an error is its `errorType` and `errorMessage`."""
        answer = self.stack.local.aws().rest(
            "lambda", "POST", self._path("invocations"), json.dumps(event).encode()
        )
        return dict(json.loads(answer or b"{}"))

    def sweep(self) -> None:
        """Fire the scheduled rule now."""
        self.stack.local.fire(f"{self.prefix}SweepRule")

    def depth(self) -> tuple[int, int]:
        """Messages waiting and in flight in the queues it reads."""
        waiting, in_flight = 0, 0
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        for output in self.queues:
            url = self.stack.outputs[output]
            found = self.stack.local.aws().call(
                "sqs", "GetQueueAttributes", QueueUrl=url, AttributeNames=names
            )
            waiting += int(found["Attributes"][names[0]])
            in_flight += int(found["Attributes"][names[1]])
        return waiting, in_flight

    def is_idle(self) -> bool:
        """Whether nothing waits for it and nothing is being worked on."""
        return not self.stack.local.has_due() and self.depth() == (0, 0)

    def take_dead_letters(self) -> list[str]:
        """Receive and remove what is in its dead-letter queue; the bodies."""
        return self.stack.take(self.stack.outputs[f"{self.prefix}DeadLetterQueueUrl"])

    def purge(self) -> None:
        """Empty its queues, messages in flight included."""
        for output in (*self.queues, f"{self.prefix}DeadLetterQueueUrl"):
            self.stack.local.aws().call("sqs", "PurgeQueue", QueueUrl=self.stack.outputs[output])

    def log_lines(self) -> list[str]:
        """What it printed so far, oldest first."""
        group = self.stack.outputs[f"{self.prefix}LogGroupName"]
        return _log_lines(self.stack, group)

    # parameters

    def put_policy(self, cluster: str, policy: Mapping[str, Any] | str) -> int:
        """Write its policy for a cluster; the version."""
        return put_parameter(self.stack, f"/proctor/{cluster}/{self.name}", policy)

    def put_in_force(self, parameter: str, value: Mapping[str, Any] | str, seconds: float = 20.0) -> int:
        """Write a parameter and wait until the function has put that version in force."""
        version = put_parameter(self.stack, parameter, value)
        wait_until(
            lambda: version_in_force(self.stack, parameter) == version, seconds, what=f"{parameter} in force"
        )
        return version

    def _path(self, what: str) -> str:
        return f"/2015-03-31/functions/{self.stack.outputs[f'{self.prefix}FunctionName']}/{what}"


def budget_holds(stack: DeployedStack) -> DeployedFunction:
    """budget_holds of a stack."""
    return DeployedFunction(stack, "budget_holds", "BudgetHolds", ("BudgetHoldsQueueUrl",))


def agent_reports(stack: DeployedStack) -> DeployedFunction:
    """agent_reports of a stack."""
    queues = ("ControllerReportsQueueUrl", "NodeReportsQueueUrl", "AgentReportsQueueUrl")
    return DeployedFunction(stack, "agent_reports", "AgentReports", queues)


def put_parameter(stack: DeployedStack, name: str, value: Mapping[str, Any] | str) -> int:
    """PutParameter, as an operator does; the version."""
    text = value if isinstance(value, str) else json.dumps(value)
    answer = stack.local.aws().call(
        "ssm", "PutParameter", Name=name, Value=text, Type="String", Overwrite=True
    )
    return int(answer["Version"])


def version_in_force(stack: DeployedStack, name: str) -> int:
    """The version that carries the label `in-force`; 0 when none does."""
    found = stack.local.aws().call("ssm", "GetParameters", Names=[f"{name}:in-force"])["Parameters"]
    return int(found[0]["Version"]) if found else 0


def _log_lines(stack: DeployedStack, group: str) -> list[str]:
    lines: list[str] = []
    token = ""
    while True:
        page = {"nextToken": token} if token else {}
        answer = stack.local.aws().call("logs", "FilterLogEvents", logGroupName=group, **page)
        events: Sequence[Mapping[str, Any]] = answer.get("events", [])
        lines += [str(event["message"]) for event in events]
        token = str(answer.get("nextToken") or "")
        if not token:
            return lines
