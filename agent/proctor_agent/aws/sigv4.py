"""Signature Version 4 for a POST of a JSON body. Source: the Signature Version 4 signing process for APIs."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from proctor_agent.aws.credentials import Credentials

_ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True)
class Request:
    """One POST to `/`; `headers` are the ones to sign beside host and date."""

    host: str
    body: bytes
    headers: Mapping[str, str]


def sign(
    request: Request, credentials: Credentials, region: str, service: str, now: datetime
) -> dict[str, str]:
    """All headers of the signed request, `Authorization` among them."""
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    headers = {name.lower(): " ".join(value.split()) for name, value in request.headers.items()}
    headers |= {"host": request.host, "x-amz-date": stamp}
    if credentials.session_token:
        headers["x-amz-security-token"] = credentials.session_token
    names = sorted(headers)
    signed_names = ";".join(names)
    canonical_headers = "".join(f"{name}:{headers[name]}\n" for name in names)
    payload = hashlib.sha256(request.body).hexdigest()
    canonical = f"POST\n/\n\n{canonical_headers}\n{signed_names}\n{payload}"
    scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
    digest = hashlib.sha256(canonical.encode("utf-8")).hexdigest()
    signature = _hmac(
        _key(credentials, stamp[:8], region, service), f"{_ALGORITHM}\n{stamp}\n{scope}\n{digest}"
    )
    headers["authorization"] = (
        f"{_ALGORITHM} Credential={credentials.access_key_id}/{scope}, "
        f"SignedHeaders={signed_names}, Signature={signature.hex()}"
    )
    return headers


def _key(credentials: Credentials, day: str, region: str, service: str) -> bytes:
    key = f"AWS4{credentials.secret_access_key}".encode()
    for part in (day, region, service, "aws4_request"):
        key = _hmac(key, part)
    return key


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode("utf-8"), hashlib.sha256).digest()
