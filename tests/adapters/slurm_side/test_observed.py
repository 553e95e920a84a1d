"""Observed state: rows by section, the acting controller's heartbeat, usage from an hour on."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from proctor.adapters.aws_clients import AwsClients
from proctor.adapters.observed_table import DynamoSlurmState
from proctor.adapters.wake_queue import SqsWakeUp, queue_urls
from proctor.domain.agent_protocol import Heartbeat, IntentResult, Outcome, Undone, UndoneBy, encode
from proctor.domain.errors import InvalidInputError, TerminalError
from proctor.domain.slurm_state import SlurmView
from tests.adapters.slurm_side.conftest import put
from tests.fakes.budget_values import ASSOCIATIONS, NOW, START, job, limits, partition, slurm, usage

RESULT = IntentResult("account#lab1", 3, Outcome.APPLIED, "", "GrpJobs", {"GrpJobs": "-1"}, NOW)
UNDONE = Undone("partition#gpu", "UP", UndoneBy.UPDATE, NOW, None)


def row(clients: AwsClients, section: str, key: str, value: Any, **extra: Any) -> None:
    item = {
        "scope": f"alpha#{section}",
        "key": key,
        "observed_at": int(NOW.timestamp()),
        "sender": "i-0123456789abcdef0",
    }
    put(clients, "observed", {**item, **encode(value), **extra})


def beat(
    clients: AwsClients,
    *,
    node: str = "ip-10-0-0-9",
    at: datetime = NOW,
    read_at: datetime | None = NOW,
    role: str = "controller",
    acting: bool = True,
) -> None:
    value = Heartbeat("1.0", "3.10", "24.11", ("LimitAccount",), acting, False, START, NOW, read_at, 0, 0)
    row(clients, "heartbeat", node, value, role=role, node=node, observed_at=int(at.timestamp()))


def view(clients: AwsClients, since: datetime | None = START) -> SlurmView:
    return DynamoSlurmState(clients, "observed").view("alpha", usage_since=since)


def test_every_section_comes_back(clients: AwsClients) -> None:
    beat(clients)
    for number in range(4):
        put(clients, "observed", {"scope": "alpha#nodes", "key": f"ip-10-0-0-{number}", "observed_at": 1})
    for name in ("gpu", "dev"):
        row(clients, "partitions", name, partition(name))
    row(clients, "jobs", "1", job(), snapshot="20260915T120000Z")
    for one in ASSOCIATIONS:
        row(clients, "associations", f"{one.account}|{one.login_name}|", one)
    for qos in slurm().qos:
        row(clients, "qos", qos.name, qos)
    row(clients, "limits", "alpha", limits())
    row(clients, "usage", "20260901T00|lab1|gpu", usage("lab1", 2))
    row(clients, "results", RESULT.sk, RESULT)
    row(clients, "undone", UNDONE.sk, UNDONE)
    put(clients, "observed", {"scope": "alpha2#jobs", "key": "1", "observed_at": 1})
    found = view(clients)
    wanted = slurm(jobs=(job(),), usage=(usage("lab1", 2),), results={RESULT.sk: RESULT}, undone=(UNDONE,))
    assert set(found.associations) == set(wanted.associations)
    for name in (
        "seen_at",
        "node_count",
        "partitions",
        "jobs",
        "qos",
        "limits",
        "usage",
        "results",
        "undone",
    ):
        assert getattr(found, name) == getattr(wanted, name), name
    assert found.verbs == {"LimitAccount"}


def test_nothing_observed_is_nothing_known(clients: AwsClients) -> None:
    found = view(clients)
    assert (found.seen_at, found.limits, found.node_count) == (None, None, 0)
    assert not found.is_fresh(NOW)


def test_usage_begins_with_the_asked_hour(clients: AwsClients) -> None:
    for hours in range(3):
        at = START + timedelta(hours=hours)
        row(clients, "usage", f"{at:%Y%m%dT%H}|lab1|gpu", usage("lab1", 1, at))
    assert [u.hour_at for u in view(clients, START + timedelta(hours=1)).usage] == [
        START + timedelta(hours=1),
        START + timedelta(hours=2),
    ]
    assert view(clients, START + timedelta(minutes=61)).usage == (
        usage("lab1", 1, START + timedelta(hours=2)),
    )
    assert view(clients, None).usage == ()


def test_hours_before_the_asked_one_are_not_even_read(clients: AwsClients) -> None:
    """A judgement over a day must not pay for two years of rows."""
    for hours in range(48):
        at = START + timedelta(hours=hours)
        for account in ("a", "lab1", "z"):
            row(clients, "usage", f"{at:%Y%m%dT%H}|{account}|gpu", usage(account, 1, at))
    read: list[int] = []
    clients.dynamodb().meta.events.register(
        "after-call.dynamodb.Query", lambda parsed, **_: read.append(parsed["ScannedCount"])
    )
    found = view(clients, START + timedelta(hours=46))
    assert sum(read) == len(found.usage) == 6


def test_a_row_of_use_that_is_none_is_named(clients: AwsClients) -> None:
    put(clients, "observed", {"scope": "alpha#usage", "key": "20260901T00|lab1|gpu", "account": "lab1"})
    with pytest.raises(TerminalError, match=r"alpha#usage 20260901T00\|lab1\|gpu"):
        view(clients)


def test_only_an_acting_controller_speaks_for_slurm(clients: AwsClients) -> None:
    beat(clients, node="ip-10-0-0-1", role="node")
    beat(clients, node="ip-10-0-0-2", acting=False)
    assert view(clients).seen_at is None
    beat(clients, node="ip-10-0-0-3", at=NOW - timedelta(seconds=30), read_at=NOW - timedelta(seconds=80))
    assert view(clients).seen_at == NOW - timedelta(seconds=30)


def test_an_agent_that_can_not_read_slurm_does_not_make_it_known(clients: AwsClients) -> None:
    beat(clients, read_at=NOW - timedelta(minutes=10))
    found = view(clients)
    assert (found.seen_at, found.is_fresh(NOW)) == (NOW - timedelta(minutes=10), False)
    beat(clients, read_at=None)
    assert view(clients).seen_at is None


def test_a_row_that_is_none_is_an_error_not_a_gap(clients: AwsClients) -> None:
    put(clients, "observed", {"scope": "alpha#jobs", "key": "1", "observed_at": 1, "job_id": "1"})
    with pytest.raises(TerminalError, match="alpha#jobs 1"):
        view(clients)


def test_a_wake_up_is_one_message(clients: AwsClients) -> None:
    url = clients.sqs().create_queue(QueueName="wake")["QueueUrl"]
    wake = SqsWakeUp(clients, {"alpha": url})
    wake.wake("alpha")
    wake.wake("beta")
    assert len(clients.sqs().receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]) == 1


def test_wake_up_queues_by_cluster() -> None:
    assert queue_urls("", ("a", "b")) == {}
    assert queue_urls("https://q", ("a",)) == {"a": "https://q"}
    assert queue_urls("a=https://q, b=https://r", ("a", "b")) == {"a": "https://q", "b": "https://r"}
    for text in ("https://q", "c=https://q"):
        with pytest.raises(InvalidInputError, match="PROCTOR_WAKE_QUEUE_URL"):
            queue_urls(text, ("a", "b"))
