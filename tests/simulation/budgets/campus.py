"""One run: money, Slurm, its agent, operators and copies of budget_holds on one clock; busy and faulty first, then quiet."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from budget_holds import FUNCTION
from budget_holds.definition import BudgetDefinition
from budget_holds.policy import BudgetHoldsPolicy
from budget_holds.snapshot import Snapshot
from proctor.domain.decision import Decision, Mode
from proctor.wire.policy import policy_parser
from tests.fakes.memory import FakeCounters
from tests.fakes.people import FakeOperatorNotifier, FakePeopleDirectory
from tests.fakes.policies import FakePauseSwitch, FakePolicyStore
from tests.fakes.records import FakeEventPublisher, FakeParkingLot, FakeVerdictStore
from tests.fakes.slurm_side import FakeBudgetDefinitions, FakeBudgetExemptions
from tests.fakes.values import person
from tests.simulation.budgets.agent import SimulatedAgent
from tests.simulation.budgets.billing import UPDATE_EVERY_SECONDS, Billing
from tests.simulation.budgets.checks_acts import CommandChecks
from tests.simulation.budgets.checks_decisions import check_decision
from tests.simulation.budgets.evaluators import Environment, Evaluation
from tests.simulation.budgets.observed import ObservedSlurm
from tests.simulation.budgets.operators import Operators
from tests.simulation.budgets.scenario import CLUSTER, HOUR, POLICY, Scenario
from tests.simulation.budgets.setting import furnish
from tests.simulation.budgets.slurm import SimulatedSlurm
from tests.simulation.budgets.watched import WatchedClaims, WatchedIntents, WatchedMail, WatchedMemory
from tests.simulation.core.dice import Dice
from tests.simulation.core.faults import Faults
from tests.simulation.core.queueing import Bus
from tests.simulation.core.scheduler import Scheduler
from tests.simulation.core.story import Story
from tests.simulation.core.violation import ViolationError

SWEEP_SECONDS = 600.0
SWEEP_EVENT = {"source": "proctor.schedule", "detail-type": "Sweep"}


class Campus:
    """Everything of one seed."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.dice = Dice(scenario.seed)
        self.scheduler = Scheduler()
        self.story = Story()
        self.story.now = lambda: self.scheduler.now
        self.faults = Faults(scenario.rates, self.dice.stream("faults"), self.scheduler)
        self.slurm = SimulatedSlurm(is_enforced=scenario.is_enforced, now=lambda: self.scheduler.now)
        self.bus = Bus(scenario.delivery, self.dice.stream("bus"), self.scheduler, self.story, self._invoke)
        self.acting: Evaluation | None = None
        self.environments: dict[int, Environment] = {}
        self._born = 0
        self.swept: list[float] = []
        self._stores()
        self._agent()
        self.billing = Billing(
            scenario,
            self.dice.stream("bill"),
            lambda: self.scheduler.now,
            self.observed.cost,
            self.bus.publish,
        )
        self.operators_at_work = Operators(self)
        furnish(self)

    def wall(self) -> datetime:
        """What the function's clock shows."""
        now = self.scheduler.now
        offset = sum(o for start, end, o in self.scenario.excursions if start <= now < end)
        return self.true_at() + timedelta(seconds=offset)

    def true_at(self) -> datetime:
        """True time."""
        return self.scenario.start_at + timedelta(seconds=self.scheduler.now)

    def bound(self) -> Mode:
        """The stack's mode."""
        span = self.scenario.dry_run
        return Mode.DRY_RUN if span and span[0] <= self.scheduler.now < span[1] else Mode.APPLY

    def run(self) -> None:
        """Play the whole run. Raises ViolationError, or whatever broke."""
        self.operators_at_work.start()
        self._sweep()
        self._count_again()
        self._jobs_come()
        self.agent.regular()
        self.scheduler.after(self.scenario.active_seconds, self._become_quiet)
        try:
            self.scheduler.run(self.scenario.end_seconds)
        finally:
            self.scheduler.halt()

    def order(self, action: str, budget: str, hours: float | None = None) -> None:
        """An operator's order, as an invocation of its own."""
        until_at = None if hours is None else self.true_at() + timedelta(hours=hours)
        wanted: dict[str, Any] = {"action": action, "budget": budget}
        if until_at is not None and action != "ApproveBudget":
            wanted["until"] = until_at.isoformat()
        event = {
            "source": "proctor.manual",
            "requested_by": "ops@uni.example",
            "justification": "ticket 4711",
        }
        self.story.tell("operator", f"orders {action} {budget} {f'for {hours} h' if hours else ''}")
        self._born += 1
        environment = Environment(self, f"manual-{self._born}")

        def work() -> None:
            try:
                environment.invoke({**event, "dry_run": False, "actions": [wanted]})
            except ViolationError:
                raise
            except Exception as error:  # noqa: BLE001 - what the operator sees
                self.story.tell("operator", f"is answered {type(error).__name__}: {error}")

        self.scheduler.spawn(work)

    def write_budget(self, name: str, definition: Mapping[str, Any]) -> None:
        """A definition, in force at once."""
        parameter = self.definitions.write(CLUSTER, name, json.dumps(definition))
        self.definitions.put_in_force(parameter, len(self.definitions.versions[parameter]))

    def raw_budget(self, name: str, version: int | None = None) -> dict[str, Any]:
        """A definition as it was written; the newest, or a version."""
        texts = self.definitions.versions[f"/proctor/{CLUSTER}/{FUNCTION}/{name}"]
        found: dict[str, Any] = json.loads(texts[-1 if version is None else version - 1])
        return found

    def decided(self, evaluation: Evaluation, snapshot: Snapshot, decision: Decision) -> None:
        """Ask the checks; what they raise ends the run, outside Proctor's code."""
        try:
            check_decision(self, evaluation, snapshot, decision)
        except ViolationError as violation:
            self.scheduler.fail(violation)

    def slurm_changed(self) -> None:
        """Something happened in Slurm: the agent looks, and reports what changed."""
        self.slurm.schedule()
        self.agent.look_soon()

    def _stores(self) -> None:
        self.intents, self.memory = WatchedIntents(), WatchedMemory()
        self.claims, self.mail = WatchedClaims(), WatchedMail()
        for store in (self.intents, self.memory, self.claims, self.mail):
            store.campus = self
        self.verdicts, self.counters, self.events = FakeVerdictStore(), FakeCounters(), FakeEventPublisher()
        self.pause, self.parking, self.operators = FakePauseSwitch(), FakeParkingLot(), FakeOperatorNotifier()
        self.exemptions, self.people, self.wake = FakeBudgetExemptions(), FakePeopleDirectory(), _Wake(self)
        for name in ("ada", "bob", "dan", "eve"):
            self.people.put(person(name))
        self.policies = FakePolicyStore(FUNCTION, (CLUSTER,), policy_parser(BudgetHoldsPolicy))
        version = self.policies.write(CLUSTER, json.dumps(POLICY))
        self.policies.put_in_force(f"/proctor/{CLUSTER}/{FUNCTION}", version)
        self.definitions = FakeBudgetDefinitions(FUNCTION, (CLUSTER,), policy_parser(BudgetDefinition))

    def _agent(self) -> None:
        self.commands = CommandChecks(self)
        self.agent = SimulatedAgent(
            self.scheduler,
            self.slurm,
            self.intents,
            self.story,
            self.dice.stream("agent"),
            self.true_at,
            self.commands.asked,
            self.scenario.report_delay,
        )
        self.agent.changed = lambda: self.bus.publish(_observed("results"))
        self.observed = ObservedSlurm(
            self.slurm, self.agent, self.scenario.start_at, lambda: self.scheduler.now
        )

    def _invoke(self, number: int, records: list[dict[str, Any]]) -> set[str] | None:
        if number not in self.environments:
            self._born += 1
            self.environments[number] = Environment(self, f"copy-{number}.{self._born}")
        began = self.scheduler.now
        failed = self.environments[number].batch(records)
        if failed == set() and any('"Sweep"' in record["body"] for record in records):
            self.swept.append(began)
        if failed is None:
            del self.environments[number]
        return failed

    def _sweep(self) -> None:
        self.observed.look()
        self.bus.publish(SWEEP_EVENT, is_schedule=True)
        self.scheduler.after(SWEEP_SECONDS, self._sweep)

    def _count_again(self) -> None:
        for _, bill in sorted(self.billing.bills.items()):
            self.billing.update(bill)
        self.bus.publish(_observed("usage"))
        self.scheduler.after(UPDATE_EVERY_SECONDS, self._count_again)

    def _jobs_come(self) -> None:
        chance = self.dice.stream("jobs")
        account = chance.choice(["phys", "phys-a", "bio", "chem"])
        partition, qos = chance.choice(["gpu", "gpu2", "dev"]), chance.choice(self.slurm.usable[account])
        self.slurm.submit(account, partition, qos, chance.randint(1, 2), chance.uniform(0.2, 1.5) * HOUR)
        self.scheduler.after(chance.uniform(200, 1400), self._jobs_come)

    def _become_quiet(self) -> None:
        self.story.tell("campus", "is quiet from now on")
        self.faults.is_quiet = self.bus.is_quiet = True
        self.operators_at_work.tidy_up()
        self.bus.redrive()


class _Wake:
    def __init__(self, campus: Campus) -> None:
        self._campus = campus

    def wake(self, cluster: str) -> None:
        assert cluster == CLUSTER
        self._campus.scheduler.after(0.05, self._campus.agent.look_soon)


def _observed(kind: str) -> dict[str, Any]:
    return {
        "source": "proctor.observed",
        "detail-type": "Observed Changed",
        "detail": {"cluster": CLUSTER, "kind": kind},
    }
