"""Wiring of budget_holds. The dict of appliers is its whole reach; each has one statement in template.yaml."""

import os
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from budget_holds import FUNCTION
from budget_holds.decide import decide
from budget_holds.definition import BudgetDefinition
from budget_holds.observe import Observer, Ports
from budget_holds.policy import BudgetHoldsPolicy
from budget_holds.snapshot import Snapshot
from budget_holds.trigger import Trigger, parse
from proctor.adapters.aws_clients import AwsClients
from proctor.adapters.budget_exemptions_table import DynamoBudgetExemptions
from proctor.adapters.budget_memory_table import DynamoBudgetMemory
from proctor.adapters.budget_parameters import ParameterBudgets
from proctor.adapters.budgets_api import AwsBudgets
from proctor.adapters.caller_identity import StsCallerProof, sts_endpoint
from proctor.adapters.claims_table import DynamoClaims
from proctor.adapters.event_bus import EventBridgePublisher
from proctor.adapters.intents_table import DynamoIntents
from proctor.adapters.memory_table import DynamoCounters
from proctor.adapters.notifiers import SesPersonNotifier, SnsOperatorNotifier
from proctor.adapters.observed_table import DynamoSlurmState
from proctor.adapters.parameters import ParameterPause, ParameterPolicies
from proctor.adapters.parking import SqsParkingLot
from proctor.adapters.people_table import DynamoPeople
from proctor.adapters.verdicts_table import DynamoVerdicts
from proctor.adapters.wake_queue import SqsWakeUp, queue_urls
from proctor.domain.actions import Action, LabelPolicyVersion, NotifyOperators, NotifyPerson
from proctor.domain.slurm_actions import WithdrawIntent, WriteIntent
from proctor.ports import Applier, Telemetry
from proctor.runtime.appliers import OperatorNotice, PersonNotice
from proctor.runtime.executor import Executor, Stores
from proctor.runtime.handler import Wiring, handle, pause_before
from proctor.runtime.intent_appliers import BudgetLabel, IntentWithdrawer, IntentWriter, stands
from proctor.runtime.reaction import Reaction
from proctor.runtime.settings import Settings
from proctor.runtime.slurm_settings import SlurmSettings
from proctor.runtime.telemetry import LambdaTelemetry
from proctor.wire.policy import policy_parser


def lambda_handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Entry point: an SQS batch, or one manual request."""
    del context
    wiring, telemetry = _wiring()
    try:
        return handle(event, wiring)
    finally:
        telemetry.flush()


def appliers(
    ports: Ports, clients: AwsClients, settings: Settings, wake: SqsWakeUp, telemetry: Telemetry
) -> Mapping[type[Action], Applier]:
    """What budget_holds can do, and nothing else."""
    return {
        WriteIntent: IntentWriter(ports.intents, ports.memory, wake.wake, telemetry.warn),
        WithdrawIntent: IntentWithdrawer(ports.intents, ports.memory, wake.wake, telemetry.warn),
        NotifyPerson: PersonNotice(
            SesPersonNotifier(clients, settings.sender), partial(stands, ports.memory)
        ),
        NotifyOperators: OperatorNotice(SnsOperatorNotifier(clients, settings.operators_topic_arn)),
        LabelPolicyVersion: BudgetLabel(ports.policies, ports.definitions),
    }


@cache
def _wiring() -> tuple[Wiring[Trigger, Snapshot], LambdaTelemetry]:
    """Once per process, at the first invocation."""
    settings, slurm, clients = Settings.from_env(os.environ), SlurmSettings.from_env(os.environ), AwsClients()
    telemetry = LambdaTelemetry(FUNCTION)
    ports = _ports(settings, slurm, clients)
    wake = SqsWakeUp(clients, queue_urls(slurm.wake_queue_url, settings.clusters))
    stores = Stores(
        claims=DynamoClaims(clients, settings.claims_table),
        verdicts=DynamoVerdicts(clients, settings.verdicts_table),
        memory=ports.memory,
        counters=DynamoCounters(clients, settings.memory_table),
        pause=ParameterPause(clients, settings.clusters),
        events=EventBridgePublisher(clients, settings.event_bus),
        telemetry=telemetry,
    )

    def reaction() -> Reaction[Trigger, Snapshot]:
        executor = Executor(appliers(ports, clients, settings, wake, telemetry), stores)
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


def _ports(settings: Settings, slurm: SlurmSettings, clients: AwsClients) -> Ports:
    clusters = settings.clusters
    return Ports(
        ledger=AwsBudgets(slurm.account_id, clients.budgets),
        slurm=DynamoSlurmState(clients, slurm.observed_table),
        intents=DynamoIntents(clients, slurm.intents_table),
        memory=DynamoBudgetMemory(clients, settings.memory_table),
        policies=ParameterPolicies(clients, FUNCTION, clusters, policy_parser(BudgetHoldsPolicy)),
        definitions=ParameterBudgets(clients, FUNCTION, clusters, policy_parser(BudgetDefinition)),
        exemptions=DynamoBudgetExemptions(clients, settings.exemptions_table),
        people=DynamoPeople(clients, settings.people_table),
        governed=clusters,
        account_id=slurm.account_id,
        pause=ParameterPause(clients, clusters),
    )
