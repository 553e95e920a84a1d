"""Mail to one person through SES v2, and messages to the operators' topic through SNS.

Limits: an SNS message has at most 256 KB over all protocols, its subject less than 100 ASCII characters on one line [sns
Publish]; a chat channel shows a few thousand characters at most.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from proctor.adapters.aws_errors import is_refused_mail, translated
from proctor.adapters.texts import ascii_line, clean, one_line
from proctor.domain.errors import NotFoundError, TerminalError

if TYPE_CHECKING:
    from mypy_boto3_sesv2.type_defs import ContentTypeDef

    from proctor.adapters.aws_clients import AwsClients

_MAIL_HEADLINE_AT_MOST = 200
_SUBJECT_AT_MOST = 99
_TEXT_AT_MOST = 30_000
_TITLE_AT_MOST = 250
_CHAT_TEXT_AT_MOST = 3_000
_STEPS_AT_MOST = 10
_STEP_AT_MOST = 500
_UTF8 = "UTF-8"


class SesPersonNotifier:
    """Implements the PersonNotifier port. An empty sender means that no mail is configured: everything is undeliverable."""

    def __init__(self, clients: "AwsClients", sender: str) -> None:
        """Take the clients and the verified sender address."""
        self._clients = clients
        self._sender = sender

    def send(self, email: str, headline: str, text: str) -> bool:
        """One look at the suppression list, one message."""
        if not self._sender or self._is_suppressed(email):
            return False
        subject: ContentTypeDef = {"Data": one_line(headline, _MAIL_HEADLINE_AT_MOST), "Charset": _UTF8}
        body: ContentTypeDef = {"Data": clean(text, _TEXT_AT_MOST), "Charset": _UTF8}
        try:
            with translated("ses:SendEmail"):
                self._clients.sesv2().send_email(
                    FromEmailAddress=self._sender,
                    Destination={"ToAddresses": [email]},
                    Content={"Simple": {"Subject": subject, "Body": {"Text": body}}},
                )
        except TerminalError as error:
            if is_refused_mail(error):
                return False
            raise
        return True

    def _is_suppressed(self, email: str) -> bool:
        """SES accepts a mail to a suppressed address, counts it as a bounce and delivers nothing: so ask first."""
        try:
            with translated("ses:GetSuppressedDestination"):
                self._clients.sesv2().get_suppressed_destination(EmailAddress=email)
        except NotFoundError:
            return False
        return True


class SnsOperatorNotifier:
    """Implements the OperatorNotifier port: plain text for e-mail, Amazon Q's custom schema for chat."""

    def __init__(self, clients: "AwsClients", topic_arn: str) -> None:
        """Take the clients and the topic."""
        self._clients = clients
        self._topic_arn = topic_arn

    def publish(self, headline: str, text: str, next_steps: Sequence[str]) -> None:
        """One message; https subscribers (Amazon Q Developer in chat applications) get the custom schema."""
        steps = [one_line(step, _STEP_AT_MOST) for step in next_steps[:_STEPS_AT_MOST]]
        listed = "".join(f"\n- {step}" for step in steps)
        plain = clean(text, _TEXT_AT_MOST) + (f"\n\nWhat to do:{listed}" if steps else "")
        with translated("sns:Publish"):
            self._clients.sns().publish(
                TopicArn=self._topic_arn,
                Subject=ascii_line(headline, _SUBJECT_AT_MOST) or "Proctor",
                Message=json.dumps(
                    {"default": plain, "https": _chat(headline, text, steps)},
                    ensure_ascii=False,
                ),
                MessageStructure="json",
            )


def _chat(headline: str, text: str, next_steps: Sequence[str]) -> str:
    content = {
        "title": one_line(headline, _TITLE_AT_MOST),
        "description": clean(text, _CHAT_TEXT_AT_MOST),
        "nextSteps": list(next_steps),
    }
    return json.dumps({"version": "1.0", "source": "custom", "content": content}, ensure_ascii=False)
