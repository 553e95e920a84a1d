"""Every code and every kind of exception that botocore may hand on."""

from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    NoCredentialsError,
    NoRegionError,
    ParamValidationError,
    PartialCredentialsError,
)
from botocore.parsers import ResponseParserError
from botocore.retries import standard

from proctor.adapters.aws_errors import is_refused_mail, lost_item, translated
from proctor.domain.errors import (
    DeniedError,
    LostRaceError,
    NotFoundError,
    ProctorError,
    TerminalError,
    ThrottledError,
    TransientError,
)

_THROTTLES: list[str] = vars(standard.ThrottledRetryableChecker)["_THROTTLED_ERROR_CODES"]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("ProvisionedThroughputExceededException", ThrottledError),
        ("TransactionInProgressException", ThrottledError),
        ("ConditionalCheckFailedException", LostRaceError),
        ("TransactionConflictException", LostRaceError),
        ("ReplicatedWriteConflictException", TransientError),
        ("IdempotentParameterMismatchException", TerminalError),
        ("ItemCollectionSizeLimitExceededException", TerminalError),
        ("TooManyUpdates", ThrottledError),
        ("ParameterNotFound", NotFoundError),
        ("ParameterVersionNotFound", NotFoundError),
        ("ParameterVersionLabelLimitExceeded", TerminalError),
        ("InvalidNextToken", TransientError),
        ("ResourceNotFound", NotFoundError),
        ("KMSThrottling", ThrottledError),
        ("KMS.ThrottlingException", ThrottledError),
        ("KmsThrottled", ThrottledError),
        ("KMSAccessDenied", DeniedError),
        ("KMS.AccessDeniedException", DeniedError),
        ("AuthorizationError", DeniedError),
        ("UnrecognizedClientException", DeniedError),
        ("ExpiredTokenException", TransientError),
        ("NotFound", NotFoundError),
        ("AWS.SimpleQueueService.NonExistentQueue", NotFoundError),
        ("InvalidParameter", TerminalError),
        ("MessageRejected", TerminalError),
        ("KMSDisabled", TerminalError),
    ],
)
def test_codes(code: str, error: type[ProctorError]) -> None:
    with pytest.raises(ProctorError) as raised, translated("service:Operation"):
        raise ClientError({"Error": {"Code": code, "Message": "why"}}, "Operation")
    assert type(raised.value) is error
    assert str(raised.value) == f"service:Operation: {code} why"


@pytest.mark.parametrize("code", _THROTTLES)
def test_what_botocore_calls_a_throttle_is_one_here(code: str) -> None:
    with pytest.raises(ThrottledError), translated("service:Operation"):
        raise ClientError({"Error": {"Code": code}}, "Operation")


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        (NoCredentialsError(), DeniedError),
        (PartialCredentialsError(provider="env", cred_var="x"), DeniedError),
        (NoRegionError(), TerminalError),
        (ParamValidationError(report="value: secret"), TerminalError),
        (ResponseParserError("no JSON"), TransientError),
    ],
    ids=lambda given: getattr(given, "__name__", type(given).__name__),
)
def test_botocores_own_errors(broken: Exception, error: type[ProctorError]) -> None:
    with pytest.raises(ProctorError) as raised, translated("service:Operation"):
        raise broken
    assert type(raised.value) is error
    assert "secret" not in str(raised.value)


def test_a_defect_of_ours_is_not_dressed_up() -> None:
    with pytest.raises(KeyError), translated("service:Operation"):
        raise KeyError("Item")


@pytest.mark.parametrize(
    ("reasons", "error"),
    [
        (["ConditionalCheckFailed", "None"], LostRaceError),
        (["None", "TransactionConflict"], LostRaceError),
        (["ThrottlingError", "None"], ThrottledError),
        (["ProvisionedThroughputExceeded", "None"], ThrottledError),
        (["ThrottlingError", "ConditionalCheckFailed"], LostRaceError),
        (["ValidationError", "None"], TerminalError),
        (["ItemCollectionSizeLimitExceeded", "None"], TerminalError),
        (["SomethingNew", "None"], TransientError),
        (["None", "None"], TransientError),
    ],
    ids=str,
)
@pytest.mark.parametrize("has_list", [True, False])
def test_a_cancelled_transaction_is_what_its_reasons_are(
    reasons: list[str], error: type[ProctorError], has_list: bool
) -> None:
    text = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{', '.join(reasons)}]"
    response: Any = {"Error": {"Code": "TransactionCanceledException", "Message": text}}
    if has_list:
        response["CancellationReasons"] = [{"Code": reason} for reason in reasons]
        response["Error"]["Message"] = "Transaction cancelled"
    with pytest.raises(ProctorError) as raised, translated("dynamodb:TransactWriteItems"):
        raise ClientError(response, "TransactWriteItems")
    assert type(raised.value) is error


def test_the_item_that_won_is_at_hand_when_the_service_returns_it() -> None:
    item = {"token": {"S": "t"}}
    for response, expected in (({"Item": item}, item), ({"Item": {}}, None), ({}, None)):
        given: Any = {"Error": {"Code": "ConditionalCheckFailedException"}, **response}
        with pytest.raises(LostRaceError) as raised, translated("dynamodb:PutItem"):
            raise ClientError(given, "PutItem")
        assert lost_item(raised.value) == expected
    assert lost_item(LostRaceError("by hand")) is None


def test_messages_are_short_and_name_nobody() -> None:
    text = "no such identity: Ada <ada.l@uni.example> " + "x" * 5_000
    with pytest.raises(TerminalError) as raised, translated("ses:SendEmail"):
        raise ClientError({"Error": {"Code": "MessageRejected", "Message": text}}, "SendEmail")
    assert "uni.example" not in str(raised.value)
    assert len(str(raised.value)) <= 500
    assert is_refused_mail(raised.value)
    assert not is_refused_mail(TerminalError("MessageRejected"))
