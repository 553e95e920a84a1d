"""The deployed stack: names of its tables, queues and functions, from the outputs that template.yaml declares."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proctor.adapters.aws_errors import translated
from proctor.domain.decision import Mode
from proctor.domain.errors import NotFoundError, TerminalError
from proctor_cli.exits import OutdatedStackError, UsageError

if TYPE_CHECKING:
    from proctor_cli.clients import CliClients

STACK_OUTPUTS = (
    "ClusterNames",
    "ApplyActions",
    "ClaimsTableName",
    "VerdictsTableName",
    "MemoryTableName",
    "PeopleTableName",
    "ExemptionsTableName",
    "IntentsTableName",
    "ObservedTableName",
    "AgentsTableName",
)
"""Outputs of the stack as a whole."""

FUNCTION_OUTPUTS = ("FunctionName", "QueueUrl", "DeadLetterQueueUrl")
"""Outputs of each function, after its name in camel case: `SessionLimitsQueueUrl`."""


def output_of(function: str, what: str) -> str:
    """Name of a function's output.

    >>> output_of("session_limits", "QueueUrl")
    'SessionLimitsQueueUrl'
    """
    return "".join(part.capitalize() for part in function.split("_")) + what


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """One stack as CloudFormation describes it."""

    name: str
    region: str
    account_id: str
    status: str
    outputs: Mapping[str, str]

    def output(self, name: str) -> str:
        """One output. Raises OutdatedStackError when the stack has none of that name."""
        value = self.outputs.get(name)
        if value is None:
            raise OutdatedStackError(
                f"stack {self.name}: it has no output {name!r}; deploy the template of this version"
            )
        return value

    def function_output(self, function: str, what: str) -> str:
        """One output of a function."""
        return self.output(output_of(function, what))

    @property
    def clusters(self) -> tuple[str, ...]:
        """The governed clusters."""
        return tuple(name for part in self.output("ClusterNames").split(",") if (name := part.strip()))

    @property
    def bound(self) -> Mode:
        """The most that the stack allows: `ApplyActions`."""
        return Mode.APPLY if self.output("ApplyActions") == "true" else Mode.DRY_RUN

    def cluster(self, name: str | None) -> str:
        """The named cluster, or the only one. Raises UsageError otherwise."""
        known = ", ".join(self.clusters)
        if name is None:
            if len(self.clusters) == 1:
                return self.clusters[0]
            raise UsageError("--cluster", name, f"name one of {known}")
        if name not in self.clusters:
            raise UsageError("cluster", name, f"name one of the clusters that the stack governs: {known}")
        return name


def read_stack(clients: "CliClients", name: str) -> Stack:
    """Describe a stack. Raises NotFoundError when there is none of that name in this account and Region."""
    region = clients.cloudformation().meta.region_name
    try:
        with translated("cloudformation:DescribeStacks"):
            found = clients.cloudformation().describe_stacks(StackName=name)["Stacks"][0]
    except TerminalError as error:
        if "does not exist" not in str(error):
            raise
        raise NotFoundError(
            f"stack {name!r} does not exist in {region}; give --stack, --region or --profile"
        ) from error
    outputs = {o["OutputKey"]: o["OutputValue"] for o in found.get("Outputs", []) if "OutputKey" in o}
    return Stack(
        name=name,
        region=region,
        account_id=found.get("StackId", "::::").split(":")[4],
        status=found["StackStatus"],
        outputs=outputs,
    )
