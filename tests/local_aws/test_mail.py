"""SES v2: sending under an identity, and the suppression list."""

import json

import pytest

from proctor_local.aws_client import AwsClient, AwsError
from proctor_local.control import LocalAwsClient
from proctor_local.identities import Identities

pytestmark = pytest.mark.emulator


def send(client: AwsClient, to: str, sender: str = "Proctor <proctor@uni.example>") -> None:
    client.rest(
        "ses",
        "POST",
        "/v2/email/outbound-emails",
        json.dumps(
            {
                "FromEmailAddress": sender,
                "Destination": {"ToAddresses": [to]},
                "Content": {
                    "Simple": {
                        "Subject": {"Data": "Ending soon"},
                        "Body": {"Text": {"Data": "In 10 minutes."}},
                    }
                },
            }
        ).encode(),
    )


@pytest.fixture
def root(local: LocalAwsClient) -> AwsClient:
    client = local.aws()
    client.rest("ses", "POST", "/v2/email/identities", json.dumps({"EmailIdentity": "uni.example"}).encode())
    return client


def test_a_mail_can_be_read_as_it_was_sent(local: LocalAwsClient, root: AwsClient) -> None:
    send(root, "anna@uni.example")
    (mail,) = local.mails()
    assert (mail["to"], mail["subject"], mail["text"]) == (
        ["anna@uni.example"],
        "Ending soon",
        "In 10 minutes.",
    )
    assert mail["suppressed"] is False


def test_a_suppressed_address_is_listed_and_its_mail_marked(local: LocalAwsClient, root: AwsClient) -> None:
    path = "/v2/email/suppression/addresses/gone@uni.example"
    with pytest.raises(AwsError) as missing:
        root.rest("ses", "GET", path)
    assert (missing.value.code, missing.value.status) == ("NotFoundException", 404)

    root.rest(
        "ses",
        "PUT",
        "/v2/email/suppression/addresses",
        json.dumps({"EmailAddress": "gone@uni.example", "Reason": "BOUNCE"}).encode(),
    )
    found = json.loads(root.rest("ses", "GET", path))["SuppressedDestination"]
    assert (found["EmailAddress"], found["Reason"]) == ("gone@uni.example", "BOUNCE")
    send(root, "gone@uni.example")
    assert [mail["suppressed"] for mail in local.mails()] == [True]

    root.rest("ses", "DELETE", path)
    with pytest.raises(AwsError):
        root.rest("ses", "GET", path)


def test_sending_is_allowed_on_the_identity(local: LocalAwsClient, root: AwsClient) -> None:
    root.rest("ses", "POST", "/v2/email/identities", json.dumps({"EmailIdentity": "other.example"}).encode())
    sender = (
        Identities(local)
        .iam_user(
            "sender",
            policy={
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Action": "ses:SendEmail",
                        "Resource": "arn:aws:ses:*:*:identity/uni.example",
                    }
                ],
            },
        )
        .client
    )
    send(sender, "anna@uni.example")
    with pytest.raises(AwsError) as refused:
        send(sender, "anna@uni.example", "x@other.example")
    assert "identity/other.example" in refused.value.message
