import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.adapters.notifiers import SesPersonNotifier, SnsOperatorNotifier
from proctor.domain.errors import DeniedError, TerminalError, ThrottledError
from tests.adapters.aws import Answer, CountedClients, ScriptedClients, rest_error
from tests.fakes.people import FakeOperatorNotifier, FakePersonNotifier, Mail, Notice

if TYPE_CHECKING:
    from proctor.ports import OperatorNotifier, PersonNotifier

SENDER = "proctor@uni.example"
ADA = "ada@uni.example"
TOPIC = "arn:aws:sns:us-east-1:123456789012:operators"
NOT_SUPPRESSED = rest_error(
    "NotFoundException", f"EmailAddress {ADA} does not exist on your suppression list.", 404
)
SUPPRESSED = {"SuppressedDestination": {"EmailAddress": ADA, "Reason": "BOUNCE", "LastUpdateTime": 0}}


def _ses(suppressed: Any = NOT_SUPPRESSED, sent: Any = None) -> ScriptedClients:
    return ScriptedClients(GetSuppressedDestination=suppressed, SendEmail=sent or {"MessageId": "1"})


# One person


@pytest.mark.parametrize("kind", ["fake", "ses"])
@pytest.mark.parametrize("is_suppressed", [False, True])
def test_a_suppressed_address_gets_nothing_and_the_caller_is_told(kind: str, is_suppressed: bool) -> None:
    aws = _ses(SUPPRESSED if is_suppressed else NOT_SUPPRESSED)
    fake = FakePersonNotifier({ADA} if is_suppressed else set())
    notifier: PersonNotifier = fake if kind == "fake" else SesPersonNotifier(aws, SENDER)

    assert notifier.send(ADA, "Your session was ended", "Dear Ada") is not is_suppressed

    sent = fake.sent if kind == "fake" else [m for m in aws.sent if m[0] == "SendEmail"]
    assert len(sent) == (0 if is_suppressed else 1)
    if fake.sent:
        assert fake.sent == [Mail(ADA, "Your session was ended", "Dear Ada")]


def test_a_mail_is_sent_as_utf_8_in_two_calls() -> None:
    aws = _ses()

    assert SesPersonNotifier(aws, SENDER).send(
        ADA, "Größe\r\nBcc: eve@evil.example", "Zeile 1\nZeile € 2\x00"
    )

    assert aws.calls == ["GetSuppressedDestination", "SendEmail"]
    assert aws.sent[1][1] == {
        "FromEmailAddress": SENDER,
        "Destination": {"ToAddresses": [ADA]},
        "Content": {
            "Simple": {
                "Subject": {"Data": "Größe Bcc: eve@evil.example", "Charset": "UTF-8"},
                "Body": {"Text": {"Data": "Zeile 1\nZeile € 2", "Charset": "UTF-8"}},
            }
        },
    }


def test_without_a_sender_everything_is_undeliverable_and_nothing_is_asked() -> None:
    aws = _ses()

    assert not SesPersonNotifier(aws, "").send(ADA, "h", "t")
    assert aws.calls == []


def test_a_rejected_mail_is_undeliverable() -> None:
    refused = rest_error("MessageRejected", f"Email address is not verified: {ADA}")

    assert not SesPersonNotifier(_ses(sent=refused), SENDER).send(ADA, "h", "t")


@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("TooManyRequestsException", 429, ThrottledError),
        ("LimitExceededException", 400, ThrottledError),
        ("AccessDeniedException", 403, DeniedError),
        ("SendingPausedException", 400, TerminalError),
        ("BadRequestException", 400, TerminalError),
    ],
)
def test_what_is_not_about_the_address_is_not_undeliverable(
    code: str, status: int, error: type[Exception]
) -> None:
    answer = rest_error(code, f"MessageRejected by {ADA}", status)
    with pytest.raises(error) as raised:
        SesPersonNotifier(_ses(sent=answer), SENDER).send(ADA, "h", "t")
    assert ADA not in str(raised.value)


@pytest.mark.parametrize(
    ("code", "status", "error"),
    [("TooManyRequestsException", 429, ThrottledError), ("AccessDeniedException", 403, DeniedError)],
)
def test_nothing_is_sent_while_suppression_is_unknown(code: str, status: int, error: type[Exception]) -> None:
    aws = _ses(rest_error(code, "", status))
    with pytest.raises(error):
        SesPersonNotifier(aws, SENDER).send(ADA, "h", "t")
    assert aws.count("SendEmail") == 0


# The operators


