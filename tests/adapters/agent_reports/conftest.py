"""Agents and observed rows: the fake and the tables, held to one contract."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from proctor.adapters.agents_table import DynamoAgents
from proctor.adapters.items import from_item, to_item
from proctor.adapters.observed_writer import DynamoObserved
from proctor.ports.agents import AgentRegistry, ObservedStore
from tests.adapters.aws import CountedClients
from tests.adapters.conftest import create_table
from tests.fakes.agents import FakeAgentRegistry, FakeObservedStore

type Rows = Callable[[str], dict[str, dict[str, Any]]]


@dataclass
class Setting:
    """A registry and a store over it; `rows` reads a scope back by key."""

    agents: AgentRegistry
    observed: ObservedStore
    rows: Rows


@pytest.fixture
def tables(aws: CountedClients) -> CountedClients:
    create_table(aws, "agents", ("agent", None))
    create_table(aws, "observed", ("scope", "key"))
    aws.calls.clear()
    return aws


def read(aws: CountedClients, scope: str) -> dict[str, dict[str, Any]]:
    answer = aws.dynamodb().query(
        TableName="observed",
        KeyConditionExpression="#s = :s",
        ExpressionAttributeNames={"#s": "scope"},
        ExpressionAttributeValues=to_item({":s": scope}),
    )
    return {row["key"]: row for row in map(from_item, answer["Items"])}


@pytest.fixture(params=["fake", "dynamodb"])
def here(request: pytest.FixtureRequest) -> Setting:
    if request.param == "fake":
        agents = FakeAgentRegistry()
        observed = FakeObservedStore(agents)
        return Setting(
            agents,
            observed,
            lambda scope: {key: row for (of, key), row in observed.rows.items() if of == scope},
        )
    aws: CountedClients = request.getfixturevalue("tables")
    return Setting(
        DynamoAgents(aws, "agents"), DynamoObserved(aws, "observed", "agents"), lambda scope: read(aws, scope)
    )
