"""The AWS client: signatures against botocore's, credentials from a metadata service, faults as one error."""

import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials
from hypothesis import given
from hypothesis import strategies as st

from proctor_agent.aws import sigv4
from proctor_agent.aws.client import JsonClient, Service
from proctor_agent.aws.credentials import Credentials, CredentialSource
from proctor_agent.aws.dynamodb import DYNAMODB, IntentsTable, plain
from proctor_agent.aws.sqs import SQS, ReportQueue, WakeupQueue
from proctor_agent.errors import AwsError
from tests.agent.loopback_aws import LoopbackAws, attribute, loopback_aws
from tests.agent.unit.values import FakeClock

KEYS = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret"}


class FixedSigV4Auth(SigV4Auth):
    """botocore's signer at a given time."""

    def __init__(self, credentials: BotoCredentials, service: str, region: str, stamp: str) -> None:
        super().__init__(credentials, service, region)
        self._stamp = stamp

    def add_auth(self, request: Any) -> None:
        request.context["timestamp"] = self._stamp
        request.headers["X-Amz-Date"] = self._stamp
        if self.credentials.token:
            request.headers["X-Amz-Security-Token"] = self.credentials.token
        canonical = self.canonical_request(request)
        signature = self.signature(self.string_to_sign(request, canonical), request)
        inject: Any = getattr(self, "_inject_signature_to_request")  # noqa: B009 - untyped in its stubs
        inject(request, signature)


words = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=20)


@given(
    words,
    words,
    st.text(max_size=50),
    st.sampled_from(["sqs", "dynamodb"]),
    st.text(max_size=20).map(str.encode),
)
def test_the_signature_is_botocores(key: str, secret: str, body: str, service: str, token: bytes) -> None:
    now = datetime(2026, 11, 30, 18, 6, 52, tzinfo=UTC)
    session_token = token.hex()
    host = f"{service}.us-west-2.amazonaws.com"
    plain_headers = {"content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS.SendMessage"}
    ours = sigv4.sign(
        sigv4.Request(host, body.encode(), plain_headers),
        Credentials(key, secret, session_token),
        "us-west-2",
        service,
        now,
    )
    request = AWSRequest("POST", f"https://{host}/", headers=plain_headers, data=body.encode())
    boto = BotoCredentials(key, secret, session_token or None)
    FixedSigV4Auth(boto, service, "us-west-2", "20261130T180652Z").add_auth(request)
    assert ours["authorization"] == request.headers["Authorization"]


@contextmanager
def metadata_service(expires_at: datetime) -> Iterator[tuple[str, list[str]]]:
    """IMDSv2: a token by PUT, then role and credentials with it."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self, body: str, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def do_PUT(self) -> None:
            asked.append(f"PUT {self.path}")
            self.answer("tok" if self.headers["X-aws-ec2-metadata-token-ttl-seconds"] == "21600" else "")

        def do_GET(self) -> None:
            asked.append(f"GET {self.path}")
            if self.headers["X-aws-ec2-metadata-token"] != "tok":
                self.answer("", 401)
            elif self.path.endswith("/security-credentials/"):
                self.answer("node-role")
            else:
                values = {"AccessKeyId": f"AK{len(asked)}", "SecretAccessKey": "s", "Token": "t"}
                self.answer(json.dumps(values | {"Expiration": f"{expires_at:%Y-%m-%dT%H:%M:%SZ}"}))

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def test_metadata_credentials_are_kept_until_five_minutes_before_their_end() -> None:
    clock = FakeClock()
    with metadata_service(clock.now() + timedelta(minutes=30)) as (url, asked):
        source = CredentialSource(clock, {"AWS_EC2_METADATA_SERVICE_ENDPOINT": url})
        first = source.get()
        assert (first.session_token, first.expires_at) == ("t", clock.now() + timedelta(minutes=30))
        assert asked[0] == "PUT /latest/api/token"
        assert asked[2].endswith("/security-credentials/node-role")
        clock.advance(24 * 60)
        assert source.get() is first
        clock.advance(2 * 60)
        assert source.get() is not first


def test_old_credentials_serve_while_the_metadata_service_is_away() -> None:
    clock = FakeClock()
    with metadata_service(clock.now() + timedelta(minutes=30)) as (url, _):
        source = CredentialSource(clock, {"AWS_EC2_METADATA_SERVICE_ENDPOINT": url})
        first = source.get()
    clock.advance(27 * 60)
    assert source.get() is first
    clock.advance(4 * 60)
    with pytest.raises(AwsError, match="NoCredentials"):
        source.get()


@pytest.fixture
def aws() -> Iterator[LoopbackAws]:
    with loopback_aws() as services:
        yield services


class Clients:
    """Makes clients of the loopback services."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.made: list[JsonClient] = []

    def __call__(self, service: Service) -> JsonClient:
        clock = FakeClock()
        client = JsonClient(service, "us-west-2", CredentialSource(clock, KEYS), clock, self._url)
        self.made.append(client)
        return client


