"""An operator's desk: runs `proctor` in-process against an empty in-process AWS, and reads what it printed."""

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError

from proctor.domain.errors import NotFoundError
from proctor_cli.clients import CliClients
from proctor_cli.console import Console
from proctor_cli.main import main
from proctor_cli.stack import Stack
from proctor_cli.world import World

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

NOW = datetime(2026, 11, 30, 18, 0, tzinfo=UTC)
REGION = "us-east-1"
CLUSTER, OTHER = "gpu", "cpu"
POLICY = f"/proctor/{CLUSTER}/session_limits"
PAUSE = f"/proctor/{CLUSTER}/pause"
TABLES: Mapping[str, tuple[str, str | None]] = {
    "claims": ("claim", None),
    "verdicts": ("subject", "at"),
    "memory": ("scope", "subject"),
    "people": ("key", None),
    "exemptions": ("function", "id"),
    "intents": ("pk", "sk"),
    "observed": ("scope", "key"),
    "agents": ("agent", None),
}
FUNCTIONS = ("SessionLimits", "BudgetHolds", "AgentReports")


class FakeFunctions:
    """Lambda as `invoke` knows it. `answer` gets the payload; what it returns or raises is the function's answer."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.names: list[str] = []
        self.answer: Callable[[dict[str, Any]], object] = lambda _: {"outcomes": []}
        self.error_code = ""

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        assert InvocationType == "RequestResponse"
        if self.error_code:
            raise ClientError({"Error": {"Code": self.error_code, "Message": "no"}}, "Invoke")
        request = json.loads(Payload)
        self.names.append(FunctionName)
        self.requests.append(request)
        try:
            answer, failed = self.answer(request), {}
        except Exception as error:  # noqa: BLE001 - Lambda reports any
            answer = {"errorType": type(error).__name__, "errorMessage": str(error)}
            failed = {"FunctionError": "Unhandled"}
        return {"Payload": io.BytesIO(json.dumps(answer).encode()), **failed}


class DeskClients(CliClients):
    """Clients of the in-process AWS, but for Lambda, which would need containers."""

    def __init__(self) -> None:
        super().__init__(region=REGION)
        self.fake_functions = FakeFunctions()

    @cache  # noqa: B019 - one instance per process
    def functions(self) -> "LambdaClient":
        return cast("LambdaClient", self.fake_functions)


@dataclass(frozen=True, slots=True)
class Printed:
    """How a command ended."""

    exit: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Desk:
    """Everything a test needs; `outputs` are the stack's."""

    clients: DeskClients
    outputs: dict[str, str] = field(default_factory=dict)
    now: datetime = NOW

    def run(self, *argv: str) -> Printed:
        out, err = io.StringIO(), io.StringIO()
        world = World(
            lambda: self.clients,
            Console(out=out, err=err),
            clock=lambda: self.now,
            find_stack=self._stack,
        )
        code = main(argv, world)
        return Printed(code, out.getvalue(), err.getvalue())

    def _stack(self, clients: CliClients, name: str) -> Stack:
        del clients
        if name != "proctor":
            raise NotFoundError(f"stack {name!r} does not exist")
        return Stack(
            name=name,
            region=REGION,
            account_id="123456789012",
            status="CREATE_COMPLETE",
            outputs=dict(self.outputs),
        )

    def put_policy(self, text: str, *, is_in_force: bool = True) -> int:
        version = self.clients.ssm().put_parameter(Name=POLICY, Value=text, Type="String", Overwrite=True)[
            "Version"
        ]
        if is_in_force:
            self.label(version)
        return version

    def label(self, version: int) -> None:
        self.clients.ssm().label_parameter_version(Name=POLICY, ParameterVersion=version, Labels=["in-force"])

    def policy(self) -> tuple[int, Any]:
        found = self.clients.ssm().get_parameter(Name=POLICY)["Parameter"]
        return found["Version"], json.loads(found["Value"])

    def parameter(self, name: str) -> str:
        return self.clients.ssm().get_parameter(Name=name)["Parameter"]["Value"]
