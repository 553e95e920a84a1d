"""The in-process AWS: empty for each test, one set of clients for all (their making is most of a test's time)."""

from collections.abc import Iterator

import pytest
from moto import mock_aws

from tests.adapters.aws import CountedClients

_TABLES = {
    "claims": ("claim", None),
    "verdicts": ("subject", "at"),
    "memory": ("scope", "subject"),
    "people": ("key", None),
    "exemptions": ("function", "id"),
}


@pytest.fixture(scope="session")
def _shared() -> CountedClients:
    return CountedClients()


@pytest.fixture
def aws(_shared: CountedClients) -> Iterator[CountedClients]:
    """Clients of an empty AWS with Proctor's tables; `aws.calls` starts empty."""
    with mock_aws():
        for name, keys in _TABLES.items():
            create_table(_shared, name, keys)
        _shared.calls.clear()
        _shared.meanwhile.clear()
        yield _shared


def create_table(clients: CountedClients, name: str, keys: tuple[str, str | None]) -> None:
    """A table with text keys, as in template.yaml."""
    names = [key for key in keys if key]
    clients.dynamodb().create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in names],
        KeySchema=[
            {"AttributeName": key, "KeyType": "RANGE" if number else "HASH"}
            for number, key in enumerate(names)
        ],
        BillingMode="PAY_PER_REQUEST",
    )
