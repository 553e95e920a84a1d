"""Every operation of the adapters against every way in which AWS refuses: the right error, and never an empty answer."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from proctor.adapters.aws_clients import AwsClients
from proctor.adapters.claims_table import DynamoClaims
from proctor.adapters.cluster_api import SageMakerClusters
from proctor.adapters.event_bus import EventBridgePublisher
from proctor.adapters.exemptions_table import DynamoExemptions
from proctor.adapters.memory_table import DynamoCounters, DynamoSessionLedger
from proctor.adapters.notifiers import SesPersonNotifier, SnsOperatorNotifier
from proctor.adapters.parameters import ParameterPause, ParameterPolicies
from proctor.adapters.parking import SqsParkingLot
from proctor.adapters.people_table import DynamoPeople
from proctor.adapters.session_manager import SsmSessionManager
from proctor.adapters.verdicts_table import DynamoVerdicts
from proctor.domain.claims import ClaimState
from proctor.domain.errors import (
    DeniedError,
    NotFoundError,
    TerminalError,
    ThrottledError,
    TransientError,
)
from proctor.domain.exemptions import Exemption
from proctor.domain.ledger import LedgerEntry, PersonLedger, SeenBy
from proctor.domain.sessions import Target
from tests.adapters.aws import Answer, ScriptedClients, json_error, query_error, rest_error
from tests.adapters.values import KEY, claim, outcome, run, verdict
from tests.fakes import values
from tests.fakes.values import NOW

type Call = Callable[[AwsClients], object]

_ENTRY = LedgerEntry(cluster="alpha", seen_by=SeenBy.EVENT, seen_at=NOW)
_BARE = Target("i-0123456789abcdef0", "i-0123456789abcdef0")
_QUEUE = "https://sqs.us-east-1.amazonaws.com/123456789012/parked"
_TOPIC = "arn:aws:sns:us-east-1:123456789012:operators"
_EXEMPTION = Exemption(login_name="ada", ends_at=NOW, granted_by="ops", justification="thesis")
_NO_CLUSTER = json_error("ResourceNotFound")


def _policies(aws: AwsClients) -> ParameterPolicies[str]:
    return ParameterPolicies(aws, "session_limits", ("alpha",), str)


def _ledger(aws: AwsClients) -> DynamoSessionLedger:
    return DynamoSessionLedger(aws, "memory", "session_limits#ledger")


OPERATIONS: dict[str, tuple[str, Call]] = {
    "active_sessions": ("DescribeSessions", lambda aws: SsmSessionManager(aws).active_sessions()),
    "find_active": ("DescribeSessions", lambda aws: SsmSessionManager(aws).find_active(["s"])),
    "terminate": ("TerminateSession", lambda aws: SsmSessionManager(aws).terminate("s")),
    "in_force": ("GetParameters", lambda aws: _policies(aws).in_force()),
    "draft": ("GetParameters", lambda aws: _policies(aws).draft("alpha")),
    "put_in_force": ("LabelParameterVersion", lambda aws: _policies(aws).put_in_force("/proctor/alpha/x", 1)),
    "paused_clusters": ("GetParameters", lambda aws: ParameterPause(aws, ("alpha",)).paused_clusters()),
    "governed ids": ("DescribeCluster", lambda aws: SageMakerClusters(aws, ("alpha",)).governed([])),
    "governed nodes": ("ListClusterNodes", lambda aws: SageMakerClusters(aws, ("alpha",)).governed([_BARE])),
    "by_login_name": ("BatchGetItem", lambda aws: DynamoPeople(aws, "people").by_login_name("ada")),
    "people keys": ("Scan", lambda aws: DynamoPeople(aws, "people").keys()),
    "people write": (
        "BatchWriteItem",
        lambda aws: DynamoPeople(aws, "people").write({"k": values.person()}, ()),
    ),
    "for_function": ("Query", lambda aws: DynamoExemptions(aws, "exemptions").for_function("f")),
    "exempt": ("PutItem", lambda aws: DynamoExemptions(aws, "exemptions").put("f", _EXEMPTION)),
    "note_started": ("UpdateItem", lambda aws: _ledger(aws).note_started("ada", "s", _ENTRY)),
    "ledger get": ("GetItem", lambda aws: _ledger(aws).get("ada")),
    "ledger all": ("Query", lambda aws: _ledger(aws).all()),
    "swap": ("PutItem", lambda aws: _ledger(aws).swap("ada", PersonLedger(holder="ada"), 0)),
    "release_intent": ("UpdateItem", lambda aws: _ledger(aws).release_intent("ada", "s", "t")),
    "spend": ("UpdateItem", lambda aws: DynamoCounters(aws, "memory").spend("c", 1, NOW, 60)),
    "first": ("UpdateItem", lambda aws: DynamoCounters(aws, "memory").first("m", NOW)),
    "claim get": ("GetItem", lambda aws: DynamoClaims(aws, "claims").get(KEY)),
    "claim put": (
        "PutItem",
        lambda aws: DynamoClaims(aws, "claims").put(claim(), verdict(), run(), replaces=None),
    ),
    "settle": (
        "UpdateItem",
        lambda aws: DynamoClaims(aws, "claims").settle(claim(), ClaimState.APPLIED, "", NOW),
    ),
    "record": ("PutItem", lambda aws: DynamoVerdicts(aws, "verdicts").record(outcome(), run())),
    "latest": ("GetItem", lambda aws: DynamoVerdicts(aws, "verdicts").latest("s")),
    "history": ("Query", lambda aws: DynamoVerdicts(aws, "verdicts").history("s")),
    "is suppressed": (
        "GetSuppressedDestination",
        lambda aws: SesPersonNotifier(aws, "p@x.example").send("a", "h", "t"),
    ),
    "send": ("SendEmail", lambda aws: SesPersonNotifier(aws, "p@x.example").send("a", "h", "t")),
    "operators": ("Publish", lambda aws: SnsOperatorNotifier(aws, _TOPIC).publish("h", "t", ())),
    "events": ("PutEvents", lambda aws: EventBridgePublisher(aws, "bus").publish([outcome()], run())),
    "park": ("SendMessage", lambda aws: SqsParkingLot(aws, _QUEUE).park({}, "e", run())),
}
"""Name → (the operation that fails, the call)."""

_BESIDES: dict[str, Any] = {
    "DescribeCluster": {
        "ClusterArn": "arn:aws:sagemaker:us-east-1:123456789012:cluster/abcdef012345",
        "ClusterStatus": "InService",
        "InstanceGroups": [],
    },
    "GetSuppressedDestination": rest_error("NotFoundException", "", 404),
    "SendEmail": {"MessageId": "1"},
}
"""Answers to what is asked besides the operation that fails."""

_ERROR: dict[str, Callable[..., Answer]] = {
    "Publish": query_error,
    "SendEmail": rest_error,
    "GetSuppressedDestination": rest_error,
}

_THROTTLES = (
    ("ThrottlingException", 400),
    ("Throttling", 400),
    ("TooManyRequestsException", 429),
    ("RequestLimitExceeded", 400),
    ("SomethingNew", 429),
)

_ABSENT_IS_AN_ANSWER = {
    "terminate",
    "governed ids",
    "governed nodes",
    "is suppressed",
    "in_force",
    "draft",
    "paused_clusters",
}
"""Where "not found" says that there is nothing, which is what was asked."""


def _fail(name: str, answer: Any) -> ScriptedClients:
    operation, call = OPERATIONS[name]
    aws = ScriptedClients(**{**_BESIDES, operation: answer})
    call(aws)
    return aws


def _made(operation: str) -> Callable[..., Answer]:
    return _ERROR.get(operation, json_error)


def _error(name: str, code: str, status: int = 400) -> Answer:
    return _made(OPERATIONS[name][0])(code, "why", status)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(("code", "status"), _THROTTLES)
def test_a_throttle_is_a_throttle(name: str, code: str, status: int) -> None:
    with pytest.raises(ThrottledError, match=code):
        _fail(name, _error(name, code, status))


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_denial_is_a_denial(name: str) -> None:
    with pytest.raises(DeniedError, match=f"{OPERATIONS[name][0]}: AccessDenied"):
        _fail(name, _error(name, "AccessDeniedException", 403))


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_is_missing_is_an_error_unless_that_was_the_question(name: str) -> None:
    code = "ResourceNotFoundException"
    if name in _ABSENT_IS_AN_ANSWER:
        _fail(name, _error(name, code, 404))
        return
    with pytest.raises(NotFoundError):
        _fail(name, _error(name, code))


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_request_that_is_wrong_is_not_retried(name: str) -> None:
    with pytest.raises(TerminalError) as raised:
        _fail(name, _error(name, "ValidationException"))
    assert type(raised.value) is TerminalError


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(
    ("code", "status"),
    [("InternalServerError", 500), ("ServiceUnavailable", 503), ("SomethingNew", 400), ("", 502)],
)
def test_an_outage_is_transient(name: str, code: str, status: int) -> None:
    with pytest.raises(TransientError) as raised:
        _fail(name, _error(name, code, status))
    assert type(raised.value) is TransientError


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(
    "broken",
    [
        EndpointConnectionError(endpoint_url="https://x", error="refused"),
        ConnectTimeoutError(endpoint_url="https://x"),
        ReadTimeoutError(endpoint_url="https://x"),
    ],
    ids=lambda broken: type(broken).__name__,
)
def test_a_broken_network_is_transient(name: str, broken: BotoCoreError) -> None:
    with pytest.raises(TransientError, match=type(broken).__name__) as raised:
        _fail(name, broken)
    assert type(raised.value) is TransientError


@pytest.mark.parametrize("name", [n for n in OPERATIONS if OPERATIONS[n][0] != "Publish"])
def test_an_answer_that_is_no_answer_is_transient(name: str) -> None:
    with pytest.raises(TransientError):
        _fail(name, Answer("<html>Bad gateway</html>", 502))
