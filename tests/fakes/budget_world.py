"""A whole budget_holds on fakes: AWS Budgets, Slurm and its agent on one side, evaluators on the other, one clock.

world = BudgetWorld()
world.define("lab1", {"account": "lab1", "allocation": {"limit": 1000}})
world.spend("lab1", 10); world.sweep()
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from budget_holds import FUNCTION
from budget_holds.decide import decide
from budget_holds.definition import BudgetDefinition
from budget_holds.observe import Observer, Ports
from budget_holds.policy import BudgetHoldsPolicy
from budget_holds.snapshot import Snapshot
from budget_holds.trigger import Trigger, parse
from proctor.domain.actions import Action, LabelPolicyVersion, NotifyOperators, NotifyPerson
from proctor.domain.agent_protocol import IntentResult, LimitAccount, SetPartitionState
from proctor.domain.agent_protocol import Outcome as AgentOutcome
from proctor.domain.budgets_memory import BudgetMemory
from proctor.domain.budgets_reading import BudgetAnswer
from proctor.domain.decision import Mode, Outcome
from proctor.domain.slurm_actions import WithdrawIntent, WriteIntent
from proctor.ports import Applier
from proctor.runtime.appliers import OperatorNotice, PersonNotice
from proctor.runtime.executor import Executor, Stores
from proctor.runtime.handler import Wiring, handle
from proctor.runtime.intent_appliers import BudgetLabel, IntentWithdrawer, IntentWriter, stands
from proctor.runtime.reaction import Reaction
from proctor.wire.policy import policy_parser
from tests.fakes import budget_values as values
from tests.fakes.memory import FakeCounters
from tests.fakes.people import FakeOperatorNotifier, FakePeopleDirectory, FakePersonNotifier
from tests.fakes.policies import FakePauseSwitch, FakePolicyStore
from tests.fakes.records import (
    FakeClaimStore,
    FakeEventPublisher,
    FakeParkingLot,
    FakeTelemetry,
    FakeVerdictStore,
)
from tests.fakes.slurm_side import (
    FakeBudgetDefinitions,
    FakeBudgetExemptions,
    FakeBudgetLedger,
    FakeBudgetMemory,
    FakeIntentStore,
    FakeSlurmState,
    FakeWakeUp,
)
from tests.fakes.taps import Taps
from tests.fakes.values import person

SWEEP_EVENT: Mapping[str, Any] = {"source": "proctor.schedule", "detail-type": "Sweep"}
_PARSE_POLICY = policy_parser(BudgetHoldsPolicy)
_PARSE_BUDGET = policy_parser(BudgetDefinition)


@dataclass
class BudgetWorld:
    """Fakes by name. The agent is as fast as the test wants: `let_agent_work`."""

    policy: Mapping[str, Any] = field(default_factory=lambda: values.POLICY)
    now: datetime = values.NOW
    bound: Mode = Mode.APPLY
    clusters: tuple[str, ...] = (values.CLUSTER,)
    taps: Taps = field(default_factory=Taps)
    ledger: FakeBudgetLedger = field(default_factory=FakeBudgetLedger)
    slurm: FakeSlurmState = field(default_factory=FakeSlurmState)
    intents: FakeIntentStore = field(default_factory=FakeIntentStore)
    memory: FakeBudgetMemory = field(default_factory=FakeBudgetMemory)
    exemptions: FakeBudgetExemptions = field(default_factory=FakeBudgetExemptions)
    wake: FakeWakeUp = field(default_factory=FakeWakeUp)
    people: FakePeopleDirectory = field(default_factory=FakePeopleDirectory)
    counters: FakeCounters = field(default_factory=FakeCounters)
    claims: FakeClaimStore = field(default_factory=FakeClaimStore)
    verdicts: FakeVerdictStore = field(default_factory=FakeVerdictStore)
    pause: FakePauseSwitch = field(default_factory=FakePauseSwitch)
    mail: FakePersonNotifier = field(default_factory=FakePersonNotifier)
    operators: FakeOperatorNotifier = field(default_factory=FakeOperatorNotifier)
    events: FakeEventPublisher = field(default_factory=FakeEventPublisher)
    parking: FakeParkingLot = field(default_factory=FakeParkingLot)
    telemetry: FakeTelemetry = field(default_factory=FakeTelemetry)
    waits: list[float] = field(default_factory=list)
    is_agent_alive: bool = True
    _tokens: int = 0

    def __post_init__(self) -> None:
        self.policies = FakePolicyStore(FUNCTION, self.clusters, _PARSE_POLICY)
        self.definitions = FakeBudgetDefinitions(FUNCTION, self.clusters, _PARSE_BUDGET)
        for cluster in self.clusters:
            self.write_policy(self.policy, cluster)
            self.slurm.views[cluster] = values.slurm(seen_at=self.now, cluster=cluster)
        for name in ("ada", "bob", "cyd", "dan"):
            self.people.put(person(name))

    # What operators, AWS and Slurm do

    def write_policy(self, policy: Mapping[str, Any], cluster: str = values.CLUSTER) -> None:
        """A policy version, in force at once."""
        version = self.policies.write(cluster, json.dumps(policy))
        self.policies.put_in_force(f"/proctor/{cluster}/{FUNCTION}", version)

    def define(self, name: str, definition: Mapping[str, Any], cluster: str = values.CLUSTER) -> None:
        """A budget's definition, in force at once."""
        parameter = self.definitions.write(cluster, name, json.dumps(definition))
        self.definitions.put_in_force(parameter, len(self.definitions.versions[parameter]))

    def bill(self, answer: BudgetAnswer) -> None:
        """What AWS says from now on about the budget named."""
        self.ledger.answers[answer.name] = answer

    def see(self, cluster: str = values.CLUSTER, **fields: Any) -> None:
        """Slurm as the agent sees it from now on."""
        self.slurm.views[cluster] = replace(self.slurm.views[cluster], **fields)

    def spend(self, account: str, node_hours: float, at: datetime | None = None) -> None:
        """Use at 100 USD a node-hour, spread over hours from `at` (default: the first of the month) on."""
        rows = [
            *self.slurm.views[values.CLUSTER].usage,
            *values.spent(account, node_hours, at or values.START),
        ]
        self.see(usage=tuple(rows))

    def advance(self, *, minutes: float = 0, hours: float = 0, to: datetime | None = None) -> None:
        """Move on; a living agent keeps sending heartbeats."""
        self.now = to if to is not None else self.now + timedelta(minutes=minutes, hours=hours)
        if self.is_agent_alive:
            for cluster in self.clusters:
                self.see(cluster, seen_at=self.now)

    def let_agent_work(self, outcome: AgentOutcome = AgentOutcome.APPLIED, detail: str = "") -> None:
        """The agent reports on every intent; held limits and states are in force afterwards."""
        results: dict[str, IntentResult] = {}
        for sk, intent in self.intents.intents(values.CLUSTER).items():
            if intent is None:
                continue
            is_held = intent.is_held
            said = outcome if is_held else AgentOutcome.RELEASED
            results[sk] = IntentResult(sk, intent.rev, said, detail, "GrpJobs", intent.previous, self.now)
            if isinstance(intent.verb, LimitAccount) and said in {
                AgentOutcome.APPLIED,
                AgentOutcome.RELEASED,
            }:
                self._set_limit(intent.verb.account, 0 if is_held else _number(intent.previous))
            if isinstance(intent.verb, SetPartitionState):
                self._set_state(intent.verb, (intent.previous or {}).get("State", "UP"), is_held=is_held)
        self.see(results=results)

    def _set_limit(self, account: str, grp_jobs: int | None) -> None:
        rows = self.slurm.views[values.CLUSTER].associations
        self.see(
            associations=tuple(
                replace(r, grp_jobs=grp_jobs) if r.account == account and not r.login_name else r
                for r in rows
            )
        )

    def _set_state(self, verb: SetPartitionState, before: str, *, is_held: bool) -> None:
        partitions = dict(self.slurm.views[values.CLUSTER].partitions)
        state = verb.state.value if is_held else before
        partitions[verb.partition] = replace(partitions[verb.partition], state=state)
        self.see(partitions=partitions)

    # What wakes Proctor

    def deliver(self, *events: object, wiring: Wiring[Trigger, Snapshot] | None = None) -> list[str]:
        """One batch of queue records; answers the message ids that stay in the queue."""
        records = [{"messageId": f"m-{n}", "body": json.dumps(event)} for n, event in enumerate(events, 1)]
        answer = handle({"Records": records}, wiring or self.wiring())
        return [item["itemIdentifier"] for item in answer["batchItemFailures"]]

    def sweep(self) -> list[str]:
        """The schedule's record."""
        return self.deliver(SWEEP_EVENT)

    def order(
        self, action: str, budget: str, *, dry_run: bool = False, **fields: Any
    ) -> list[dict[str, Any]]:
        """One manual order; answers outcome summaries."""
        return self.manual(dry_run=dry_run, actions=[{"action": action, "budget": budget, **fields}])

    def manual(self, **fields: Any) -> list[dict[str, Any]]:
        """One manual request; raises what its caller would see."""
        event = {
            "source": "proctor.manual",
            "requested_by": "ops@uni.example",
            "justification": "ticket 4711",
            **fields,
        }
        outcomes: list[dict[str, Any]] = handle(event, self.wiring())["outcomes"]
        return outcomes

    def wiring(self) -> Wiring[Trigger, Snapshot]:
        """One more evaluator: a process of its own, on the same world."""
        ports, tap = self._ports(), self.taps.around
        stores = Stores(
            claims=tap(self.claims, "claims"),
            verdicts=tap(self.verdicts, "verdicts"),
            memory=ports.memory,
            counters=tap(self.counters, "counters"),
            pause=tap(self.pause, "pause"),
            events=tap(self.events, "events"),
            telemetry=self.telemetry,
        )

        def reaction() -> Reaction[Trigger, Snapshot]:
            executor = Executor(self._appliers(ports), stores)
            return Reaction(Observer(ports), decide, executor, self.waits.append)

        return Wiring(
            function=FUNCTION,
            parse=parse,
            caller=lambda proof, _: f"arn-of:{proof}",
            reaction=reaction,
            parking=tap(self.parking, "parking"),
            telemetry=self.telemetry,
            bound=self.bound,
            clock=lambda: self.now,
            token=self._token,
        )

    # What came of it

    def remembered(self, budget: str, cluster: str = values.CLUSTER) -> BudgetMemory:
        """One budget's memory."""
        return self.memory.get(f"{cluster}#{budget}")

    def verdict(self, budget: str, cluster: str = values.CLUSTER) -> Outcome:
        """The latest outcome about a budget."""
        return self.verdicts.latest[f"budget#{cluster}#{budget}"]

    def headlines(self) -> list[str]:
        """What operators were told."""
        return [notice.headline for notice in self.operators.published]

    def _ports(self) -> Ports:
        tap = self.taps.around
        return Ports(
            ledger=tap(self.ledger, "ledger"),
            slurm=tap(self.slurm, "slurm"),
            intents=tap(self.intents, "intents"),
            memory=tap(self.memory, "memory"),
            policies=tap(self.policies, "policies"),
            definitions=tap(self.definitions, "definitions"),
            exemptions=tap(self.exemptions, "exemptions"),
            people=tap(self.people, "people"),
            governed=self.clusters,
            account_id=values.ACCOUNT_ID,
            pause=tap(self.pause, "pause"),
        )

    def _appliers(self, ports: Ports) -> Mapping[type[Action], Applier]:
        tap = self.taps.around
        wake = tap(self.wake, "wake")
        return {
            WriteIntent: IntentWriter(ports.intents, ports.memory, wake.wake, self.telemetry.warn),
            WithdrawIntent: IntentWithdrawer(ports.intents, ports.memory, wake.wake, self.telemetry.warn),
            NotifyPerson: PersonNotice(tap(self.mail, "mail"), partial(stands, ports.memory)),
            NotifyOperators: OperatorNotice(tap(self.operators, "operators")),
            LabelPolicyVersion: BudgetLabel(ports.policies, ports.definitions),
        }

    def _token(self) -> str:
        self._tokens += 1
        return f"token-{self._tokens}"


def _number(previous: Mapping[str, str] | None) -> int | None:
    text = (previous or {}).get("GrpJobs", "-1")
    return None if text == "-1" else int(text)
