"""A whole session_limits on fakes: AWS on one side, any number of evaluators on the other, one clock.

    world = World()
    world.add_person("ada")
    world.write_policy({"mode": "apply", "cap": {"max_sessions": 1}})
    world.start_session("ada"); world.start_session("ada")

All ports are tapped, so that a test may crash, throttle or interleave at each of their calls (`world.taps.active`).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from proctor.domain.actions import Action, LabelPolicyVersion, NotifyOperators, NotifyPerson, TerminateSession
from proctor.domain.decision import Mode, Outcome
from proctor.domain.errors import DeniedError
from proctor.domain.exemptions import Exemption
from proctor.domain.identity import Person
from proctor.domain.sessions import Node, Session
from proctor.ports import Applier
from proctor.runtime.appliers import OperatorNotice, PersonNotice, PolicyLabel, SessionTerminator
from proctor.runtime.executor import Executor, Stores
from proctor.runtime.handler import Wiring, handle
from proctor.runtime.reaction import Reaction
from proctor.wire.policy import policy_parser
from session_limits import FUNCTION
from session_limits.decide import decide
from session_limits.observe import Observer, Ports
from session_limits.policy import SessionLimitsPolicy
from session_limits.snapshot import Snapshot
from session_limits.trigger import Trigger, parse
from tests.fakes import values
from tests.fakes.events import SWEEP_EVENT, event_of
from tests.fakes.memory import FakeCounters, FakeSessionLedger
from tests.fakes.people import (
    FakeExemptionStore,
    FakeOperatorNotifier,
    FakePeopleDirectory,
    FakePersonNotifier,
)
from tests.fakes.policies import FakePauseSwitch, FakePolicyStore
from tests.fakes.records import (
    FakeClaimStore,
    FakeEventPublisher,
    FakeParkingLot,
    FakeTelemetry,
    FakeVerdictStore,
)
from tests.fakes.sessions import FakeClusterApi, FakeSessionManager
from tests.fakes.taps import Taps

_PARSE_POLICY = policy_parser(SessionLimitsPolicy)


@dataclass
class Clock:
    """The world's time; it may be set back."""

    now: datetime = values.NOW

    def __call__(self) -> datetime:
        return self.now

    def advance(self, *, seconds: float = 0, minutes: float = 0, hours: float = 0) -> datetime:
        """Move on, or back with negative amounts."""
        self.now += timedelta(seconds=seconds, minutes=minutes, hours=hours)
        return self.now


