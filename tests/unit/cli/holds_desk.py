"""A desk before a cluster with Slurm: the real budget_holds on the desk's tables, and an agent that reports what a test says.

`gpu` has the accounts and people of tests/fakes/budget_values, at 100 USD a node-hour.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from budget_holds import FUNCTION
from budget_holds.decide import decide
from budget_holds.definition import BudgetDefinition
from budget_holds.observe import Observer, Ports
from budget_holds.policy import BudgetHoldsPolicy
from budget_holds.trigger import parse
from proctor.adapters.budget_exemptions_table import DynamoBudgetExemptions
from proctor.adapters.budget_memory_table import DynamoBudgetMemory
from proctor.adapters.budget_parameters import ParameterBudgets
from proctor.adapters.budgets_api import AwsBudgets
from proctor.adapters.claims_table import DynamoClaims
from proctor.adapters.intents_table import DynamoIntents
from proctor.adapters.items import to_item
from proctor.adapters.memory_table import DynamoCounters
from proctor.adapters.observed_table import DynamoSlurmState
from proctor.adapters.parameters import ParameterPause, ParameterPolicies
from proctor.adapters.people_table import DynamoPeople
from proctor.adapters.verdicts_table import DynamoVerdicts
from proctor.domain.actions import Action, LabelPolicyVersion, NotifyOperators, NotifyPerson
from proctor.domain.agent_protocol import Heartbeat, IntentResult, Outcome, encode
from proctor.domain.decision import Mode
from proctor.domain.observed_rows import hour_key
from proctor.domain.slurm_actions import WithdrawIntent, WriteIntent
from proctor.runtime.appliers import OperatorNotice, PersonNotice
from proctor.runtime.executor import Executor, Stores
from proctor.runtime.handler import Wiring, handle
from proctor.runtime.intent_appliers import BudgetLabel, IntentWithdrawer, IntentWriter
from proctor.runtime.reaction import Reaction
from proctor.wire.policy import policy_parser
from tests.fakes import budget_values as values
from tests.fakes.people import FakeOperatorNotifier, FakePersonNotifier
from tests.fakes.records import FakeEventPublisher, FakeParkingLot, FakeTelemetry
from tests.fakes.slurm_side import FakeWakeUp
from tests.unit.cli.desk import CLUSTER, NOW, OTHER, Desk

if TYPE_CHECKING:
    from proctor.ports import Applier

START = NOW.replace(day=1, hour=0)
CONTROLLER = "i-0123456789abcdef0"
_POLICY, _BUDGET = policy_parser(BudgetHoldsPolicy), policy_parser(BudgetDefinition)
_KEYS = {
    "partitions": ("name",),
    "jobs": ("job_id",),
    "associations": ("account", "login_name", "partition"),
    "qos": ("name",),
    "results": ("sk",),
    "undone": ("sk", "seen_at"),
}


@dataclass
class HoldsDesk:
    """Slurm and its agent around one desk."""

    desk: Desk

    def __post_init__(self) -> None:
        """A living cluster whose policy says apply, on a stack that may act."""
        self.desk.outputs["ApplyActions"] = "true"
        self.desk.clients.fake_functions.answer = self._function
        self.write_policy(values.POLICY)
        view = values.slurm(seen_at=NOW)
        self.see("partitions", *view.partitions.values())
        self.see("associations", *view.associations)
        self.see("qos", *view.qos)
        self.put("limits", "gpu", encode(values.limits()))
        self.beat(NOW)
        for number in range(1, 5):
            self.put("nodes", f"ip-10-0-0-{number}", {"name": f"ip-10-0-0-{number}"})

    # What operators write

    def write_policy(self, policy: Mapping[str, Any]) -> None:
        """The policy of budget_holds on `gpu`, in force."""
        self.parameter(f"/proctor/{CLUSTER}/{FUNCTION}", policy)

    def define(self, name: str, definition: Mapping[str, Any], cluster: str = CLUSTER) -> None:
        """A budget, in force."""
        self.parameter(f"/proctor/{cluster}/{FUNCTION}/{name}", definition)

    def allocate(self, name: str, limit: int, account: str, **fields: Any) -> None:
        """A department's allocation."""
        self.define(name, {"account": account, "allocation": {"limit": limit}, **fields})

    def parameter(self, name: str, value: Mapping[str, Any]) -> None:
        ssm = self.desk.clients.ssm()
        version = ssm.put_parameter(Name=name, Value=json.dumps(value), Type="String", Overwrite=True)[
            "Version"
        ]
        ssm.label_parameter_version(Name=name, ParameterVersion=version, Labels=["in-force"])

    # What the agent reports

    def put(
        self, section: str, key: str, fields: Mapping[str, Any], at: datetime | None = None, **more: Any
    ) -> None:
        """One row of observed state."""
        row = {
            **fields,
            "scope": f"{CLUSTER}#{section}",
            "key": key,
            "observed_at": int((at or self.desk.now).timestamp()),
            "role": "controller",
            "node": "ip-10-0-0-1",
            **more,
        }
        self.desk.clients.dynamodb().put_item(TableName="observed", Item=to_item(row))

    def see(self, section: str, *rows: Any) -> None:
        """Rows of one section."""
        for row in rows:
            if section == "usage":
                key = f"{hour_key(row.hour_at)}|{row.account}|{row.partition}"
            else:
                key = "|".join(str(getattr(row, name)) for name in _KEYS[section])
            self.put(section, key, encode(row))

    def beat(self, at: datetime, **fields: Any) -> None:
        """The controller's heartbeat."""
        content: dict[str, Any] = {
            "agent_version": "1.0.0",
            "python_version": "3.11.2",
            "slurm_version": "24.11.0",
            "verbs": tuple(sorted(values.VERBS)),
            "is_acting": True,
            "is_dry_run": False,
            "started_at": START,
            "intents_read_at": at,
            "slurm_read_at": at,
            "spooled_reports": 0,
            "dropped_reports": 0,
        }
        self.put("heartbeat", CONTROLLER, encode(Heartbeat(**{**content, **fields})), at)

    def spend(self, account: str, node_hours: float) -> None:
        """Use at 100 USD a node-hour since the month began."""
        self.see("usage", *values.spent(account, node_hours, START))

    def job(self, job_id: str, **fields: Any) -> None:
        """A job, pending if nothing else is said."""
        self.see("jobs", values.job(job_id, submit_at=NOW - timedelta(hours=1), **fields))

    def agent_reports(self, outcome: Outcome = Outcome.APPLIED, detail: str = "") -> None:
        """The agent says what became of every intent."""
        for sk, intent in DynamoIntents(self.desk.clients, "intents").intents(CLUSTER).items():
            assert intent is not None
            said = outcome if intent.is_held else Outcome.RELEASED
            field = "GrpJobs" if sk.startswith("account#") else ""
            self.see(
                "results", IntentResult(sk, intent.rev, said, detail, field, intent.previous, self.desk.now)
            )

    # The function

    def sweep(self) -> None:
        """The schedule wakes the function."""
        body = json.dumps({"source": "proctor.schedule", "detail-type": "Sweep"})
        answer = handle({"Records": [{"messageId": "m", "body": body}]}, self._wiring())
        assert answer == {"batchItemFailures": []}

    def held(self) -> set[str]:
        """Subjects whose intents are held."""
        found = DynamoIntents(self.desk.clients, "intents").intents(CLUSTER)
        return {sk for sk, intent in found.items() if intent is not None and intent.is_held}

    def _function(self, request: dict[str, Any]) -> object:
        return handle(request, self._wiring())

    def _ports(self) -> Ports:
        clients, clusters = self.desk.clients, (CLUSTER, OTHER)
        return Ports(
            ledger=AwsBudgets("123456789012", clients.budgets),
            slurm=DynamoSlurmState(clients, "observed"),
            intents=DynamoIntents(clients, "intents"),
            memory=DynamoBudgetMemory(clients, "memory"),
            policies=ParameterPolicies(clients, FUNCTION, clusters, _POLICY),
            definitions=ParameterBudgets(clients, FUNCTION, clusters, _BUDGET),
            exemptions=DynamoBudgetExemptions(clients, "exemptions"),
            people=DynamoPeople(clients, "people"),
            governed=clusters,
            account_id="123456789012",
        )

    def _wiring(self) -> Wiring[Any, Any]:
        ports, clients, telemetry = self._ports(), self.desk.clients, FakeTelemetry()
        wake = FakeWakeUp()
        stores = Stores(
            claims=DynamoClaims(clients, "claims"),
            verdicts=DynamoVerdicts(clients, "verdicts"),
            memory=ports.memory,
            counters=DynamoCounters(clients, "memory"),
            pause=ParameterPause(clients, (CLUSTER, OTHER)),
            events=FakeEventPublisher(),
            telemetry=telemetry,
        )
        appliers: dict[type[Action], Applier] = {
            WriteIntent: IntentWriter(ports.intents, ports.memory, wake.wake, telemetry.warn),
            WithdrawIntent: IntentWithdrawer(ports.intents, ports.memory, wake.wake, telemetry.warn),
            NotifyPerson: PersonNotice(FakePersonNotifier()),
            NotifyOperators: OperatorNotice(FakeOperatorNotifier()),
            LabelPolicyVersion: BudgetLabel(ports.policies, ports.definitions),
        }
        is_acting = self.desk.outputs["ApplyActions"] == "true"
        return Wiring(
            function=FUNCTION,
            parse=parse,
            caller=lambda proof, _: proof,
            reaction=lambda: Reaction(Observer(ports), decide, Executor(appliers, stores), lambda _: None),
            parking=FakeParkingLot(),
            telemetry=telemetry,
            bound=Mode.APPLY if is_acting else Mode.DRY_RUN,
            clock=lambda: self.desk.now,
            token=lambda: "token",
        )


def moved(desk: HoldsDesk, **delta: float) -> None:
    """Time passes and the agent lives."""
    desk.desk.now = desk.desk.now + timedelta(**delta)
    desk.beat(desk.desk.now)
