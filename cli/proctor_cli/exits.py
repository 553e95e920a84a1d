"""Exit codes, and which error ends in which. Every failure that can be expected ends in one line, never in a traceback."""

from enum import IntEnum
from typing import Self

from botocore.exceptions import (
    BotoCoreError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)

from proctor.domain.errors import (
    DeniedError,
    InvalidInputError,
    NotFoundError,
    ProctorError,
    TransientError,
)


class Exit(IntEnum):
    """What the caller's script can tell apart."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    TRY_LATER = 5


MEANINGS = {
    Exit.OK: "done, or nothing to do",
    Exit.FAILED: "failed: a file or a policy is not valid, or an action did not take effect",
    Exit.USAGE: "the command line is not usable",
    Exit.NOT_FOUND: "the thing named does not exist",
    Exit.REFUSED: "refused: by IAM, by a guard, or because nobody is signed in",
    Exit.TRY_LATER: "try again later: throttled, contended or not reachable",
}


class UsageError(InvalidInputError):
    """An argument that can't be used; like any bad input it names the field, the value and the fix."""

    @classmethod
    def of(cls, error: InvalidInputError) -> Self:
        """The same finding, about what was typed."""
        made = cls(error.field, None, error.fix)
        made.value, made.args = error.value, (f"request: {error}",)
        return made


class RefusedError(ProctorError):
    """A guard of this command said no; the message says how to go on if that is meant."""


class OutdatedStackError(ProctorError):
    """The stack lacks what this version of the command needs."""


_SIGN_IN = "sign in first (aws sso login, or AWS_PROFILE / --profile)"


def exit_of(error: Exception) -> Exit:
    """The exit code of an expected error."""
    cause = error.__cause__
    if isinstance(cause, BotoCoreError):
        return _exit_of_botocore(cause)
    match error:
        case UsageError():
            return Exit.USAGE
        case NotFoundError():
            return Exit.NOT_FOUND
        case DeniedError() | RefusedError():
            return Exit.REFUSED
        case TransientError():
            return Exit.TRY_LATER
        case BotoCoreError():
            return _exit_of_botocore(error)
    return Exit.FAILED


def message_of(error: Exception) -> str:
    """One line for people."""
    cause = error.__cause__
    botocore_error = cause if isinstance(cause, BotoCoreError) else error
    match botocore_error:
        case NoRegionError():
            return "region: none is set; give --region or set AWS_REGION"
        case ProfileNotFound():
            return f"profile: {botocore_error}; give an existing one with --profile"
        case NoCredentialsError() | PartialCredentialsError():
            return f"credentials: none were found; {_SIGN_IN}"
        case SSOError() | TokenRetrievalError():
            return f"credentials: the sign-in has expired; {_SIGN_IN}"
        case EndpointConnectionError() | ConnectTimeoutError():
            return f"{botocore_error}; check the network, --region and --endpoint-url"
    text = " ".join(str(error).split()) or type(error).__name__
    if "ExpiredToken" in text:
        return f"credentials: the sign-in has expired; {_SIGN_IN}"
    return text


def _exit_of_botocore(error: BotoCoreError) -> Exit:
    if isinstance(error, NoRegionError | ProfileNotFound):
        return Exit.USAGE
    if isinstance(error, NoCredentialsError | PartialCredentialsError | SSOError | TokenRetrievalError):
        return Exit.REFUSED
    return Exit.TRY_LATER
