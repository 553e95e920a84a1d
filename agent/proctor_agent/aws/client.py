"""One AWS JSON service: signed POSTs on a kept connection, with time-outs and a bound on the answer."""

import http.client
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from proctor_agent.aws import sigv4
from proctor_agent.aws.credentials import CredentialSource
from proctor_agent.clock import Clock
from proctor_agent.errors import AwsError

_CONNECT_SECONDS = 5.0
_LARGEST_ANSWER = 16_000_000


@dataclass(frozen=True)
class Service:
    """How a service is addressed: signing name, X-Amz-Target prefix, JSON version."""

    name: str
    target: str
    json_version: str


class JsonClient:
    """Calls actions of one service in one region. Not shared between threads."""

    def __init__(
        self, service: Service, region: str, source: CredentialSource, clock: Clock, endpoint_url: str = ""
    ) -> None:
        """Remember where to go; connect on the first call."""
        self._service = service
        self._region = region
        self._source = source
        self._clock = clock
        suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
        self._url = urlsplit(endpoint_url or f"https://{service.name}.{region}.{suffix}")
        self._connection: http.client.HTTPConnection | None = None

    def call(self, action: str, body: Mapping[str, Any], seconds: float = 10.0) -> dict[str, Any]:
        """The answer of one action; AwsError with the service's code, or the kind of network failure."""
        payload = json.dumps(body, separators=(",", ":")).encode("utf-8")
        host = self._url.netloc
        plain = {
            "content-type": f"application/x-amz-json-{self._service.json_version}",
            "x-amz-target": f"{self._service.target}.{action}",
        }
        request = sigv4.Request(host, payload, plain)
        signed = sigv4.sign(request, self._source.get(), self._region, self._service.name, self._clock.now())
        try:
            status, content = self._post(payload, signed, seconds)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise AwsError(type(error).__name__, f"{self._service.name} {action}: {error}") from error
        return _answer(f"{self._service.name} {action}", status, content)

    def close(self) -> None:
        """Drop the connection; the next call makes a new one."""
        held, self._connection = self._connection, None
        if held is not None:
            held.close()

    def _post(self, payload: bytes, headers: dict[str, str], seconds: float) -> tuple[int, bytes]:
        try:
            return self._exchange(payload, headers, seconds)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            # A kept connection that the other side had closed: once more on a new one.
            self.close()
            return self._exchange(payload, headers, seconds)

    def _exchange(self, payload: bytes, headers: dict[str, str], seconds: float) -> tuple[int, bytes]:
        connection = self._connection or self._connect()
        self._connection = connection
        if connection.sock is not None:
            connection.sock.settimeout(seconds)
        connection.request("POST", "/", body=payload, headers=headers)
        if connection.sock is not None:
            connection.sock.settimeout(seconds)
        answer = connection.getresponse()
        content = answer.read(_LARGEST_ANSWER + 1)
        if len(content) > _LARGEST_ANSWER:
            raise http.client.HTTPException(f"answer is over {_LARGEST_ANSWER} bytes")
        return answer.status, content

    def _connect(self) -> http.client.HTTPConnection:
        if self._url.scheme == "https":
            return http.client.HTTPSConnection(
                self._url.netloc, timeout=_CONNECT_SECONDS, context=_tls_context()
            )
        return http.client.HTTPConnection(self._url.netloc, timeout=_CONNECT_SECONDS)


@lru_cache(maxsize=1)
def _tls_context() -> ssl.SSLContext:
    """One for all connections: the trusted certificates take memory."""
    return ssl.create_default_context()


def _answer(what: str, status: int, content: bytes) -> dict[str, Any]:
    try:
        raw = json.loads(content) if content else {}
    except ValueError as error:
        raise AwsError(f"Http{status}", f"{what}: the answer is not JSON") from error
    if not isinstance(raw, dict):
        raise AwsError(f"Http{status}", f"{what}: an object is expected")
    if status != http.client.OK:
        code = str(raw.get("__type", f"Http{status}")).rpartition("#")[2]
        raise AwsError(code, f"{what}: {raw.get('message') or raw.get('Message') or 'no message'}")
    return raw
