import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlencode

import pytest
from botocore.credentials import Credentials
from botocore.hooks import HierarchicalEmitter
from botocore.model import ServiceId
from botocore.signers import RequestSigner

from proctor.adapters.caller_identity import HEADER, StsCallerProof, sts_endpoint
from proctor.domain.errors import DeniedError, ThrottledError, TransientError
from tests.fakes.values import NOW, role_arn

ARN = role_arn("ops@uni.example")
FUNCTION = "session_limits"
YES = (
    "<GetCallerIdentityResponse><GetCallerIdentityResult>"
    f"<Arn>{ARN}</Arn><UserId>AROA:ops</UserId><Account>123456789012</Account>"
    "</GetCallerIdentityResult></GetCallerIdentityResponse>"
)


@dataclass
class Sts:
    """An STS on loopback. `asked` holds each request's path and function header."""

    status: int = 200
    body: str = YES
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    endpoint: str = ""
    is_silent: bool = False


@pytest.fixture
def sts() -> Iterator[Sts]:
    service = Sts()
    release = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            service.asked.append((self.path, self.headers.get(HEADER)))
            if service.is_silent:
                release.wait(5)
                return
            self.send_response(service.status)
            self.end_headers()
            self.wfile.write(service.body.encode())

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        service.endpoint = f"http://127.0.0.1:{server.server_port}"
        yield service
        release.set()
        server.shutdown()
        thread.join()


def proof(endpoint: str, **changes: str | None) -> str:
    """A presigned request; a change of None takes a parameter away."""
    query: dict[str, str | None] = {
        "Action": "GetCallerIdentity",
        "Version": "2011-06-15",
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": "ASIAEXAMPLE/20260901/us-east-1/sts/aws4_request",
        "X-Amz-Date": NOW.strftime("%Y%m%dT%H%M%SZ"),
        "X-Amz-Expires": "120",
        "X-Amz-SignedHeaders": f"host;{HEADER}",
        "X-Amz-Signature": "0f" * 32,
    }
    query |= {name.replace("_", "-"): value for name, value in changes.items()}
    return f"{endpoint}/?{urlencode({name: value for name, value in query.items() if value is not None})}"


def verifier(sts: Sts, after_seconds: float = 30, timeout_seconds: float = 2) -> StsCallerProof:
    return StsCallerProof(sts.endpoint, timeout_seconds, lambda: NOW + timedelta(seconds=after_seconds))


@pytest.mark.parametrize(
    ("region", "endpoint"),
    [
        ("eu-central-1", "https://sts.eu-central-1.amazonaws.com"),
        ("us-gov-west-1", "https://sts.us-gov-west-1.amazonaws.com"),
        ("cn-north-1", "https://sts.cn-north-1.amazonaws.com.cn"),
    ],
)
def test_the_regions_own_sts_is_asked(region: str, endpoint: str) -> None:
    assert sts_endpoint({"AWS_REGION": region}) == endpoint


def test_an_endpoint_of_the_environment_comes_first_and_that_of_sts_before_all() -> None:
    general = {"AWS_REGION": "cn-north-1", "AWS_ENDPOINT_URL": "http://127.0.0.1:4566"}

    assert sts_endpoint(general) == "http://127.0.0.1:4566"
    assert sts_endpoint(general | {"AWS_ENDPOINT_URL_STS": "http://127.0.0.1:1"}) == "http://127.0.0.1:1"


def test_a_good_proof_names_its_caller(sts: Sts) -> None:
    given = proof(sts.endpoint)

    assert verifier(sts).caller(given, FUNCTION) == ARN
    assert sts.asked == [(given.removeprefix(sts.endpoint), FUNCTION)]


def test_a_proof_made_by_botocore_is_taken(sts: Sts) -> None:
    """As `proctor` makes it: the header is signed, and stands in X-Amz-SignedHeaders."""
    credentials, events = Credentials("AKIAEXAMPLE", "secret", "token"), HierarchicalEmitter()
    signer = RequestSigner(ServiceId("STS"), "us-east-1", "sts", "v4", credentials, events)
    request = {
        "method": "GET",
        "url": f"{sts.endpoint}/?Action=GetCallerIdentity&Version=2011-06-15",
        "body": {},
        "headers": {HEADER: FUNCTION},
        "context": {},
    }
    url = signer.generate_presigned_url(request, operation_name="GetCallerIdentity", expires_in=120)

    assert StsCallerProof(sts.endpoint).caller(url, FUNCTION) == ARN
    assert sts.asked[0][1] == FUNCTION


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:iam::123456789012:user/ada",
        "arn:aws:iam::123456789012:root",
        "arn:aws-us-gov:sts::123456789012:assumed-role/Admin/ada",
    ],
)
def test_any_kind_of_caller_is_named(sts: Sts, arn: str) -> None:
    sts.body = f"<Arn>{arn}</Arn>"

    assert verifier(sts).caller(proof(sts.endpoint), FUNCTION) == arn


