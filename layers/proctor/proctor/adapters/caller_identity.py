"""Proof of a caller: a presigned sts GetCallerIdentity request, made by `proctor` and replayed here.

The signature covers a header with the function's name, so that a proof for one function is worth nothing at another. STS
takes a presigned request for 15 minutes whatever its X-Amz-Expires says, so the shorter life is checked here.
"""

import http.client
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import SplitResult, parse_qs, urlsplit

from proctor.domain.errors import DeniedError, ThrottledError, TransientError

HEADER = "x-proctor-function"
_ARN = re.compile(r"<Arn>(arn:aws[a-z-]*:(?:sts|iam)::\d{12}:[^<]{1,256})</Arn>")
_THROTTLED = re.compile(r"<Code>(?:Throttling|ThrottlingException|RequestLimitExceeded)</Code>")
_PRINTABLE = re.compile(r"[\x21-\x7e]{1,8192}")
_LONGEST_SECONDS = 300
_SKEW = timedelta(seconds=60)
_ANSWER_AT_MOST = 65536


def sts_endpoint(env: Mapping[str, str]) -> str:
    """This Region's STS, which is under another suffix in China; the SDK's variables for an endpoint come first."""
    region = env.get("AWS_REGION", "us-east-1")
    suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    override = env.get("AWS_ENDPOINT_URL_STS") or env.get("AWS_ENDPOINT_URL")
    return override or f"https://sts.{region}.{suffix}"


class StsCallerProof:
    """Verifies proofs against one STS endpoint; any other host is refused before a connection is made."""

    def __init__(
        self,
        endpoint: str,
        timeout_seconds: float = 5.0,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Take the endpoint, e.g. `https://sts.us-east-1.amazonaws.com`."""
        self._endpoint = urlsplit(endpoint)
        self._timeout_seconds = timeout_seconds
        self._clock = clock

    def caller(self, proof: str, function: str) -> str:
        """The caller's ARN. Raises DeniedError for a proof that is no proof, TransientError when STS can't be reached."""
        url = _split(proof)
        is_ours = (url.scheme, url.netloc) == (self._endpoint.scheme, self._endpoint.netloc)
        if not is_ours or url.path not in ("", "/"):
            raise _denied("not a request to this Region's STS")
        query = parse_qs(url.query)
        if query.get("Action") != ["GetCallerIdentity"]:
            raise _denied("not a GetCallerIdentity request")
        if HEADER not in _only(query, "X-Amz-SignedHeaders").split(";"):
            raise _denied(f"the header {HEADER} is not signed")
        self._require_fresh(query)
        return self._ask(f"/?{url.query}", function)

    def _require_fresh(self, query: Mapping[str, list[str]]) -> None:
        expires = _only(query, "X-Amz-Expires")
        if not re.fullmatch(r"\d{1,3}", expires) or not 0 < int(expires) <= _LONGEST_SECONDS:
            raise _denied(f"sign it for at most {_LONGEST_SECONDS} s")
        try:
            signed_at = datetime.strptime(_only(query, "X-Amz-Date"), "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        except ValueError as error:
            raise _denied("X-Amz-Date is no time") from error
        if not -_SKEW <= self._clock() - signed_at < timedelta(seconds=int(expires)):
            raise _denied("it has expired, or is not valid yet; sign a new one")

    def _ask(self, path: str, function: str) -> str:
        kind = http.client.HTTPSConnection if self._endpoint.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._endpoint.netloc, timeout=self._timeout_seconds)
        try:
            connection.request("GET", path, headers={HEADER: function})
            answer = connection.getresponse()
            body = answer.read(_ANSWER_AT_MOST).decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            raise TransientError("sts:GetCallerIdentity could not be reached") from error
        finally:
            connection.close()
        if answer.status == http.HTTPStatus.TOO_MANY_REQUESTS or _THROTTLED.search(body):
            raise ThrottledError("sts:GetCallerIdentity is throttled")
        if answer.status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            raise TransientError(f"sts:GetCallerIdentity answered {answer.status}")
        found = _ARN.search(body)
        if answer.status != http.HTTPStatus.OK or found is None:
            raise _denied("STS did not accept it")
        return found[1]


def _split(proof: str) -> SplitResult:
    if not _PRINTABLE.fullmatch(proof):
        raise _denied("not a URL")
    try:
        return urlsplit(proof)
    except ValueError as error:
        raise _denied("not a URL") from error


def _only(query: Mapping[str, list[str]], name: str) -> str:
    """The one value of a parameter; of a repeated one nobody knows which STS reads."""
    values = query.get(name, [""])
    return values[0] if len(values) == 1 else ""


def _denied(why: str) -> DeniedError:
    return DeniedError(f"break_glass.caller_proof: {why}")
