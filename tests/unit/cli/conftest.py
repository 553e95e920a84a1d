"""The desk: an in-process AWS with the stack's tables, queues and parameters."""

from collections.abc import Iterator

import pytest
from moto import mock_aws

from tests.unit.cli.desk import CLUSTER, FUNCTIONS, OTHER, PAUSE, TABLES, Desk, DeskClients
from tests.unit.cli.holds_desk import HoldsDesk


@pytest.fixture(scope="session")
def clients() -> DeskClients:
    """One set of clients: making them is most of a test's time."""
    return DeskClients()


@pytest.fixture
def desk(clients: DeskClients) -> Iterator[Desk]:
    """A desk before an empty stack that is in dry-run, with policy version 1 (`{}`) in force on `gpu`."""
    clients.fake_functions.__init__()  # type: ignore[misc]
    with mock_aws():
        for name, (key, range_key) in TABLES.items():
            names = [key, *([range_key] if range_key else [])]
            clients.dynamodb().create_table(
                TableName=name,
                AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in names],
                KeySchema=[{"AttributeName": n, "KeyType": "HASH" if n == key else "RANGE"} for n in names],
                BillingMode="PAY_PER_REQUEST",
            )
        made = Desk(clients, {f"{name.capitalize()}TableName": name for name in TABLES})
        for function in FUNCTIONS:
            made.outputs[f"{function}FunctionName"] = f"proctor-{function}"
            for output in ("QueueUrl", "DeadLetterQueueUrl"):
                url = clients.sqs().create_queue(QueueName=f"{function}{output}")["QueueUrl"]
                made.outputs[f"{function}{output}"] = url
        made.outputs |= {
            "SessionLimitsFunctionName": "proctor-session-limits",
            "ClusterNames": f"{CLUSTER},{OTHER}",
            "ApplyActions": "false",
        }
        clients.ssm().put_parameter(Name=PAUSE, Value="off", Type="String")
        made.put_policy("{}")
        yield made


@pytest.fixture
def slurm(desk: Desk) -> HoldsDesk:
    """The same desk, before a cluster with Slurm whose agent has just reported."""
    return HoldsDesk(desk)