@pytest.fixture
def topic(aws: CountedClients) -> tuple[SnsOperatorNotifier, Any]:
    """A notifier, and a way to read what its topic got: subject and message by protocol."""
    arn = aws.sns().create_topic(Name="operators")["TopicArn"]
    queue = aws.sqs().create_queue(QueueName="inbox")["QueueUrl"]
    queue_arn = "arn:aws:sqs:us-east-1:123456789012:inbox"
    aws.sns().subscribe(TopicArn=arn, Protocol="sqs", Endpoint=queue_arn)
    aws.calls.clear()

    def inbox() -> list[dict[str, Any]]:
        found = aws.sqs().receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", [])
        return [json.loads(m["Body"]) for m in found]

    return SnsOperatorNotifier(aws, arn), inbox


@pytest.mark.parametrize("kind", ["fake", "sns"])
def test_operators_get_headline_text_and_what_to_do(
    kind: str, topic: tuple[SnsOperatorNotifier, Any]
) -> None:
    fake = FakeOperatorNotifier()
    notifier: OperatorNotifier = fake if kind == "fake" else topic[0]

    notifier.publish(
        "Policy refused", "max_sessions: 0 is not usable", ("correct it", "run proctor validate")
    )

    if kind == "fake":
        assert fake.published == [
            Notice("Policy refused", "max_sessions: 0 is not usable", ("correct it", "run proctor validate"))
        ]
        return
    (message,) = topic[1]()
    assert message["Subject"] == "Policy refused"
    assert message["Message"] == (
        "max_sessions: 0 is not usable\n\nWhat to do:\n- correct it\n- run proctor validate"
    )


def _published(headline: str, text: str, steps: tuple[str, ...] = ()) -> tuple[str, dict[str, str], int]:
    """Subject, message by protocol, and the message's size in bytes, as sent to SNS."""
    body = "<PublishResponse><PublishResult><MessageId>1</MessageId></PublishResult></PublishResponse>"
    aws = ScriptedClients(Publish=Answer(body))
    SnsOperatorNotifier(aws, TOPIC).publish(headline, text, steps)
    assert aws.calls == ["Publish"]
    sent = aws.sent[0][1]
    assert sent["TopicArn"] == TOPIC
    assert sent["MessageStructure"] == "json"
    message = sent["Message"]
    return sent["Subject"], json.loads(message), len(message.encode())


def test_chat_gets_amazon_qs_custom_schema() -> None:
    _, message, _ = _published("Policy refused", "text", ("step",))

    assert set(message) == {"default", "https"}
    assert json.loads(message["https"]) == {
        "version": "1.0",
        "source": "custom",
        "content": {"title": "Policy refused", "description": "text", "nextSteps": ["step"]},
    }


def test_without_steps_there_is_no_list_of_them() -> None:
    assert _published("h", "text")[1]["default"] == "text"


@pytest.mark.parametrize(
    ("headline", "subject"),
    [
        ("Größe der Übung", "Grosse der Ubung"),
        ("a\nb\r\n\tc\x00\x1b[31m", "a b c[31m"),
        ("  spaced  ", "spaced"),
        ("日本", "??"),
        ("", "Proctor"),
        ("\n", "Proctor"),
        ("x" * 200, "x" * 96 + "..."),
        ("alpha → beta — 3 “held”", 'alpha -> beta - 3 "held"'),
    ],
)
def test_a_subject_is_one_short_line_of_ascii(headline: str, subject: str) -> None:
    assert _published(headline, "t")[0] == subject


@given(st.text(max_size=300), st.text(max_size=300), st.lists(st.text(max_size=100), max_size=3))
def test_any_text_makes_a_message_that_sns_takes(headline: str, text: str, steps: list[str]) -> None:
    subject, message, _ = _published(headline, text, tuple(steps))

    assert 0 < len(subject) < 100
    assert subject.isascii()
    assert subject.isprintable()
    assert all(c.isprintable() or c in "\n\t" for c in message["default"])
    json.loads(message["https"])


@pytest.mark.parametrize("character", ["x", "\U0001f600", '"', "\\", "\n", "é"])
def test_a_message_stays_below_256_kb(character: str) -> None:
    long = character * 1_000_000
    _, message, size = _published(long, long, (long,) * 50)

    assert size < 256 * 1024
    assert len(message["default"]) <= 36_000
    assert len(json.loads(message["https"])["content"]["nextSteps"]) == 10


def test_form_encoding_keeps_the_text(topic: tuple[SnsOperatorNotifier, Any]) -> None:
    text = "50 % & more = trouble + “quotes” \\ é 日本"
    topic[0].publish("h", text, ())

    (message,) = topic[1]()
    assert message["Message"] == text
