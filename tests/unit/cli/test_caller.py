"""The proof for break-glass, against the function's own verifier and an STS that checks the signature."""

import hashlib
import hmac
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, urlsplit

import pytest

from proctor.adapters.caller_identity import StsCallerProof
from proctor.domain.errors import DeniedError
from proctor_cli.caller import PROOF_SECONDS, caller_proof
from proctor_cli.clients import CliClients

ARN = "arn:aws:sts::123456789012:assumed-role/Ops/grace"


class _Sts(BaseHTTPRequestHandler):
    """Computes the signature from what arrives, as AWS Signature Version 4 says for query strings."""

    def do_GET(self) -> None:
        pairs = parse_qsl(urlsplit(self.path).query)
        values = dict(pairs)
        is_good = hmac.compare_digest(self._signature(pairs, values), values["X-Amz-Signature"])
        body = f"<Arn>{ARN}</Arn>" if is_good else "<Error>SignatureDoesNotMatch</Error>"
        self.send_response(200 if is_good else 403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        del format, args

    def _signature(self, pairs: list[tuple[str, str]], values: dict[str, str]) -> str:
        query = "&".join(
            f"{quote(k, safe='-_.~')}={quote(v, safe='-_.~')}"
            for k, v in sorted(pairs)
            if k != "X-Amz-Signature"
        )
        signed = values["X-Amz-SignedHeaders"].split(";")
        headers = "".join(f"{name}:{self.headers.get(name, '').strip()}\n" for name in signed)
        empty = hashlib.sha256(b"").hexdigest()
        canonical = "\n".join(["GET", "/", query, headers, ";".join(signed), empty])
        scope = values["X-Amz-Credential"].partition("/")[2]
        text = "\n".join(
            ["AWS4-HMAC-SHA256", values["X-Amz-Date"], scope, hashlib.sha256(canonical.encode()).hexdigest()]
        )
        key = b"AWS4testing"
        for part in scope.split("/"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Sts)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join(5)


def test_the_function_accepts_the_proof_and_learns_the_caller(endpoint: str) -> None:
    proof = caller_proof(CliClients("us-east-1", endpoint_url=endpoint), "session_limits")
    assert StsCallerProof(endpoint).caller(proof, "session_limits") == ARN


def test_a_proof_for_one_function_is_none_for_another(endpoint: str) -> None:
    proof = caller_proof(CliClients("us-east-1", endpoint_url=endpoint), "session_limits")
    with pytest.raises(DeniedError, match="did not accept"):
        StsCallerProof(endpoint).caller(proof, "node_health")


def test_a_proof_that_lives_too_long_is_refused(endpoint: str) -> None:
    proof = caller_proof(CliClients("us-east-1", endpoint_url=endpoint), "session_limits", seconds=301)
    with pytest.raises(DeniedError, match="at most 300"):
        StsCallerProof(endpoint).caller(proof, "session_limits")
    assert PROOF_SECONDS <= 300


@pytest.mark.parametrize("region", ["us-east-1", "eu-central-2", "ap-southeast-4"])
def test_the_proof_goes_to_the_endpoint_of_the_region_that_the_function_expects(region: str) -> None:
    url = urlsplit(caller_proof(CliClients(region), "session_limits"))
    assert (url.scheme, url.netloc, url.path) == ("https", f"sts.{region}.amazonaws.com", "/")
    signed = dict(parse_qsl(url.query))
    assert signed["X-Amz-SignedHeaders"] == "host;x-proctor-function"
    assert signed["X-Amz-Expires"] == str(PROOF_SECONDS)


def test_session_tokens_are_part_of_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "t/o+k=en")
    signed = dict(parse_qsl(urlsplit(caller_proof(CliClients("us-east-1"), "session_limits")).query))
    assert signed["X-Amz-Security-Token"] == "t/o+k=en"
