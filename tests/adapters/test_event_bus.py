import json
from typing import TYPE_CHECKING, Any

import pytest

from proctor.adapters.event_bus import EventBridgePublisher
from proctor.domain.decision import Outcome, OutcomeStatus
from proctor.domain.errors import TransientError
from tests.adapters.aws import CountedClients, ScriptedClients, json_error
from tests.adapters.values import SUBJECT, outcome, run
from tests.fakes.records import FakeEventPublisher
from tests.fakes.values import NOW

if TYPE_CHECKING:
    from proctor.ports import EventPublisher


def outcomes(count: int) -> list[Outcome]:
    return [outcome(subject=f"session#s-{n}") for n in range(count)]


def _accept(request: dict[str, Any]) -> dict[str, Any]:
    return {"FailedEntryCount": 0, "Entries": [{"EventId": "1"} for _ in request["Entries"]]}


@pytest.mark.parametrize("kind", ["fake", "eventbridge"])
def test_each_outcome_is_published_once_in_order(kind: str) -> None:
    fake, aws = FakeEventPublisher(), ScriptedClients(PutEvents=_accept)
    publisher: EventPublisher = fake if kind == "fake" else EventBridgePublisher(aws, "proctor")

    publisher.publish(outcomes(23), run())

    if kind == "fake":
        subjects = [o.verdict.subject for o in fake.published]
    else:
        entries = [entry for _, body in aws.sent for entry in body["Entries"]]
        subjects = [json.loads(entry["Detail"])["subject"] for entry in entries]
    assert subjects == [f"session#s-{n}" for n in range(23)]


@pytest.mark.parametrize(("count", "calls"), [(0, 0), (1, 1), (10, 1), (11, 2), (23, 3)])
def test_ten_go_in_one_call(count: int, calls: int) -> None:
    aws = ScriptedClients(PutEvents=_accept)
    EventBridgePublisher(aws, "proctor").publish(outcomes(count), run())

    assert aws.count("PutEvents") == calls


def test_an_event_says_what_was_done_about_whom_by_whose_rule(aws: CountedClients) -> None:
    aws.events().create_event_bus(Name="proctor")
    scripted = ScriptedClients(PutEvents=_accept)
    for clients in (aws, scripted):
        EventBridgePublisher(clients, "proctor").publish([outcome(status=OutcomeStatus.UNCONFIRMED)], run())

    (entry,) = scripted.sent[0][1]["Entries"]
    assert (entry["Source"], entry["DetailType"], entry["EventBusName"], entry["Time"]) == (
        "proctor.session_limits",
        "Proctor Outcome",
        "proctor",
        NOW.timestamp(),
    )
    assert json.loads(entry["Detail"]) == {
        "subject": SUBJECT,
        "cluster": "alpha",
        "rule": "cap",
        "reason": "over_cap",
        "action": "TerminateSession",
        "outcome": "unconfirmed",
        "trigger": "Sweep",
        "policy_version": 3,
    }


def test_an_outcome_without_action_or_policy_says_so() -> None:
    aws = ScriptedClients(PutEvents=_accept)
    EventBridgePublisher(aws, "proctor").publish([outcome(action=None, policy_version=None)], run())

    detail = json.loads(aws.sent[0][1]["Entries"][0]["Detail"])
    assert (detail["action"], detail["policy_version"]) == (None, None)


def test_refused_entries_are_an_error_after_all_were_tried() -> None:
    refused = {
        "FailedEntryCount": 1,
        "Entries": [{"EventId": "1"}, {"ErrorCode": "ThrottlingException", "ErrorMessage": "slow"}],
    }
    aws = ScriptedClients(PutEvents=[refused, _accept])

    with pytest.raises(TransientError, match="refused 1 of 12 events: ThrottlingException"):
        EventBridgePublisher(aws, "proctor").publish(outcomes(12), run())
    assert aws.count("PutEvents") == 2


def test_a_refused_call_is_an_error() -> None:
    with pytest.raises(TransientError):
        EventBridgePublisher(
            ScriptedClients(PutEvents=json_error("InternalException", status=500)), "b"
        ).publish(outcomes(1), run())


def test_ten_of_the_longest_events_stay_below_256_kb() -> None:
    aws = ScriptedClients(PutEvents=_accept)
    long = "\U0001f600" * 100_000
    EventBridgePublisher(aws, "proctor").publish(
        [outcome(subject=long, cluster=long, rule=long, reason=long, text=long)] * 10, run()
    )

    assert sum(len(entry["Detail"].encode()) for entry in aws.sent[0][1]["Entries"]) < 256 * 1024
