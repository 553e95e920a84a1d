"""What an extension sees of a request, and what it answers: plain values, no MiniStack type."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

FIRST_ERROR_STATUS = 400
type HttpResponse = tuple[int, dict[str, str], bytes]


@dataclass(frozen=True, slots=True)
class Caller:
    """The principal of a request.

    What STS GetCallerIdentity would answer, and what CloudTrail needs besides.
    """

    arn: str
    principal_id: str
    account: str
    kind: str
    """``Root``, ``User``, ``AssumedRole`` or ``FederatedUser``."""
    access_key_id: str = ""
    role_arn: str = ""
    issued_at: float | None = None

    @property
    def name(self) -> str:
        """The role session name or IAM user name, which session ids begin with."""
        return self.arn.rsplit("/", 1)[-1] if "/" in self.arn else self.arn.rsplit(":", 1)[-1]


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One API call: the action's name, its input members and who asks."""

    service: str
    action: str
    input: Mapping[str, Any]
    account: str
    region: str
    caller: Caller
    headers: Mapping[str, str] = field(default_factory=dict)
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One authorisation question. Any of ``arns`` being allowed is enough; every Check of a call must pass.

    ``action`` and ``service`` are the call's own when empty (a KMS check on a queue's key names others).
    """

    arns: tuple[str, ...]
    context: Mapping[str, Any] = field(default_factory=dict)
    action: str = ""
    service: str = ""
    only_if_condition_key: str = ""
    """Ask only when a policy of the caller names this condition key (lower case).

    As for the session document.
    """


class ApiError(Exception):
    """An error answer of an API: code as in the service model, message, HTTP status."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status


type Handler = Callable[[ApiCall], dict[str, Any]]
type Resources = Callable[[ApiCall], list[Check]]


@dataclass(frozen=True, slots=True)
class Action:
    """One added action: what it does, and which resources IAM is asked about (``*`` when None)."""

    handler: Handler
    resources: Resources | None = None


def json_response(
    body: Mapping[str, Any],
    status: int = 200,
    content_type: str = "application/x-amz-json-1.1",
) -> HttpResponse:
    """An answer of the JSON protocol."""
    return status, {"Content-Type": content_type}, json.dumps(body).encode()


def error_response(error: ApiError, content_type: str = "application/x-amz-json-1.1") -> HttpResponse:
    """An error of the JSON protocol: the type stands in the body and in the header, as AWS sends it."""
    body = json.dumps({"__type": error.code, "message": error.message}).encode()
    return error.status, {"Content-Type": content_type, "x-amzn-errortype": error.code}, body


def parse_json(body: bytes) -> dict[str, Any]:
    """The input members of a JSON-protocol body; an unreadable body has none."""
    try:
        data = json.loads(body) if body else {}
    except (ValueError, UnicodeDecodeError):
        return {}
    return data if isinstance(data, dict) else {}
