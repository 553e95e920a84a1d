"""Wiring of session_limits. The dict of appliers is its whole reach; each has one statement in template.yaml."""

import os
import time
from collections.abc import Mapping
from functools import cache
from typing import Any

from proctor.adapters.aws_clients import AwsClients
from proctor.adapters.caller_identity import StsCallerProof, sts_endpoint
from proctor.adapters.claims_table import DynamoClaims
from proctor.adapters.cluster_api import SageMakerClusters
from proctor.adapters.event_bus import EventBridgePublisher
from proctor.adapters.exemptions_table import DynamoExemptions
from proctor.adapters.memory_table import DynamoCounters, DynamoSessionLedger
from proctor.adapters.notifiers import SesPersonNotifier, SnsOperatorNotifier
from proctor.adapters.parameters import ParameterPause, ParameterPolicies
from proctor.adapters.parking import SqsParkingLot
from proctor.adapters.people_table import DynamoPeople
from proctor.adapters.session_manager import SsmSessionManager
from proctor.adapters.verdicts_table import DynamoVerdicts
from proctor.domain.actions import Action, LabelPolicyVersion, NotifyOperators, NotifyPerson, TerminateSession
from proctor.ports import Applier
from proctor.runtime.appliers import OperatorNotice, PersonNotice, PolicyLabel, SessionTerminator
from proctor.runtime.executor import Executor, Stores
from proctor.runtime.handler import Wiring, handle, pause_before
from proctor.runtime.reaction import Reaction
from proctor.runtime.settings import Settings
from proctor.runtime.telemetry import LambdaTelemetry
from proctor.wire.policy import policy_parser
from session_limits import FUNCTION
from session_limits.decide import decide
from session_limits.observe import Observer, Ports
from session_limits.policy import SessionLimitsPolicy
from session_limits.snapshot import Snapshot
from session_limits.trigger import Trigger, parse


def lambda_handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Entry point: an SQS batch, or one manual request."""
    del context
    wiring, telemetry = _wiring()
    try:
        return handle(event, wiring)
    finally:
        telemetry.flush()


def appliers(ports: Ports, clients: AwsClients, settings: Settings) -> Mapping[type[Action], Applier]:
    """What session_limits can do, and nothing else."""
    return {
        TerminateSession: SessionTerminator(ports.sessions, ports.ledger.release_intent, time.sleep),
        NotifyPerson: PersonNotice(SesPersonNotifier(clients, settings.sender)),
        NotifyOperators: OperatorNotice(SnsOperatorNotifier(clients, settings.operators_topic_arn)),
        LabelPolicyVersion: PolicyLabel(ports.policies),
    }


@cache
def _wiring() -> tuple[Wiring[Trigger, Snapshot], LambdaTelemetry]:
    """Once per process, at the first invocation."""
    settings, clients = Settings.from_env(os.environ), AwsClients()
    telemetry = LambdaTelemetry(FUNCTION)
    ports = _ports(settings, clients)
    stores = Stores(
        claims=DynamoClaims(clients, settings.claims_table),
        verdicts=DynamoVerdicts(clients, settings.verdicts_table),
        memory=ports.ledger,
        counters=ports.counters,
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
    return wiring, telemetry


def _ports(settings: Settings, clients: AwsClients) -> Ports:
    return Ports(
        sessions=SsmSessionManager(clients),
        clusters=SageMakerClusters(clients, settings.clusters),
        people=DynamoPeople(clients, settings.people_table),
        policies=ParameterPolicies(clients, FUNCTION, settings.clusters, policy_parser(SessionLimitsPolicy)),
        exemptions=DynamoExemptions(clients, settings.exemptions_table),
        ledger=DynamoSessionLedger(clients, settings.memory_table, f"{FUNCTION}#ledger"),
        counters=DynamoCounters(clients, settings.memory_table),
        governed=settings.clusters,
    )
