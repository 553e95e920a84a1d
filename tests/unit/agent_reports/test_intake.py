"""Records of queues, before anything is believed."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.domain.agent_protocol import Enrolment, Envelope, Role
from proctor.domain.agent_writes import Cause
from proctor.wire.agent_report import AGENT_MESSAGE, intake, open_message
from proctor.wire.parsing import parse
from tests.fakes.agent_world import heartbeat
from tests.fakes.agents import QUEUES, NodeAgent, record_of
from tests.fakes.values import NOW

ROLES = {arn: role for role, arn in QUEUES.items()}


def test_a_message_is_what_its_type_says() -> None:
    agent = NodeAgent()
    assert isinstance(open_message(agent.enrolment()), Enrolment)
    assert isinstance(open_message(agent.report(heartbeat())), Envelope)


def test_an_enrolment_that_its_key_did_not_make_is_malformed() -> None:
    message = json.loads(NodeAgent().enrolment())
    message["hmac"] = "0" * 64
    assert open_message(json.dumps(message)) is Cause.MALFORMED


@given(st.text(max_size=200))
def test_no_text_makes_it_raise(text: str) -> None:
    assert open_message(text) is Cause.MALFORMED


@given(
    st.dictionaries(
        st.sampled_from(
            ["type", "body", "hmac", "cluster", "role", "node", "instance_id", "boot_id", "sequence"]
        ),
        st.one_of(
            st.none(),
            st.text(),
            st.integers(),
            st.lists(st.integers()),
            st.sampled_from(["enrolment", "report"]),
        ),
    )
)
def test_no_fields_make_it_raise(fields: dict[str, object]) -> None:
    good = json.loads(NodeAgent().enrolment())
    assert isinstance(open_message(json.dumps({**good, **fields})), Enrolment | Envelope | Cause)


def test_a_batch_is_put_in_order_with_keys_first() -> None:
    agent = NodeAgent()
    messages = [agent.enrolment(), agent.report(heartbeat()), agent.report(heartbeat())]
    restarted = replace(agent, boot_id="1788260400000-0b0b0b0b", sequence=0).report(heartbeat())
    given = [restarted, messages[2], "rubbish", messages[1], messages[0]]
    records = [record_of(m, Role.NODE, message_id=str(n)) for n, m in enumerate(given)]

    assert [r["messageId"] for r in intake(records, ROLES)] == ["4", "2", "3", "1", "0"]


@pytest.mark.parametrize("role", list(Role))
def test_the_queue_gives_the_role_and_the_time(role: Role) -> None:
    (record,) = intake([record_of("any text", role)], ROLES)
    message = parse(AGENT_MESSAGE, json.loads(record["body"]))
    assert (message.role, message.received_at, message.message) == (role, NOW, "any text")


def test_records_of_other_queues_and_odd_ones_stay_as_they_are() -> None:
    records = [{"messageId": "1", "body": "{}", "eventSourceARN": "arn:x"}, {"messageId": "2"}, "odd", None]
    assert intake(records, ROLES) == records


@pytest.mark.parametrize("sent", ["", "soon", "-1", "1e9", "9" * 30])
def test_a_queue_that_tells_no_time_is_believed_nothing(sent: str) -> None:
    record = record_of("x", Role.NODE)
    record["attributes"]["SentTimestamp"] = sent
    (taken,) = intake([record], ROLES)
    assert parse(AGENT_MESSAGE, json.loads(taken["body"])).received_at is None