@dataclass
class World:
    """Fakes by name, and what people, operators and AWS may do to them."""

    clusters: Mapping[str, str] = field(default_factory=lambda: {values.CLUSTER: values.CLUSTER_ID})
    bound: Mode = Mode.APPLY
    clock: Clock = field(default_factory=Clock)
    taps: Taps = field(default_factory=Taps)
    sessions: FakeSessionManager = field(default_factory=FakeSessionManager)
    cluster_api: FakeClusterApi = field(default_factory=FakeClusterApi)
    people: FakePeopleDirectory = field(default_factory=FakePeopleDirectory)
    exemptions: FakeExemptionStore = field(default_factory=FakeExemptionStore)
    ledger: FakeSessionLedger = field(default_factory=FakeSessionLedger)
    counters: FakeCounters = field(default_factory=FakeCounters)
    claims: FakeClaimStore = field(default_factory=FakeClaimStore)
    verdicts: FakeVerdictStore = field(default_factory=FakeVerdictStore)
    pause: FakePauseSwitch = field(default_factory=FakePauseSwitch)
    mail: FakePersonNotifier = field(default_factory=FakePersonNotifier)
    operators: FakeOperatorNotifier = field(default_factory=FakeOperatorNotifier)
    events: FakeEventPublisher = field(default_factory=FakeEventPublisher)
    parking: FakeParkingLot = field(default_factory=FakeParkingLot)
    telemetry: FakeTelemetry = field(default_factory=FakeTelemetry)
    caller_arn: str | None = None
    waits: list[float] = field(default_factory=list)
    _started: int = 0
    _tokens: int = 0

    def __post_init__(self) -> None:
        self.policies = FakePolicyStore(FUNCTION, tuple(self.clusters), _PARSE_POLICY)
        for name, cluster_id in self.clusters.items():
            self.cluster_api.ids[name] = cluster_id

    # What people and operators do

    def add_person(self, login_name: str, **fields: Any) -> Person:
        """Load one person into the directory; fields as in `values.person`."""
        someone = values.person(login_name, **fields)
        self.people.put(someone)
        return someone

    def write_policy(
        self,
        policy: Mapping[str, Any] | str,
        cluster: str = values.CLUSTER,
        *,
        in_force: bool = True,
    ) -> int:
        """Write a policy version, as an object or as JSON text; `in_force` also moves the label, without validation."""
        version = self.policies.write(cluster, policy if isinstance(policy, str) else json.dumps(policy))
        if in_force:
            self.policies.put_in_force(f"/proctor/{cluster}/{FUNCTION}", version)
        return version

    def exempt(self, login_name: str, ends_at: datetime, **fields: Any) -> None:
        """Grant an exemption."""
        row = Exemption(
            login_name=login_name, ends_at=ends_at, granted_by="ops", justification="thesis", **fields
        )
        self.exemptions.grant(FUNCTION, row)

    def add_node(self, instance_id: str, cluster: str = values.CLUSTER, group: str | None = "login") -> None:
        """A node that ListClusterNodes shows, for bare targets."""
        self.cluster_api.nodes.setdefault(cluster, []).append(Node(cluster, group, instance_id))

    def open_session(self, login_name: str = "ada", session_id: str | None = None, **fields: Any) -> Session:
        """A session that starts now at AWS; Proctor hears nothing of it. Fields as in `values.session`."""
        self._started += 1
        fields.setdefault("started_at", self.clock.now)
        row = values.session(session_id or f"{login_name}@uni.example-{self._started:04x}", **fields)
        self.sessions.open(row)
        return row

    def start_session(self, login_name: str = "ada", session_id: str | None = None, **fields: Any) -> Session:
        """A session that starts now, and its event evaluated at once."""
        row = self.open_session(login_name, session_id, **fields)
        self.deliver(event_of(row))
        return row

    # What wakes Proctor

    def deliver(self, *events: object, wiring: Wiring[Trigger, Snapshot] | None = None) -> list[str]:
        """One batch of queue records m-1, m-2, …; answers the message ids that stay in the queue."""
        records = [
            {"messageId": f"m-{n}", "body": event if isinstance(event, str) else json.dumps(event)}
            for n, event in enumerate(events, 1)
        ]
        answer = handle({"Records": records}, wiring or self.wiring())
        return [item["itemIdentifier"] for item in answer["batchItemFailures"]]

    def sweep(self) -> list[str]:
        """The schedule's record."""
        return self.deliver(SWEEP_EVENT)

    def manual(self, **fields: Any) -> list[dict[str, Any]]:
        """One manual request; answers outcome summaries, raises what its caller would see. `dry_run` is true by default."""
        event = {
            "source": "proctor.manual",
            "requested_by": "ops@uni.example",
            "justification": "ticket 4711",
            **fields,
        }
        outcomes: list[dict[str, Any]] = handle(event, self.wiring())["outcomes"]
        return outcomes

    def evaluate(self, event: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Any event outside a queue: answers all outcome summaries, raises what the queue would swallow."""
        outcomes: list[dict[str, Any]] = handle(event, self.wiring())["outcomes"]
        return outcomes

    def wiring(self, now: Callable[[], datetime] | None = None) -> Wiring[Trigger, Snapshot]:
        """One more evaluator: a process of its own, on the same world."""
        ports = self._ports()
        stores = self._stores(ports)

        def reaction() -> Reaction[Trigger, Snapshot]:
            executor = Executor(self._appliers(ports), stores)
            return Reaction(Observer(ports), decide, executor, self.waits.append)

        return Wiring(
            function=FUNCTION,
            parse=parse,
            caller=self._caller,
            reaction=reaction,
            parking=self.taps.around(self.parking, "parking"),
            telemetry=self.telemetry,
            bound=self.bound,
            clock=now or self.clock,
            token=self._token,
        )

    # What came of it

    def live(self, login_name: str | None = None) -> set[str]:
        """Ids of sessions that use up a cap right now, of one person by the session id's name."""
        return {
            s.session_id
            for s in self.sessions.counted()
            if login_name is None or s.session_id.startswith(f"{login_name}@")
        }

    def outcome(self, session_id: str) -> Outcome:
        """The latest recorded outcome about a session."""
        return self.verdicts.latest[f"session#{session_id}"]

    def _ports(self) -> Ports:
        tap = self.taps.around
        return Ports(
            sessions=tap(self.sessions, "sessions"),
            clusters=tap(self.cluster_api, "clusters"),
            people=tap(self.people, "people"),
            policies=tap(self.policies, "policies"),
            exemptions=tap(self.exemptions, "exemptions"),
            ledger=tap(self.ledger, "ledger"),
            counters=tap(self.counters, "counters"),
            governed=tuple(self.clusters),
        )

    def _stores(self, ports: Ports) -> Stores:
        tap = self.taps.around
        return Stores(
            claims=tap(self.claims, "claims"),
            verdicts=tap(self.verdicts, "verdicts"),
            memory=ports.ledger,
            counters=ports.counters,
            pause=tap(self.pause, "pause"),
            events=tap(self.events, "events"),
            telemetry=self.telemetry,
        )

    def _appliers(self, ports: Ports) -> Mapping[type[Action], Applier]:
        tap = self.taps.around
        return {
            TerminateSession: SessionTerminator(
                ports.sessions, ports.ledger.release_intent, self.waits.append
            ),
            NotifyPerson: PersonNotice(tap(self.mail, "mail")),
            NotifyOperators: OperatorNotice(tap(self.operators, "operators")),
            LabelPolicyVersion: PolicyLabel(ports.policies),
        }

    def _token(self) -> str:
        self._tokens += 1
        return f"token-{self._tokens}"

    def _caller(self, proof: str, function: str) -> str:
        if self.caller_arn is None:
            message = f"break-glass proof for {function} is not valid"
            raise DeniedError(message)
        return self.caller_arn
