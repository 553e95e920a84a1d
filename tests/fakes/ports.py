"""mypy's proof that each fake is what its port says."""

from proctor import ports
from proctor.ports import agents
from session_limits.policy import SessionLimitsPolicy
from tests.fakes.agents import FakeAgentRegistry, FakeChangeAnnouncer, FakeNodeList, FakeObservedStore
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

SESSION_MANAGER: type[ports.SessionManager] = FakeSessionManager
CLUSTER_API: type[ports.ClusterApi] = FakeClusterApi
PEOPLE_DIRECTORY: type[ports.PeopleDirectory] = FakePeopleDirectory
POLICY_STORE: type[ports.PolicyStore[SessionLimitsPolicy]] = FakePolicyStore[SessionLimitsPolicy]
PAUSE_SWITCH: type[ports.PauseSwitch] = FakePauseSwitch
EXEMPTION_STORE: type[ports.ExemptionStore] = FakeExemptionStore
SESSION_LEDGER: type[ports.SessionLedger] = FakeSessionLedger
COUNTERS: type[ports.Counters] = FakeCounters
CLAIM_STORE: type[ports.ClaimStore] = FakeClaimStore
VERDICT_STORE: type[ports.VerdictStore] = FakeVerdictStore
PERSON_NOTIFIER: type[ports.PersonNotifier] = FakePersonNotifier
OPERATOR_NOTIFIER: type[ports.OperatorNotifier] = FakeOperatorNotifier
EVENT_PUBLISHER: type[ports.EventPublisher] = FakeEventPublisher
PARKING_LOT: type[ports.ParkingLot] = FakeParkingLot
TELEMETRY: type[ports.Telemetry] = FakeTelemetry
AGENT_REGISTRY: type[agents.AgentRegistry] = FakeAgentRegistry
OBSERVED_STORE: type[agents.ObservedStore] = FakeObservedStore
CHANGE_ANNOUNCER: type[agents.ChangeAnnouncer] = FakeChangeAnnouncer
NODE_LIST: type[agents.NodeList] = FakeNodeList
