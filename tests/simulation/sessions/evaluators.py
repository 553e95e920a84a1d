"""Environments of session_limits: Proctor's own code on simulated services, witnessed at every port that matters.

An environment lives on between invocations with its caches, as on Lambda; when its process dies, a fresh one takes its
place. Stores are the DynamoDB adapters on simulated tables, or the fakes of tests/fakes, as the scenario says.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

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
from proctor.domain.decision import Decision, Mode
from proctor.domain.sessions import Session
from proctor.ports import Applier, ClaimStore, Counters, SessionLedger, VerdictStore
from proctor.runtime.appliers import OperatorNotice, PersonNotice, PolicyLabel, SessionTerminator
from proctor.runtime.executor import Executor, Stores
from proctor.runtime.handler import Wiring, handle
from proctor.runtime.reaction import Reaction
from proctor.wire.policy import policy_parser
from session_limits import FUNCTION
from session_limits.observe import Observer, Ports
from session_limits.policy import SessionLimitsPolicy
from session_limits.snapshot import Snapshot
from session_limits.trigger import Trigger, parse
from tests.fakes.memory import FakeCounters, FakeSessionLedger
from tests.fakes.records import FakeClaimStore, FakeTelemetry, FakeVerdictStore
from tests.fakes.taps import PortCall, ProcessDiedError, Taps
from tests.simulation.core.faults import Faults, Gate
from tests.simulation.core.scheduler import Scheduler
from tests.simulation.core.story import Story
from tests.simulation.sessions.clients import Services
from tests.simulation.sessions.evaluation import Evaluation
from tests.simulation.sessions.scenario import CLUSTERS, Scenario
from tests.simulation.sessions.witness import Witness

_PARSE_POLICY = policy_parser(SessionLimitsPolicy)
_GOVERNED = tuple(CLUSTERS)


@dataclass
class FakeStores:
    """The stores of tests/fakes, shared by all environments."""

    ledger: FakeSessionLedger = field(default_factory=FakeSessionLedger)
    claims: FakeClaimStore = field(default_factory=FakeClaimStore)
    verdicts: FakeVerdictStore = field(default_factory=FakeVerdictStore)
    counters: FakeCounters = field(default_factory=FakeCounters)


@dataclass
class Site:
    """What all environments share."""

    scenario: Scenario
    scheduler: Scheduler
    faults: Faults
    story: Story
    services: Services
    witness: Witness
    wall: Callable[[], datetime]
    on_effect: Callable[[Evaluation], None] = lambda evaluation: None
    fakes: FakeStores = field(default_factory=FakeStores)
    tokens: int = 0


class Environment:
    """One copy of the function."""

    def __init__(self, site: Site, name: str, skew_seconds: float) -> None:
        self._site = site
        self.name = name
        self._skew = timedelta(seconds=skew_seconds)
        self._evaluation = Evaluation(name, site.scheduler.now)
        self.listed: tuple[float, float] | None = None
        self._gate = Gate(site.faults, site.scheduler, self._tell)
        self.telemetry = _ToldTelemetry(tell=self._tell)
        clients = site.services.clients(self._call, lambda: self._evaluation)
        self._clients = clients.as_aws()
        self._taps = Taps(active=[self])
        self._ports = self._make_ports()

    def invoke(self, event: Mapping[str, Any]) -> dict[str, Any] | None:
        """One invocation; None when the process died."""
        self.listed = None
        self._gate = Gate(self._site.faults, self._site.scheduler, self._tell)
        try:
            return handle(event, self._wiring())
        except ProcessDiedError:
            return None
        finally:
            self._site.witness.over(self._evaluation)

    def batch(self, records: list[dict[str, Any]]) -> set[str] | None:
        """One batch of queue records: the message ids that stay in the queue, None when the process died."""
        kinds = ", ".join(_kind(json.loads(r["body"])) for r in records)
        self._tell(f"wakes for {kinds}")
        answer = self.invoke({"Records": records})
        if answer is None:
            return None
        failed = {item["itemIdentifier"] for item in answer["batchItemFailures"]}
        if failed:
            self._tell(f"leaves {len(failed)} record(s) in the queue")
        return failed

    def before(self, call: PortCall) -> None:
        """Tap of the fakes."""
        self._gate.before(call)
        self._site.on_effect(self._evaluation)

    def after(self, call: PortCall) -> None:
        """Tap of the fakes."""
        self._gate.after(call)

    def _call[R](self, operation: str, effect: Callable[[], R], /) -> R:
        def watched() -> R:
            self._site.on_effect(self._evaluation)
            return effect()

        return self._gate.call(operation, watched)

    def _tell(self, what: str) -> None:
        self._site.story.tell(self.name, what)

    def _clock(self) -> datetime:
        """Read once per record: from here on it is another evaluation."""
        self._site.witness.over(self._evaluation)
        now = self._site.wall() + self._skew
        self._site.tokens += 1
        token = f"{self.name}#{self._site.tokens}"
        self._evaluation = Evaluation(self.name, self._site.scheduler.now, token, now, self.listed)
        return now

    def _wiring(self) -> Wiring[Trigger, Snapshot]:
        stores = self._stores()

        def reaction() -> Reaction[Trigger, Snapshot]:
            executor = Executor(self._appliers(), stores)
            return Reaction(Observer(self._ports), self._decide, executor, self._back_off)

        return Wiring(
            function=FUNCTION,
            parse=parse,
            caller=lambda proof, _: proof,
            reaction=reaction,
            parking=SqsParkingLot(self._clients, "parking"),
            telemetry=self.telemetry,
            bound=Mode.DRY_RUN if self._site.scenario.is_dry_run else Mode.APPLY,
            clock=self._clock,
            token=lambda: self._evaluation.token,
        )

    def _decide(self, snapshot: Snapshot) -> Decision:
        return self._site.witness.decides(self._evaluation, snapshot)

    def _back_off(self, attempt: int) -> None:
        self._gate.sleep(0.1 * 2**attempt * self._site.faults.chance.random())

    def _make_ports(self) -> Ports:
        clients, monotonic = self._clients, lambda: self._site.scheduler.now
        return Ports(
            sessions=_WitnessedSessions(self._clients, self),
            clusters=SageMakerClusters(clients, _GOVERNED, monotonic),
            people=DynamoPeople(clients, "people"),
            policies=ParameterPolicies(clients, FUNCTION, _GOVERNED, _PARSE_POLICY, monotonic),
            exemptions=DynamoExemptions(clients, "exemptions", monotonic),
            ledger=self._ledger(),
            counters=self._counters(),
            governed=_GOVERNED,
        )

    def _ledger(self) -> SessionLedger:
        if self._site.scenario.stores == "fakes":
            return self._taps.around(self._site.fakes.ledger, "ledger")
        return DynamoSessionLedger(self._clients, "memory", f"{FUNCTION}#ledger", self._site.wall)

    def _counters(self) -> Counters:
        if self._site.scenario.stores == "fakes":
            return self._taps.around(self._site.fakes.counters, "counters")
        return DynamoCounters(self._clients, "memory")

    def _stores(self) -> Stores:
        fakes, is_fake = self._site.fakes, self._site.scenario.stores == "fakes"
        claims: ClaimStore = self._taps.around(fakes.claims, "claims")
        verdicts: VerdictStore = self._taps.around(fakes.verdicts, "verdicts")
        return Stores(
            claims=self._site.witness.claims(
                claims if is_fake else DynamoClaims(self._clients, "claims"), lambda: self._evaluation
            ),
            verdicts=verdicts if is_fake else DynamoVerdicts(self._clients, "verdicts"),
            memory=self._ports.ledger,
            counters=self._ports.counters,
            pause=ParameterPause(self._clients, _GOVERNED),
            events=EventBridgePublisher(self._clients, "default"),
            telemetry=self.telemetry,
        )

    def _appliers(self) -> Mapping[type[Action], Applier]:
        """The same dict as in session_limits/app.py, each entry watched."""
        release = self._ports.ledger.release_intent
        appliers: dict[type[Action], Applier] = {
            TerminateSession: SessionTerminator(self._ports.sessions, release, self._gate.sleep),
            NotifyPerson: PersonNotice(SesPersonNotifier(self._clients, "proctor@uni.example")),
            NotifyOperators: OperatorNotice(SnsOperatorNotifier(self._clients, "operators")),
            LabelPolicyVersion: PolicyLabel(self._ports.policies),
        }
        return {kind: _Watched(applier, self) for kind, applier in appliers.items()}

    @property
    def evaluation(self) -> Evaluation:
        """What this environment is busy with."""
        return self._evaluation

    @property
    def now(self) -> float:
        """True time."""
        return self._site.scheduler.now


@dataclass
class _ToldTelemetry(FakeTelemetry):
    """Warnings belong into the story."""

    tell: Callable[[str], None] = lambda what: None

    def warn(self, message: str, **fields: Any) -> None:
        super().warn(message, **fields)
        self.tell(f"warns: {message} {fields}")


class _WitnessedSessions(SsmSessionManager):
    """Notes when the truth was read."""

    def __init__(self, clients: Any, environment: Environment) -> None:
        super().__init__(clients)
        self._environment = environment

    def active_sessions(self) -> Sequence[Session]:
        start = self._environment.now
        found = super().active_sessions()
        self._environment.evaluation.listed = (start, self._environment.now)
        self._environment.listed = self._environment.evaluation.listed
        return found

    def find_active(self, session_ids: Iterable[str]) -> Mapping[str, Session]:
        self._environment.evaluation.reread_at = self._environment.now
        return super().find_active(session_ids)


class _Watched:
    """An applier whose present action is known to the simulated services."""

    def __init__(self, applier: Applier, environment: Environment) -> None:
        self._applier = applier
        self._environment = environment

    def recheck(self, actions: Sequence[Action]) -> Mapping[str, str]:
        return self._applier.recheck(actions)

    def apply(self, action: Action) -> None:
        self._environment.evaluation.acting = action
        self._applier.apply(action)

    def verify(self, actions: Sequence[Action]) -> Mapping[str, bool]:
        return self._applier.verify(actions)

    def settled(self, action: Action, *, has_taken_effect: bool, token: str) -> None:
        self._applier.settled(action, has_taken_effect=has_taken_effect, token=token)


def _kind(event: Mapping[str, Any]) -> str:
    detail = event.get("detail", {})
    session = (detail.get("responseElements") or {}).get("sessionId", "")
    return f"{detail.get('eventName', event.get('detail-type', '?'))} {session}".strip()