@pytest.mark.parametrize(
    "changes",
    [
        {"Action": "AssumeRole"},
        {"Action": None},
        {"X_Amz_SignedHeaders": "host"},
        {"X_Amz_SignedHeaders": None},
        {"X_Amz_SignedHeaders": f"host;{HEADER}-2"},
        {"X_Amz_Expires": "301"},
        {"X_Amz_Expires": "0"},
        {"X_Amz_Expires": "-5"},
        {"X_Amz_Expires": "1e2"},
        {"X_Amz_Expires": "²"},
        {"X_Amz_Expires": None},
        {"X_Amz_Date": None},
        {"X_Amz_Date": "yesterday"},
    ],
    ids=str,
)
def test_a_proof_that_is_none_is_refused_before_anything_is_asked(
    sts: Sts, changes: dict[str, str | None]
) -> None:
    with pytest.raises(DeniedError):
        verifier(sts).caller(proof(sts.endpoint, **changes), FUNCTION)
    assert sts.asked == []


@pytest.mark.parametrize(
    "name", ["Action=AssumeRole", "X-Amz-Expires=9", "X-Amz-SignedHeaders=host", "X-Amz-Date=x"]
)
def test_a_parameter_given_twice_is_refused(sts: Sts, name: str) -> None:
    with pytest.raises(DeniedError):
        verifier(sts).caller(f"{proof(sts.endpoint)}&{name}", FUNCTION)
    assert sts.asked == []


@pytest.mark.parametrize(
    "elsewhere",
    [
        "http://127.0.0.1:1",
        "https://sts.evil.example",
        "http://user@{host}",
        "https://{host}",
        "http://{host}.evil.example",
        "http://{host}/other",
        "//{host}",
        "file://{host}",
        "http://[::1",
    ],
)
def test_only_this_regions_sts_is_asked(sts: Sts, elsewhere: str) -> None:
    host = sts.endpoint.removeprefix("http://")
    with pytest.raises(DeniedError):
        verifier(sts).caller(proof(elsewhere.format(host=host)), FUNCTION)
    assert sts.asked == []


@pytest.mark.parametrize(
    "text", ["", "x", "http://\n", "é" * 9, "http://a b/?Action=GetCallerIdentity", "x" * 9000]
)
def test_what_is_no_url_is_refused(sts: Sts, text: str) -> None:
    with pytest.raises(DeniedError):
        verifier(sts).caller(text, FUNCTION)


@pytest.mark.parametrize(
    ("seconds", "is_good"), [(-61, False), (-59, True), (0, True), (119, True), (120, False), (900, False)]
)
def test_a_proof_is_good_for_the_time_it_was_signed_for(sts: Sts, seconds: float, is_good: bool) -> None:
    """STS itself takes a presigned request for a quarter of an hour."""
    if is_good:
        assert verifier(sts, seconds).caller(proof(sts.endpoint), FUNCTION) == ARN
        return
    with pytest.raises(DeniedError, match="expired"):
        verifier(sts, seconds).caller(proof(sts.endpoint), FUNCTION)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (403, "<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code></Error></ErrorResponse>"),
        (400, "<ErrorResponse><Error><Code>ExpiredToken</Code></Error></ErrorResponse>"),
        (403, YES),
        (200, "<Arn>not an arn</Arn>"),
        (200, ""),
        (302, YES),
    ],
)
def test_what_sts_refuses_is_refused(sts: Sts, status: int, body: str) -> None:
    sts.status, sts.body = status, body
    with pytest.raises(DeniedError):
        verifier(sts).caller(proof(sts.endpoint), FUNCTION)


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (429, "", ThrottledError),
        (400, "<Error><Code>Throttling</Code></Error>", ThrottledError),
        (500, YES, TransientError),
        (503, "", TransientError),
    ],
)
def test_a_busy_sts_denies_nobody(sts: Sts, status: int, body: str, error: type[Exception]) -> None:
    sts.status, sts.body = status, body
    with pytest.raises(error):
        verifier(sts).caller(proof(sts.endpoint), FUNCTION)


def test_a_silent_sts_is_not_waited_for_long(sts: Sts) -> None:
    sts.is_silent = True
    with pytest.raises(TransientError):
        verifier(sts, timeout_seconds=0.2).caller(proof(sts.endpoint), FUNCTION)


def test_an_sts_that_is_away_is_no_denial() -> None:
    endpoint = "http://127.0.0.1:9"
    with pytest.raises(TransientError):
        StsCallerProof(endpoint, 1, lambda: NOW).caller(proof(endpoint), FUNCTION)


def test_a_refusal_shows_nothing_of_the_proof(sts: Sts) -> None:
    with pytest.raises(DeniedError) as raised:
        verifier(sts).caller(proof(sts.endpoint, X_Amz_Expires="301"), FUNCTION)
    assert "ASIA" not in str(raised.value)
