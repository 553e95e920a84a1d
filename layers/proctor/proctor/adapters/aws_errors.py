"""From botocore's exceptions to Proctor's. No other module reads an error code.

A throttle never becomes "not found"; what is not known is transient, so that it is retried and then parked. Messages
name the operation and what the service said, without addresses of people.

Codes: botocore's service models; SNS and SQS also send the codes of their query protocol.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    NoRegionError,
    ParamValidationError,
    PartialCredentialsError,
    SSOError,
)
from botocore.parsers import ResponseParserError

from proctor.adapters.texts import without_addresses
from proctor.domain.errors import (
    DeniedError,
    LostRaceError,
    NotFoundError,
    ProctorError,
    TerminalError,
    ThrottledError,
    TransientError,
)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_THROTTLED = _names(
    """
    Throttling ThrottlingException ThrottlingError Throttled ThrottledException RequestThrottled RequestThrottledException
    TooManyRequestsException TooManyUpdates RequestLimitExceeded BandwidthLimitExceeded LimitExceededException SlowDown
    ProvisionedThroughputExceeded ProvisionedThroughputExceededException PriorRequestNotComplete EC2ThrottledException
    TransactionInProgressException KMSThrottling KMSThrottlingException KMS.ThrottlingException KmsThrottled
    """
)
_DENIED = _names(
    """
    AccessDenied AccessDeniedException AuthorizationError AuthorizationErrorException UnauthorizedOperation NotAuthorized
    KMSAccessDenied KMSAccessDeniedException KMS.AccessDeniedException KmsAccessDenied OptInRequired KMSOptInRequired
    KMS.OptInRequired KmsOptInRequired UnrecognizedClientException InvalidClientTokenId MissingAuthenticationToken
    MissingAuthenticationTokenException InvalidSecurity InvalidSecurityException
    """
)
_NOT_FOUND = _names(
    """
    ResourceNotFound ResourceNotFoundException NotFound NotFoundException ParameterNotFound ParameterVersionNotFound
    DoesNotExistException QueueDoesNotExist AWS.SimpleQueueService.NonExistentQueue
    """
)
_LOST_RACE = _names(
    """
    ConditionalCheckFailed ConditionalCheckFailedException TransactionConflict TransactionConflictException
    """
)
_TERMINAL = _names(
    """
    ValidationException ValidationError InvalidParameter InvalidParameterException InvalidParameterValue
    InvalidParameterValueException ParameterValueInvalid BadRequestException MessageRejected SerializationException
    AccountSuspendedException SendingPausedException MailFromDomainNotVerifiedException InvalidFilterKey InvalidKeyId
    ParameterVersionLabelLimitExceeded InvalidMessageContents InvalidAddress UnsupportedOperation
    ItemCollectionSizeLimitExceeded ItemCollectionSizeLimitExceededException IdempotentParameterMismatchException
    KMSDisabled KMSDisabledException KMS.DisabledException KmsDisabled KMSInvalidState KMSInvalidStateException
    KMS.InvalidStateException KmsInvalidState KMSNotFound KMSNotFoundException KMS.NotFoundException KmsNotFound
    KmsInvalidKeyUsage
    """
)
_TEXT_AT_MOST = 500


@contextmanager
def translated(operation: str) -> Iterator[None]:
    """Turn botocore's exceptions inside the block into Proctor's, with the operation's name and the service's message."""
    try:
        yield
    except ClientError as error:
        raise _from_service(operation, error) from error
    except (NoCredentialsError, PartialCredentialsError, SSOError) as error:
        raise DeniedError(f"{operation}: {type(error).__name__}") from error
    except (ParamValidationError, NoRegionError) as error:
        raise TerminalError(f"{operation}: {type(error).__name__}") from error
    except (BotoCoreError, ResponseParserError) as error:
        raise TransientError(f"{operation}: {type(error).__name__}") from error


@contextmanager
def translated_put(item: Mapping[str, Any]) -> Iterator[None]:
    """The same for a conditional PutItem with `ReturnValuesOnConditionCheckFailure="ALL_OLD"`.

    When the answer gets lost, botocore sends the write again and it meets itself: the very item is no lost race.
    """
    try:
        with translated("dynamodb:PutItem"):
            yield
    except LostRaceError as lost:
        if lost_item(lost) != item:
            raise


def lost_item(error: LostRaceError) -> dict[str, Any] | None:
    """The item that made a conditional write fail, when the service returned it (ALL_OLD)."""
    cause = error.__cause__
    if not isinstance(cause, ClientError):
        return None
    item = cause.response.get("Item")
    return dict(item) if isinstance(item, dict) and item else None


def failed_conditions(error: LostRaceError) -> frozenset[int]:
    """Which items of a transaction, by position, had their condition fail; none when it was cancelled for another reason."""
    cause = error.__cause__
    if not isinstance(cause, ClientError):
        return frozenset()
    reasons = cause.response.get("CancellationReasons")
    if not isinstance(reasons, list):
        return frozenset()
    return frozenset(i for i, reason in enumerate(reasons) if reason.get("Code") == "ConditionalCheckFailed")


def is_refused_mail(error: ProctorError) -> bool:
    """Whether SES refused a message for what it is or whom it is for, not for its rate or for our permissions."""
    cause = error.__cause__
    return isinstance(cause, ClientError) and _code(cause) == "MessageRejected"


def _from_service(operation: str, error: ClientError) -> ProctorError:
    text = error.response.get("Error", {}).get("Message", "")
    message = without_addresses(f"{operation}: {_code(error)} {text}".strip())[:_TEXT_AT_MOST]
    if _code(error) == "TransactionCanceledException":
        return _from_transaction(message, error)
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return _kind(_code(error), status)(message)


def _kind(code: str, status: int) -> type[ProctorError]:
    if code in _LOST_RACE:
        return LostRaceError
    if code in _THROTTLED or status == 429:
        return ThrottledError
    if code in _DENIED:
        return DeniedError
    if code in _NOT_FOUND:
        return NotFoundError
    if code in _TERMINAL:
        return TerminalError
    return TransientError


def _from_transaction(message: str, error: ClientError) -> ProctorError:
    """A transaction is cancelled for the reasons of its items; a failed condition outweighs the rest, since it won't heal."""
    kinds = {_kind(reason, 0) for reason in _reasons(error)}
    for kind in (LostRaceError, DeniedError, NotFoundError, TerminalError, ThrottledError):
        if kind in kinds:
            return kind(message)
    return TransientError(message)


def _reasons(error: ClientError) -> set[str]:
    listed = error.response.get("CancellationReasons")
    if isinstance(listed, list):
        codes = {str(reason.get("Code", "")) for reason in listed}
    else:
        named = re.search(r"\[([\w, ]+)\]", error.response.get("Error", {}).get("Message", ""))
        codes = set(named[1].replace(" ", "").split(",")) if named else set()
    return codes - {"None", ""}


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
