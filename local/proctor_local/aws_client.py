"""A small signed client of the AWS APIs, standard library only, for scenarios and the deployer.

It speaks the JSON protocol (ssm, sagemaker, sqs, dynamodb, kms, events, logs), the query protocol (sts, iam,
sns, cloudformation) and plain REST (s3, lambda, ses). Signature Version 4 as in AWS's description of it.
"""

import hashlib
import hmac
import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit
from xml.etree import ElementTree as ET

_JSON_TARGETS = {
    "budgets": ("AWSBudgetServiceGateway", "1.1"),
    "ssm": ("AmazonSSM", "1.1"),
    "sagemaker": ("SageMaker", "1.1"),
    "sqs": ("AmazonSQS", "1.0"),
    "dynamodb": ("DynamoDB_20120810", "1.0"),
    "kms": ("TrentService", "1.1"),
    "events": ("AWSEvents", "1.1"),
    "logs": ("Logs_20140328", "1.1"),
}
_QUERY_VERSIONS = {
    "sts": "2011-06-15",
    "iam": "2010-05-08",
    "sns": "2010-03-31",
    "cloudformation": "2010-05-15",
    "monitoring": "2010-08-01",
}
TIMEOUT_SECONDS = 60.0
FIRST_ERROR_STATUS = 400


class AwsError(Exception):
    """An API's refusal: ``code`` as in the service model, ``message``, HTTP ``status``."""

    def __init__(self, code: str, message: str, status: int) -> None:
        super().__init__(f"{code} ({status}): {message}")
        self.code, self.message, self.status = code, message, status


@dataclass(frozen=True, slots=True)
class Credentials:
    """An access key; ``session_token`` for a role session."""

    access_key_id: str
    secret_access_key: str
    session_token: str = ""


ROOT = Credentials("test", "test")
"""MiniStack's own test key: the root user of the account, allowed everything."""


@dataclass(frozen=True, slots=True)
class AwsClient:
    """Calls of one principal in one Region."""

    endpoint: str
    region: str
    credentials: Credentials = ROOT

    def call(self, service: str, action: str, **members: Any) -> dict[str, Any]:
        """A JSON-protocol action: ``call("ssm", "DescribeSessions", State="Active")``. Raises AwsError."""
        prefix, version = _JSON_TARGETS[service]
        headers = {"content-type": f"application/x-amz-json-{version}", "x-amz-target": f"{prefix}.{action}"}
        status, body = self.send(service, "POST", "/", headers, json.dumps(members).encode())
        return _json(status, body)

    def query(self, service: str, action: str, **members: Any) -> ET.Element:
        """A query-protocol action; lists and maps are flattened as the protocol wants. Raises AwsError."""
        pairs = {"Action": action, "Version": _QUERY_VERSIONS[service]}
        for name, value in members.items():
            pairs.update(_flattened(name, value))
        headers = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
        status, body = self.send(service, "POST", "/", headers, urlencode(pairs).encode())
        return _xml(status, body)

    def rest(self, service: str, method: str, path: str, body: bytes = b"", **query: str) -> bytes:
        """A REST call; the body as it is. Raises AwsError."""
        headers = {"content-type": "application/json" if service != "s3" else "application/octet-stream"}
        status, answer = self.send(service, method, path, headers, body, query)
        if status >= FIRST_ERROR_STATUS:
            _json(status, answer)
        return answer

    def send(
        self,
        service: str,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        query: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        """Sign and send one request; the status and body whatever they are."""
        parts = urlsplit(self.endpoint)
        query_text = "&".join(
            f"{quote(k, safe='')}={quote(v, safe='')}" for k, v in sorted((query or {}).items())
        )
        signed = self._signed(service, method, path, query_text, {**headers, "host": parts.netloc}, body)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, path + (f"?{query_text}" if query_text else ""), body, signed)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def _signed(
        self,
        service: str,
        method: str,
        path: str,
        query: str,
        headers: Mapping[str, str],
        body: bytes,
    ) -> dict[str, str]:
        now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        payload = hashlib.sha256(body).hexdigest()
        full = {**headers, "x-amz-date": now, "x-amz-content-sha256": payload}
        if self.credentials.session_token:
            full["x-amz-security-token"] = self.credentials.session_token
        names = sorted(full)
        path = (
            quote(path, safe="/-_.~") if service == "s3" else quote(quote(path, safe="/-_.~"), safe="/-_.~")
        )
        canonical = "\n".join(
            [
                method,
                path,
                query,
                *(f"{name}:{full[name].strip()}" for name in names),
                "",
                ";".join(names),
                payload,
            ]
        )
        scope = f"{now[:8]}/{self.region}/{service}/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = f"AWS4{self.credentials.secret_access_key}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        full["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={self.credentials.access_key_id}/{scope}, "
            f"SignedHeaders={';'.join(names)}, Signature={signature}"
        )
        return full


def assume_role(
    client: AwsClient,
    role_arn: str,
    session_name: str,
    tags: Mapping[str, str] | None = None,
    seconds: int = 3600,
) -> Credentials:
    """STS AssumeRole; ``tags`` become session tags (``SSMSessionRunAs``). Raises AwsError."""
    members: dict[str, Any] = {
        "RoleArn": role_arn,
        "RoleSessionName": session_name,
        "DurationSeconds": seconds,
    }
    if tags:
        members["Tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]
    answer = client.query("sts", "AssumeRole", **members)
    return Credentials(
        text_of(answer, "AccessKeyId"), text_of(answer, "SecretAccessKey"), text_of(answer, "SessionToken")
    )


def text_of(element: ET.Element, name: str) -> str:
    """The text of the first element of this name, whatever its namespace; empty when there is none."""
    return next((found.text or "" for found in element.iter() if found.tag.rsplit("}", 1)[-1] == name), "")


def _flattened(name: str, value: Any) -> dict[str, str]:
    if isinstance(value, list):
        pairs: dict[str, str] = {}
        for number, item in enumerate(value, 1):
            pairs.update(_flattened(f"{name}.member.{number}", item))
        return pairs
    if isinstance(value, Mapping):
        pairs = {}
        for key, item in value.items():
            pairs.update(_flattened(f"{name}.{key}", item))
        return pairs
    return {name: str(value)}


def _json(status: int, body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body) if body else {}
    except ValueError:
        answer = {"message": body.decode(errors="replace")}
    if status >= FIRST_ERROR_STATUS:
        code = str(answer.get("__type") or answer.get("code") or answer.get("Code") or "Unknown").rsplit(
            "#", 1
        )[-1]
        raise AwsError(code, str(answer.get("message") or answer.get("Message") or ""), status)
    return answer if isinstance(answer, dict) else {"value": answer}


def _xml(status: int, body: bytes) -> ET.Element:
    try:
        answer = ET.fromstring(body)  # noqa: S314  (the answer of our own emulator)
    except ET.ParseError:
        raise AwsError("Unknown", body.decode(errors="replace"), status) from None
    if status >= FIRST_ERROR_STATUS:
        raise AwsError(text_of(answer, "Code"), text_of(answer, "Message"), status)
    return answer
