"""Credentials of the node's role: environment first (tests, local stack), then the instance metadata service (v2).

IMDSv2: PUT /latest/api/token, GET /latest/meta-data/iam/security-credentials/[role]. The answer has an Expiration; new
ones are fetched five minutes before it.
"""

import http.client
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from proctor_agent.clock import Clock
from proctor_agent.errors import AwsError

_METADATA = "http://169.254.169.254"
_SESSION_SECONDS = "21600"
_TIMEOUT_SECONDS = 2.0
_EARLY = timedelta(minutes=5)
_LARGEST_ANSWER = 65_536


@dataclass(frozen=True)
class Credentials:
    """One set; `expires_at` None for fixed ones."""

    access_key_id: str
    secret_access_key: str
    session_token: str = ""
    expires_at: datetime | None = None


class CredentialSource:
    """Hands out valid credentials, fetching new ones when needed."""

    def __init__(self, clock: Clock, environment: Mapping[str, str] | None = None) -> None:
        """Read the environment once; the metadata service only when asked."""
        self._clock = clock
        self._environment = dict(os.environ if environment is None else environment)
        self._cached: Credentials | None = None

    def get(self) -> Credentials:
        """Credentials valid for at least five minutes where possible; AwsError when there are none."""
        env = self._environment
        if env.get("AWS_ACCESS_KEY_ID") and env.get("AWS_SECRET_ACCESS_KEY"):
            token = env.get("AWS_SESSION_TOKEN", "")
            return Credentials(env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"], token)
        now = self._clock.now()
        cached = self._cached
        if cached is None or cached.expires_at is None or cached.expires_at - _EARLY <= now:
            try:
                self._cached = cached = self._from_metadata()
            except AwsError:
                # Old ones still serve until they really expire.
                if cached is None or cached.expires_at is None or cached.expires_at <= now:
                    raise
        return cached

    def _from_metadata(self) -> Credentials:
        endpoint = self._environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or _METADATA
        host = urlsplit(endpoint).netloc
        connection = http.client.HTTPConnection(host, timeout=_TIMEOUT_SECONDS)
        try:
            headers = {"X-aws-ec2-metadata-token-ttl-seconds": _SESSION_SECONDS}
            token = _ask(connection, "PUT", "/latest/api/token", headers)
            headers = {"X-aws-ec2-metadata-token": token}
            path = "/latest/meta-data/iam/security-credentials/"
            role = _ask(connection, "GET", path, headers).split("\n")[0].strip()
            raw = json.loads(_ask(connection, "GET", path + role, headers))
            expires_at = datetime.fromisoformat(raw["Expiration"].replace("Z", "+00:00"))
            return Credentials(raw["AccessKeyId"], raw["SecretAccessKey"], raw["Token"], expires_at)
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
            raise AwsError("NoCredentials", f"metadata service: {type(error).__name__}: {error}") from error
        finally:
            connection.close()


def _ask(connection: http.client.HTTPConnection, method: str, path: str, headers: Mapping[str, str]) -> str:
    connection.request(method, path, headers=dict(headers))
    answer = connection.getresponse()
    body = answer.read(_LARGEST_ANSWER).decode("utf-8")
    if answer.status != http.client.OK:
        raise ValueError(f"{path} answered {answer.status}")
    return body
