"""Wiring of agent_reports. The dict of appliers is its whole reach; each has one statement in template.yaml."""

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from agent_reports.decide import decide
from agent_reports.observe import FUNCTION, Observer, Ports
from agent_reports.policy import AgentReportsPolicy
from agent_reports.snapshot import Snapshot
from agent_reports.trigger import Manual, Trigger, parse
from proctor.adapters.agents_table import DynamoAgents
from proctor.adapters.aws_clients import AwsClients
from proctor.adapters.caller_identity import StsCallerProof
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
from proctor.runtime.handler import Request, Wiring, handle, pause_before
from proctor.runtime.manual import manual_request
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

    proof = StsCallerProof(_sts_endpoint())
    wiring = Wiring(
        function=FUNCTION,
        parse=parse,
        request=lambda trigger: _request(trigger, proof.caller),
        reaction=reaction,
        parking=SqsParkingLot(clients, settings.parking_queue_url),
        telemetry=telemetry,
        bound=settings.bound,
    )
    return wiring, telemetry, own.roles


def _request(trigger: Trigger, caller: Callable[[str, str], str]) -> Request:
    if not isinstance(trigger, Manual):
        return Request()
    return manual_request(
        function=FUNCTION,
        requested_by=trigger.requested_by,
        justification=trigger.justification,
        is_dry_run=trigger.is_dry_run,
        lift=trigger.lift,
        caller_proof=trigger.caller_proof,
        caller=caller,
    )


def _ports(settings: Settings, clients: AwsClients, own: AgentSettings) -> Ports:
    return Ports(
        agents=DynamoAgents(clients, own.agents_table),
        nodes=SageMakerNodeList(clients),
        policies=ParameterPolicies(clients, FUNCTION, settings.clusters, policy_parser(AgentReportsPolicy)),
        governed=settings.clusters,
    )


def _sts_endpoint() -> str:
    region = os.environ.get("AWS_REGION", "us-east-1")
    override = os.environ.get("AWS_ENDPOINT_URL_STS") or os.environ.get("AWS_ENDPOINT_URL")
    return override or f"https://sts.{region}.amazonaws.com"
