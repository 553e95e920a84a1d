"""Who is calling: the ARN that STS knows, and a proof of it for break-glass requests."""

from typing import TYPE_CHECKING

from botocore.exceptions import NoCredentialsError
from botocore.signers import RequestSigner

from proctor.adapters.aws_errors import translated
from proctor.adapters.caller_identity import HEADER

if TYPE_CHECKING:
    from proctor_cli.clients import CliClients

PROOF_SECONDS = 120
"""How long a proof is good for; the function accepts at most 300."""

_QUERY = "Action=GetCallerIdentity&Version=2011-06-15"


def caller_arn(clients: "CliClients") -> str:
    """The caller's ARN. One call."""
    with translated("sts:GetCallerIdentity"):
        return clients.sts().get_caller_identity()["Arn"]


def shortened(arn: str, at_most: int) -> str:
    """The ARN, or what is left of it when it is too long for a field: its tail holds role and session name."""
    return arn if len(arn) <= at_most else "…" + arn[1 - at_most :]


def caller_proof(clients: "CliClients", function: str, seconds: int = PROOF_SECONDS) -> str:
    """A presigned GetCallerIdentity URL whose signature covers the function's name. Makes no call.

    Whoever holds it can learn the caller's ARN and show it to that one function until it expires; it grants nothing else.
    """
    client = clients.sts()
    credentials = clients.credentials
    if credentials is None:
        raise NoCredentialsError
    model = client.meta.service_model
    signer = RequestSigner(
        model.service_id, client.meta.region_name, "sts", "v4", credentials, clients.session.events
    )
    request = {
        "method": "GET",
        "url": f"{client.meta.endpoint_url.rstrip('/')}/?{_QUERY}",
        "body": {},
        "headers": {HEADER: function},
        "context": {},
    }
    url: str = signer.generate_presigned_url(
        request, operation_name="GetCallerIdentity", region_name=client.meta.region_name, expires_in=seconds
    )
    return url
