"""agent_reports on fakes: agents enrol and report, operators ask, clocks go on."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from agent_reports import FUNCTION
from agent_reports.app import taken
from agent_reports.decide import decide
from agent_reports.observe import Observer, Ports
from agent_reports.policy import AgentReportsPolicy
from agent_reports.snapshot import Snapshot
from agent_reports.trigger import Trigger, parse
from proctor.domain.actions import Action, LabelPolicyVersion
from proctor.domain.agent_protocol import Heartbeat, Report, Role
from proctor.domain.agent_writes import AlarmOperators, ApproveAgentKey
from proctor.domain.agents import AgentRecord
from proctor.domain.decision import Mode
from proctor.runtime.agent_appliers import KeyApproval
from proctor.runtime.agent_writes import AgentMemory
from proctor.runtime.appliers import OperatorNotice, PolicyLabel
from proctor.runtime.executor import Executor, Stores
from proctor.runtime.handler import Wiring, handle
from proctor.runtime.reaction import Reaction
from proctor.wire.policy import policy_parser
from tests.fakes.agents import (
    QUEUES,
    FakeAgentRegistry,
    FakeChangeAnnouncer,
    FakeNodeList,
    FakeObservedStore,
    NodeAgent,
    record_of,
)
from tests.fakes.memory import FakeCounters
from tests.fakes.people import FakeOperatorNotifier
from tests.fakes.policies import FakePauseSwitch, FakePolicyStore
from tests.fakes.records import (
    FakeClaimStore,
    FakeEventPublisher,
    FakeParkingLot,
    FakeTelemetry,
    FakeVerdictStore,
)
from tests.fakes.taps import Taps
from tests.fakes.values import CLUSTER, NOW

if TYPE_CHECKING:
    from proctor.ports import Applier

SWEEP: Mapping[str, Any] = {"source": "proctor.schedule", "detail-type": "Sweep"}


def heartbeat(at: datetime = NOW, **fields: Any) -> Report:
    """A heartbeat as the agent makes it."""
    beat = Heartbeat(
        agent_version="0.1.0",
        python_version="3.10.12",
        slurm_version="24.11.5",
        verbs=("SetPartitionState",),
        is_acting=True,
        is_dry_run=False,
        started_at=NOW,
        intents_read_at=at,
        slurm_read_at=at,
        spooled_reports=0,
        dropped_reports=0,
    )
    return Report(sent_at=at, heartbeat=beat, **fields)


@dataclass
class AgentWorld:
    """Fakes by name. `bound` is the stack's: observation is the same in dry-run."""

    clusters: tuple[str, ...] = (CLUSTER,)
    bound: Mode = Mode.DRY_RUN
    now: datetime = NOW
    taps: Taps = field(default_factory=Taps)
    agents: FakeAgentRegistry = field(default_factory=FakeAgentRegistry)
    nodes: FakeNodeList = field(default_factory=FakeNodeList)
    changes: FakeChangeAnnouncer = field(default_factory=FakeChangeAnnouncer)
    claims: FakeClaimStore = field(default_factory=FakeClaimStore)
    verdicts: FakeVerdictStore = field(default_factory=FakeVerdictStore)
    counters: FakeCounters = field(default_factory=FakeCounters)
    pause: FakePauseSwitch = field(default_factory=FakePauseSwitch)
    events: FakeEventPublisher = field(default_factory=FakeEventPublisher)
    parking: FakeParkingLot = field(default_factory=FakeParkingLot)
    operators: FakeOperatorNotifier = field(default_factory=FakeOperatorNotifier)
    telemetry: FakeTelemetry = field(default_factory=FakeTelemetry)
    waits: list[float] = field(default_factory=list)
    _tokens: int = 0

    def __post_init__(self) -> None:
        self.observed = FakeObservedStore(self.agents)
        self.policies = FakePolicyStore(FUNCTION, self.clusters, policy_parser(AgentReportsPolicy))

    def advance(self, **span: float) -> datetime:
        """Let time pass."""
        self.now += timedelta(**span)
        return self.now

    def write_policy(self, policy: Mapping[str, Any], cluster: str = CLUSTER) -> None:
        """A version in force."""
        version = self.policies.write(cluster, json.dumps(policy))
        self.policies.put_in_force(f"/proctor/{cluster}/{FUNCTION}", version)

    def node(self, **fields: Any) -> NodeAgent:
        """A node that is listed since now, and its agent, which has not spoken yet."""
        agent = NodeAgent(**fields)
        self.nodes.launch(agent.instance_id, agent.node, self.now, agent.cluster)
        return agent

    def enrolled(self, **fields: Any) -> NodeAgent:
        """A node whose agent has enrolled."""
        agent = self.node(**fields)
        assert self.deliver(agent.enrolment(self.now), role=agent.role) == []
        assert self.agents.get(agent.cluster, agent.instance_id) is not None
        return agent

    def controller(self, **fields: Any) -> NodeAgent:
        """An enrolled controller's agent."""
        given = {
            "instance_id": "i-0c0c0c0c0c0c0c0c0",
            "node": "ip-10-1-0-1",
            "role": Role.CONTROLLER,
            **fields,
        }
        return self.enrolled(**given)

    def deliver(
        self, *messages: str, role: Role, wiring: Wiring[Trigger, Snapshot] | None = None
    ) -> list[str]:
        """One batch m-1, m-2, … of a role's queue; answers the ids that stay in it."""
        records = [record_of(m, role, self.now, f"m-{n}") for n, m in enumerate(messages, 1)]
        return self.batch(records, wiring)

    def batch(self, records: list[Any], wiring: Wiring[Trigger, Snapshot] | None = None) -> list[str]:
        """Any records; answers the ids that stay in the queue."""
        roles = {arn: role for role, arn in QUEUES.items()}
        answer = handle(taken({"Records": records}, roles), wiring or self.wiring())
        return [item["itemIdentifier"] for item in answer["batchItemFailures"]]

    def sweep(self) -> list[str]:
        """The schedule's record, from the function's own queue."""
        arn = "arn:aws:sqs:us-east-1:123456789012:proctor-AgentReportsQueue"
        return self.batch([{"messageId": "m-1", "body": json.dumps(SWEEP), "eventSourceARN": arn}])

    def manual(self, **fields: Any) -> list[dict[str, Any]]:
        """One manual request; answers outcome summaries."""
        event = {
            "source": "proctor.manual",
            "requested_by": "ops@uni.example",
            "justification": "ticket 4711",
        }
        outcomes: list[dict[str, Any]] = handle({**event, **fields}, self.wiring())["outcomes"]
        return outcomes

    def record(self, agent: NodeAgent) -> AgentRecord:
        """What is stored of an agent."""
        found = self.agents.get(agent.cluster, agent.instance_id)
        assert found is not None
        return found

    def reasons(self) -> list[str]:
        """Reasons of all recorded verdicts, latest of each subject."""
        return sorted(outcome.verdict.reason for outcome in self.verdicts.latest.values())

    def wiring(self) -> Wiring[Trigger, Snapshot]:
        """One more evaluator on the same world."""
        tap = self.taps.around
        ports = Ports(
            agents=tap(self.agents, "agents"),
            nodes=tap(self.nodes, "nodes"),
            policies=tap(self.policies, "policies"),
            governed=self.clusters,
        )
        observed, changes = tap(self.observed, "observed"), tap(self.changes, "changes")
        stores = Stores(
            claims=tap(self.claims, "claims"),
            verdicts=tap(self.verdicts, "verdicts"),
            memory=AgentMemory(ports.agents, observed, changes, self.telemetry, lambda: self.now),
            counters=tap(self.counters, "counters"),
            pause=tap(self.pause, "pause"),
            events=tap(self.events, "events"),
            telemetry=self.telemetry,
        )
        appliers: Mapping[type[Action], Applier] = {
            ApproveAgentKey: KeyApproval(ports.agents),
            AlarmOperators: OperatorNotice(tap(self.operators, "operators")),
            LabelPolicyVersion: PolicyLabel(ports.policies),
        }
        return Wiring(
            function=FUNCTION,
            parse=parse,
            caller=lambda proof, _: f"arn-of:{proof}",
            reaction=lambda: Reaction(Observer(ports), decide, Executor(appliers, stores), self.waits.append),
            parking=tap(self.parking, "parking"),
            telemetry=self.telemetry,
            bound=self.bound,
            clock=lambda: self.now,
            token=self._token,
        )

    def _token(self) -> str:
        self._tokens += 1
        return f"token-{self._tokens}"
