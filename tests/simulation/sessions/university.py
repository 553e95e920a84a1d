"""One run: people, services, Proctor and its checks on one clock; first busy and faulty, then quiet until it settles."""

from datetime import datetime, timedelta
from typing import Any

from proctor.adapters.claims_table import DynamoClaims
from proctor.adapters.exemptions_table import DynamoExemptions
from proctor.adapters.people_table import DynamoPeople
from proctor.domain.claims import Claim, ClaimKey
from proctor.domain.decision import Verdict
from proctor.domain.exemptions import Exemption
from tests.simulation.core.dice import Dice
from tests.simulation.core.dynamo import SimulatedTables, at_once
from tests.simulation.core.faults import Faults
from tests.simulation.core.queueing import Bus
from tests.simulation.core.scheduler import Scheduler
from tests.simulation.core.story import Story
from tests.simulation.sessions.behaviour import Behaviour
from tests.simulation.sessions.checks_acts import ActChecks
from tests.simulation.sessions.checks_decisions import DecisionChecks
from tests.simulation.sessions.clients import Services
from tests.simulation.sessions.evaluation import Evaluation
from tests.simulation.sessions.evaluators import Environment, Site
from tests.simulation.sessions.intents import IntentChecks, WatchedLedger
from tests.simulation.sessions.operators import Operators
from tests.simulation.sessions.parameters import Parameters
from tests.simulation.sessions.people import draw_people
from tests.simulation.sessions.scenario import CLUSTERS, Scenario
from tests.simulation.sessions.service import EPOCH, SessionService
from tests.simulation.sessions.witness import Witness

SWEEP_SECONDS = 120.0
SWEEP_EVENT = {"source": "proctor.schedule", "detail-type": "Sweep"}


class University:
    """Everything of one seed. `run` plays it; checks are attached by the caller."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.dice = Dice(scenario.seed)
        self.scheduler = Scheduler()
        self.story = Story()
        self.story.now = lambda: self.scheduler.now
        everybody = draw_people(self.dice.stream("people"), scenario.active_seconds)
        self.humans = [human for human in everybody if human.nick not in scenario.without]
        self.service = SessionService(
            scenario, self.scheduler, self.dice.stream("service"), self.dice.stream("starts"), self.story
        )
        self.parameters = Parameters(self.scheduler, self.story)
        self.tables = SimulatedTables()
        self.faults = Faults(scenario.rates, self.dice.stream("faults"), self.scheduler)
        self.witness = Witness(self.scheduler, self.story)
        self.services = Services(self.service, self.parameters, self.tables)
        self.bus = Bus(scenario.delivery, self.dice.stream("bus"), self.scheduler, self.story, self._invoke)
        self.site = Site(
            scenario, self.scheduler, self.faults, self.story, self.services, self.witness, self.wall
        )
        self.environments: dict[int, Environment] = {}
        self.telemetry: dict[str, int] = {}
        self.behaviour = Behaviour(self)
        self.operators = Operators(self)
        self.refused_in_quiet = 0
        self.intents = IntentChecks(self)
        self.site.fakes.ledger = ledger = WatchedLedger()
        ledger.world = self
        self.site.on_effect = self.intents.effect_of
        self.tables.watch = self.intents.watch_table
        self.witness.checks += [DecisionChecks(self), ActChecks(self)]
        self._born = 0
        self._without_gate = self.services.clients(at_once, lambda: Evaluation("an operator", 0.0))
        self._connect()
        self._load()

    def wall(self) -> datetime:
        """What the machines' clock shows; it may have been set."""
        offset = sum(seconds for at, seconds in self.scenario.clock_steps if at <= self.scheduler.now)
        return EPOCH + timedelta(seconds=self.scheduler.now + offset)

    def has_clock_step(self, start: float, end: float) -> bool:
        """Whether the clock was set within a span."""
        return any(start <= at <= end for at, _ in self.scenario.clock_steps)

    def run(self) -> None:
        """Play the whole run. Raises ViolationError, or whatever broke."""
        scenario = self.scenario
        self.behaviour.start()
        self.operators.start()
        self._schedule_sweep(self.dice.stream("bus").uniform(1, SWEEP_SECONDS))
        self.scheduler.after(scenario.active_seconds, self._become_quiet)
        try:
            self.scheduler.run(scenario.end_seconds)
        finally:
            self.scheduler.halt()

    def claim_of(self, verdict: Verdict) -> Claim | None:
        """What the claims table holds now for a verdict's action."""
        key = ClaimKey("session_limits", verdict.subject, verdict.rule, verdict.episode, verdict.step)
        if self.scenario.stores == "fakes":
            return self.site.fakes.claims.get(key)
        return DynamoClaims(self._without_gate.as_aws(), "claims").get(key)

    def policies(self) -> dict[str, dict[str, Any]]:
        """The policies in force now."""
        return {cluster: self.parameters.final_policy(cluster) for cluster in CLUSTERS}

    def people_changed(self) -> None:
        """Load the directory again from the humans as they are now."""
        people = DynamoPeople(self._without_gate.as_aws(), "people")
        for human in self.humans:
            if human.login_name is not None:
                person = human.as_person()
                keys = [f"person#{person.login_name}", *(i.key for i in person.identities)]
                people.write(dict.fromkeys(keys, person), ())

    def _connect(self) -> None:
        self.service.on_end_asked = self.witness.acted
        self.services.on_mail = lambda asker, _: self.witness.acted(asker)
        self.services.on_message = lambda asker, _: self.witness.acted(asker)

    def _load(self) -> None:
        self.people_changed()
        exemptions = DynamoExemptions(self._without_gate.as_aws(), "exemptions")
        for human in self.humans:
            if human.exempt is not None and human.login_name is not None:
                row = Exemption(
                    login_name=human.login_name,
                    ends_at=EPOCH + timedelta(seconds=human.exempt[1]),
                    granted_by="ops",
                    justification="thesis",
                    max_sessions=human.exempt[0],
                )
                exemptions.put("session_limits", row)

    def _schedule_sweep(self, delay: float) -> None:
        def sweep() -> None:
            self.bus.publish(SWEEP_EVENT, is_schedule=True)
            self._schedule_sweep(SWEEP_SECONDS)

        self.scheduler.after(delay, sweep)

    def _become_quiet(self) -> None:
        self.story.tell("world", "quiet from here on: no faults, no new sessions")
        self.faults.is_quiet = self.bus.is_quiet = self.service.is_quiet = True
        self.bus.redrive()

    def _invoke(self, number: int, records: list[dict[str, Any]]) -> set[str] | None:
        environment = self.environments.get(number)
        if environment is None:
            self._born += 1
            skew = self.scenario.skew_seconds * (1 if self._born % 2 else -1)
            environment = Environment(self.site, f"L{number}.{self._born}", skew)
            self.environments[number] = environment
        failed = environment.batch(records)
        self._collect(environment)
        if failed is None:
            del self.environments[number]
        return failed

    def _collect(self, environment: Environment) -> None:
        for metric, value in environment.telemetry.counts.items():
            self.telemetry[metric] = self.telemetry.get(metric, 0) + value
            if metric == "GuardrailRefused" and self.faults.is_quiet:
                self.refused_in_quiet += value
        if environment.telemetry.counts["RecordCrashed"]:
            crash = next(w for w in environment.telemetry.warnings if w[0] == "record crashed")
            self.operators.product_crashed(environment.name, crash[1])
        environment.telemetry.counts.clear()
        environment.telemetry.warnings.clear()
        environment.telemetry.outcomes.clear()