@pytest.fixture
def client(aws: LoopbackAws) -> Iterator[Clients]:
    clients = Clients(aws.url)
    yield clients
    for made in clients.made:
        made.close()


def test_a_query_reads_every_page(aws: LoopbackAws, client: Clients) -> None:
    for index in range(60):
        value = {"a": [True, None]}
        aws.put_raw({"pk": "c#controller", "sk": f"k#{index:02d}", "rev": index, "value": value})
    aws.put_raw({"pk": "c#nodes#ip-10-0-0-1", "sk": "k#1"})
    items = IntentsTable(client(DYNAMODB), "intents").query("c#controller")
    assert [item["rev"] for item in items] == list(range(60))
    assert items[0]["value"] == {"a": [True, None]}
    queries = [body for target, body, _ in aws.requests if target == "DynamoDB_20120810.Query"]
    assert len(queries) == 3
    assert all(body["ConsistentRead"] for body in queries)


def test_queues(aws: LoopbackAws, client: Clients) -> None:
    queue = WakeupQueue(client(SQS), f"{aws.url}/1/wakeup")
    assert queue.wait(0) is False
    aws.wake()
    assert queue.wait(5) is True
    ReportQueue(client(SQS), f"{aws.url}/1/reports").send("hello")
    assert aws.messages == ["hello"]
    targets = [target for target, _, _ in aws.requests]
    assert targets == [
        "AmazonSQS.ReceiveMessage",
        "AmazonSQS.ReceiveMessage",
        "AmazonSQS.DeleteMessageBatch",
        "AmazonSQS.SendMessage",
    ]
    assert aws.requests[0][2]["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKID/")


def test_an_error_carries_the_services_code_and_heals(aws: LoopbackAws, client: Clients) -> None:
    table = IntentsTable(client(DYNAMODB), "intents")
    aws.is_down = True
    with pytest.raises(AwsError, match="ServiceUnavailable") as caught:
        table.query("c#controller")
    assert caught.value.code == "ServiceUnavailable"
    aws.is_down = False
    assert table.query("c#controller") == []


def test_a_refused_connection_is_an_aws_error() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        queue = ReportQueue(Clients(f"http://127.0.0.1:{nobody.getsockname()[1]}")(SQS), "q")
        with pytest.raises(AwsError, match="ConnectionRefusedError"):
            queue.send("one")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    argv = ["openssl", *words, "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)

    class Quiet(HTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            return

    server = Quiet(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        queue = ReportQueue(Clients(f"https://localhost:{server.server_address[1]}")(SQS), "q")
        with pytest.raises(AwsError, match="SSLCertVerificationError"):
            queue.send("one")
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
    assert asked == []


@pytest.mark.parametrize("value", [{"B": "x"}, {"S": "a", "N": "1"}, {}, "text", None])
def test_what_is_no_attribute_value_is_refused(value: Any) -> None:
    with pytest.raises(AwsError):
        plain(value)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_attribute_values_come_back(value: Any) -> None:
    assert plain(attribute(value)) == value
