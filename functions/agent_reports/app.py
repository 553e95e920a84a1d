"""Wiring of agent_reports. The dict of appliers is its whole reach; each has one statement in template.yaml."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from agent_reports import FUNCTION
from agent_reports.decide import decide
from agent_reports.observe import Observer, Ports
from agent_reports.policy import AgentReportsPolicy
from agent_reports.snapshot import Snapshot
from agent_reports.trigger import Trigger, parse
from proctor.adapters.agents_table import DynamoAgents
from proctor.adapters.aws_clients import AwsClients
from proctor.adapters.caller_identity import StsCallerProof, sts_endpoint
from proctor.adapters.claims_table import DynamoClaims
from proctor.adapters.event_bus import EventBridgePublisher
from proctor.adapters.memory_table import DynamoCounters
from proctor.adapters.node_list import SageMakerNodeList
from proctor.adapters.notifiers import SnsOperatorNotifier
from proctor.adapters.observed_changes import EventBridgeChanges
from proctor.adapters.observed_writer import DynamoObserved
from proctor.adapters.parameters import ParameterPause, ParameterPolicies
from proctor.adapters.parking import SqsParkingLot
from proctor.adapters.verdicts_table import DynamoVerdicts
from proctor.domain.actions import Action, LabelPolicyVersion
from proctor.domain.agent_protocol import Role
from proctor.domain.agent_writes import AlarmOperators, ApproveAgentKey
from proctor.ports import Applier
from proctor.runtime.agent_appliers import KeyApproval
from proctor.runtime.agent_settings import AgentSettings
from proctor.runtime.agent_writes import AgentMemory
from proctor.runtime.appliers import OperatorNotice, PolicyLabel
from proctor.runtime.executor import Executor, Stores
from proctor.runtime.handler import Wiring, handle, pause_before
from proctor.runtime.reaction import Reaction
from proctor.runtime.settings import Settings
from proctor.runtime.telemetry import LambdaTelemetry
from proctor.wire.agent_report import intake
from proctor.wire.policy import policy_parser


def lambda_handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Entry point: an SQS batch, or one manual request."""
    del context
    wiring, telemetry, roles = _wiring()
    try:
        return handle(taken(event, roles), wiring)
    finally:
        telemetry.flush()


def taken(event: Mapping[str, Any], roles: Mapping[str, Role]) -> Mapping[str, Any]:
    """A batch with the messages of report queues marked as such; everything else as it is."""
    records = event.get("Records")
    return {**event, "Records": intake(records, roles)} if isinstance(records, list) else event


def appliers(ports: Ports, clients: AwsClients, settings: Settings) -> Mapping[type[Action], Applier]:
    """What agent_reports can do, and nothing else. What it records is not an action (docs/decisions/0008)."""
    return {
        ApproveAgentKey: KeyApproval(ports.agents),
        AlarmOperators: OperatorNotice(SnsOperatorNotifier(clients, settings.operators_topic_arn)),
        LabelPolicyVersion: PolicyLabel(ports.policies),
    }


@cache
def _wiring() -> tuple[Wiring[Trigger, Snapshot], LambdaTelemetry, Mapping[str, Role]]:
    """Once per process, at the first invocation."""
    settings, own = Settings.from_env(os.environ), AgentSettings.from_env(os.environ)
    clients, telemetry = AwsClients(), LambdaTelemetry(FUNCTION)
    ports = _ports(settings, clients, own)
    changes = EventBridgeChanges(clients, settings.event_bus, own.observed_table, telemetry)
    stores = Stores(
        claims=DynamoClaims(clients, settings.claims_table),
        verdicts=DynamoVerdicts(clients, settings.verdicts_table),
        memory=AgentMemory(
            ports.agents,
            DynamoObserved(clients, own.observed_table, own.agents_table),
            changes,
            telemetry,
            lambda: datetime.now(UTC),
        ),
        counters=DynamoCounters(clients, settings.memory_table),
        pause=ParameterPause(clients, settings.clusters),
        events=EventBridgePublisher(clients, settings.event_bus),
        telemetry=telemetry,
    )

    def reaction() -> Reaction[Trigger, Snapshot]:
        executor = Executor(appliers(ports, clients, settings), stores)
        return Reaction(Observer(ports), decide, executor, pause_before)

    wiring = Wiring(
        function=FUNCTION,
        parse=parse,
        caller=StsCallerProof(sts_endpoint(os.environ)).caller,
        reaction=reaction,
        parking=SqsParkingLot(clients, settings.parking_queue_url),
        telemetry=telemetry,
        bound=settings.bound,
    )
    return wiring, telemetry, own.roles


def _ports(settings: Settings, clients: AwsClients, own: AgentSettings) -> Ports:
    return Ports(
        agents=DynamoAgents(clients, own.agents_table),
        nodes=SageMakerNodeList(clients),
        policies=ParameterPolicies(clients, FUNCTION, settings.clusters, policy_parser(AgentReportsPolicy)),
        governed=settings.clusters,
    )
