"""Copies of budget_holds: its own code, AWS by the real adapter over a simulated client, and watched stores."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import budget_holds.decide as product
from budget_holds import FUNCTION
from budget_holds.observe import Observer, Ports
from budget_holds.snapshot import Snapshot
from budget_holds.trigger import Trigger, parse
from proctor.adapters.budgets_api import AwsBudgets
from proctor.domain.actions import Action, LabelPolicyVersion, NotifyOperators, NotifyPerson
from proctor.domain.decision import Decision
from proctor.domain.slurm_actions import WithdrawIntent, WriteIntent
from proctor.ports import Applier
from proctor.runtime.appliers import OperatorNotice, PersonNotice
from proctor.runtime.executor import Executor, Stores
from proctor.runtime.handler import Wiring, handle
from proctor.runtime.intent_appliers import BudgetLabel, IntentWithdrawer, IntentWriter, stands
from proctor.runtime.reaction import Reaction
from tests.fakes.records import FakeTelemetry
from tests.fakes.taps import PortCall, ProcessDiedError, Taps
from tests.simulation.budgets.billing import ACCOUNT_ID
from tests.simulation.budgets.scenario import CLUSTER
from tests.simulation.core.faults import Gate

if TYPE_CHECKING:
    from tests.simulation.budgets.campus import Campus


@dataclass
class Evaluation:
    """One record being worked on: by whom, since when (true time), with which clock."""

    name: str
    began: float
    now: datetime


class Environment:
    """One copy of the function; its caches live on until its process dies."""

    def __init__(self, campus: "Campus", name: str) -> None:
        self._campus = campus
        self.name = name
        self.evaluation = Evaluation(name, campus.scheduler.now, campus.wall())
        self._gate = self._new_gate()
        self._taps = Taps(active=[self])
        self._telemetry = FakeTelemetry()
        client = campus.billing.client(self._call)
        self._ledger = AwsBudgets(ACCOUNT_ID, lambda: cast("Any", client), lambda: campus.scheduler.now)
        self._tokens = 0

    def invoke(self, event: Mapping[str, Any]) -> dict[str, Any] | None:
        """One invocation; None when the process died."""
        self._gate = self._new_gate()
        try:
            return handle(event, self._wiring())
        except ProcessDiedError:
            return None

    def batch(self, records: list[dict[str, Any]]) -> set[str] | None:
        """One batch of queue records: ids that stay in the queue, None when the process died."""
        self._tell(f"wakes for {', '.join(_kind(json.loads(r['body'])) for r in records)}")
        answer = self.invoke({"Records": records})
        return None if answer is None else {item["itemIdentifier"] for item in answer["batchItemFailures"]}

    def before(self, call: PortCall) -> None:
        """Tap."""
        self._gate.before(call)
        self._campus.acting = self.evaluation

    def after(self, call: PortCall) -> None:
        """Tap."""
        self._gate.after(call)

    def _new_gate(self) -> Gate:
        return Gate(self._campus.faults, self._campus.scheduler, self._tell)

    def _call[R](self, operation: str, effect: Callable[[], R], /) -> R:
        return self._gate.call(operation, effect)

    def _tell(self, what: str) -> None:
        self._campus.story.tell(self.name, what)

    def _clock(self) -> datetime:
        self.evaluation = Evaluation(self.name, self._campus.scheduler.now, self._campus.wall())
        return self.evaluation.now

    def _token(self) -> str:
        self._tokens += 1
        return f"{self.name}#{self._tokens}"

    def _wiring(self) -> Wiring[Trigger, Snapshot]:
        campus, tap, ports = self._campus, self._taps.around, self._ports()
        stores = Stores(
            claims=tap(campus.claims, "claims"),
            verdicts=tap(campus.verdicts, "verdicts"),
            memory=ports.memory,
            counters=tap(campus.counters, "counters"),
            pause=tap(campus.pause, "pause"),
            events=tap(campus.events, "events"),
            telemetry=self._telemetry,
        )

        def reaction() -> Reaction[Trigger, Snapshot]:
            executor = Executor(self._appliers(ports), stores)
            return Reaction(Observer(ports), self._decide, executor, self._back_off)

        return Wiring(
            function=FUNCTION,
            parse=parse,
            caller=lambda proof, _: proof,
            reaction=reaction,
            parking=tap(campus.parking, "parking"),
            telemetry=self._telemetry,
            bound=campus.bound(),
            clock=self._clock,
            token=self._token,
        )

    def _decide(self, snapshot: Snapshot) -> Decision:
        decision = product.decide(snapshot)
        self._campus.decided(self.evaluation, snapshot, decision)
        return decision

    def _back_off(self, attempt: int) -> None:
        self._gate.sleep(0.1 * 2**attempt * self._campus.faults.chance.random())

    def _ports(self) -> Ports:
        campus, tap = self._campus, self._taps.around
        return Ports(
            ledger=self._ledger,
            slurm=tap(campus.observed, "slurm"),
            intents=tap(campus.intents, "intents"),
            memory=tap(campus.memory, "memory"),
            policies=tap(campus.policies, "policies"),
            definitions=tap(campus.definitions, "definitions"),
            exemptions=tap(campus.exemptions, "exemptions"),
            people=tap(campus.people, "people"),
            governed=(CLUSTER,),
            account_id=ACCOUNT_ID,
            pause=tap(campus.pause, "pause"),
        )

    def _appliers(self, ports: Ports) -> Mapping[type[Action], Applier]:
        """The same dict as in budget_holds/app.py."""
        campus, tap = self._campus, self._taps.around
        wake = tap(campus.wake, "wake").wake
        return {
            WriteIntent: IntentWriter(ports.intents, ports.memory, wake, self._tell),
            WithdrawIntent: IntentWithdrawer(ports.intents, ports.memory, wake, self._tell),
            NotifyPerson: PersonNotice(tap(campus.mail, "mail"), partial(stands, ports.memory)),
            NotifyOperators: OperatorNotice(tap(campus.operators, "operators")),
            LabelPolicyVersion: BudgetLabel(ports.policies, ports.definitions),
        }


def _kind(event: Mapping[str, Any]) -> str:
    return str(event.get("detail-type") or event.get("Subject") or event.get("source"))
