"""Clients for tests of adapters: counted calls on the in-process AWS, or answers written down in the test.

Both speak through botocore's own serialisers and parsers, so that a request must be valid and an error arrives as the
service's protocol sends it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.config import Config

from proctor.adapters.aws_clients import AwsClients, _Session

_SESSION = _Session()


class CountedClients(AwsClients):
    """Remembers each API call. `meanwhile` maps an operation to what another evaluator does just before it, once."""

    def __init__(self, attempts: int = 1) -> None:
        self.calls: list[str] = []
        self.meanwhile: dict[str, Callable[[], None]] = {}
        self._attempts = attempts
        self._session = _SESSION

    def count(self, operation: str) -> int:
        """How often an operation was called."""
        return self.calls.count(operation)

    def _client(self, service: str, **where: str) -> Any:
        config = Config(retries={"mode": "standard", "total_max_attempts": self._attempts})
        client = _SESSION.create_client(service, config=config, region_name=where.get("region_name"))
        client.meta.events.register("before-call", self._called)
        return client

    def _called(self, model: Any, **_: Any) -> None:
        self.calls.append(model.name)
        if act := self.meanwhile.pop(model.name, None):
            act()


@dataclass
class Answer:
    """One HTTP answer."""

    body: str | Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class _Raw:
    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, *_: object, **__: object) -> list[bytes]:
        return [self._body]


class ScriptedClients(CountedClients):
    """Answers come from `script`: operation → what to answer, each once and the last one for ever.

    An answer may be an exception, as botocore's HTTP layer raises it. `sent` keeps each operation with its body.
    """

    def __init__(self, **script: Any) -> None:
        super().__init__()
        self.script = {
            name: list(answers) if isinstance(answers, list) else [answers]
            for name, answers in script.items()
        }
        self.sent: list[tuple[str, Any]] = []

    def _client(self, service: str, **where: str) -> Any:
        client = super()._client(service, **where)
        client.meta.events.register_first("before-send", self._send)
        return client

    def _called(self, model: Any, params: Any = None, **_: Any) -> None:
        super()._called(model)
        self._operation, body = model.name, params["body"]
        if isinstance(body, bytes) and body:
            body = json.loads(body)
        self.sent.append((model.name, body))

    def _send(self, request: Any, **_: Any) -> AWSResponse:
        answers = self.script[self._operation]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if callable(answer) and not isinstance(answer, type):
            answer = answer(self.sent[-1][1])
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Mapping):
            answer = Answer(answer)
        body = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
        return AWSResponse(request.url, answer.status, answer.headers, _Raw(body.encode()))


def json_error(code: str, message: str = "", status: int = 400, **more: Any) -> Answer:
    """An error of the JSON protocols (SSM, DynamoDB, SageMaker, EventBridge, SQS)."""
    return Answer({"__type": f"com.amazonaws#{code}", "message": message, "Message": message, **more}, status)


def rest_error(code: str, message: str = "", status: int = 400) -> Answer:
    """An error of the REST-JSON protocol (SES v2)."""
    return Answer({"message": message}, status, {"x-amzn-errortype": code})


def query_error(code: str, message: str = "", status: int = 400) -> Answer:
    """An error of the query protocol (SNS)."""
    return Answer(
        f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>",
        status,
    )
