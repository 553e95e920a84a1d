"""What a command works with: the console, the clock, and the stack with its stores. Nothing is read before it is asked for."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from budget_holds.definition import BudgetDefinition
from budget_holds.observe import Ports
from budget_holds.policy import BudgetHoldsPolicy
from proctor.adapters.agents_table import DynamoAgents
from proctor.adapters.budget_exemptions_table import DynamoBudgetExemptions
from proctor.adapters.budget_memory_table import DynamoBudgetMemory
from proctor.adapters.budget_parameters import ParameterBudgets
from proctor.adapters.budgets_api import AwsBudgets
from proctor.adapters.intents_table import DynamoIntents
from proctor.adapters.memory_table import DynamoSessionLedger
from proctor.adapters.observed_table import DynamoSlurmState
from proctor.adapters.parameters import ParameterPause, ParameterPolicies
from proctor.domain.identity import Person, SessionOwner
from proctor.wire.policy import policy_parser
from proctor_cli.caller import caller_arn
from proctor_cli.clients import CliClients
from proctor_cli.console import Console
from proctor_cli.governed import BUDGET_HOLDS, LEDGER_SCOPE, SESSION_LIMITS, Governed
from proctor_cli.heartbeats import HeartbeatReader
from proctor_cli.stack import Stack, read_stack
from proctor_cli.tables import ClaimReader, ExemptionRows, PeopleRows, VerdictReader
from session_limits.policy import SessionLimitsPolicy

_HOLDS_POLICY, _BUDGET = policy_parser(BudgetHoldsPolicy), policy_parser(BudgetDefinition)


class NobodyTold:
    """A people directory without rows: whoever only looks tells nobody, and need not read who they are."""

    def by_owner(self, owners: Iterable[SessionOwner]) -> Mapping[str, Person]:
        """Nobody."""
        del owners
        return {}

    def by_login_name(self, login_name: str) -> Person | None:
        """Nobody."""
        del login_name
        return None


@dataclass
class World:
    """One run of the command. `find_stack` reads the stack of `stack_name`."""

    make_clients: Callable[[], CliClients]
    console: Console = field(default_factory=Console)
    stack_name: str = "proctor"
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    find_stack: Callable[[CliClients, str], Stack] = read_stack

    @cached_property
    def clients(self) -> CliClients:
        """The AWS clients, under the caller's own credentials."""
        return self.make_clients()

    @cached_property
    def stack(self) -> Stack:
        """The deployed stack."""
        return self.find_stack(self.clients, self.stack_name)

    @cached_property
    def caller(self) -> str:
        """The caller's ARN."""
        return caller_arn(self.clients)

    @property
    def people(self) -> PeopleRows:
        """The people directory."""
        return PeopleRows(self.clients, self.stack.output("PeopleTableName"))

    @property
    def verdicts(self) -> VerdictReader:
        """Verdicts."""
        return VerdictReader(self.clients, self.stack.output("VerdictsTableName"))

    @property
    def claims(self) -> ClaimReader:
        """Claims."""
        return ClaimReader(self.clients, self.stack.output("ClaimsTableName"))

    @property
    def exemptions(self) -> ExemptionRows:
        """Exemptions."""
        return ExemptionRows(self.clients, self.stack.output("ExemptionsTableName"))

    @property
    def ledger(self) -> DynamoSessionLedger:
        """The ledger of session_limits."""
        return DynamoSessionLedger(self.clients, self.stack.output("MemoryTableName"), LEDGER_SCOPE)

    @property
    def policies(self) -> ParameterPolicies[SessionLimitsPolicy]:
        """Policies of session_limits."""
        return ParameterPolicies(
            self.clients, SESSION_LIMITS, self.stack.clusters, policy_parser(SessionLimitsPolicy)
        )

    def policies_of(self, function: Governed) -> ParameterPolicies[Any]:
        """Policies of any function."""
        return ParameterPolicies(
            self.clients, function.name, self.stack.clusters, policy_parser(function.policy)
        )

    @property
    def agents(self) -> DynamoAgents:
        """The agents that enrolled."""
        return DynamoAgents(self.clients, self.stack.output("AgentsTableName"))

    @property
    def heartbeats(self) -> HeartbeatReader:
        """The agents' latest heartbeats."""
        return HeartbeatReader(self.clients, self.stack.output("ObservedTableName"))

    def budget_ports(self, clusters: tuple[str, ...]) -> Ports:
        """What budget_holds reads, for some clusters; directory rows excepted, since nobody is told anything."""
        memory_table = self.stack.output("MemoryTableName")
        return Ports(
            ledger=AwsBudgets(self.stack.account_id, self.clients.budgets),
            slurm=DynamoSlurmState(self.clients, self.stack.output("ObservedTableName")),
            intents=DynamoIntents(self.clients, self.stack.output("IntentsTableName")),
            memory=DynamoBudgetMemory(self.clients, memory_table),
            policies=ParameterPolicies(self.clients, BUDGET_HOLDS, clusters, _HOLDS_POLICY),
            definitions=ParameterBudgets(self.clients, BUDGET_HOLDS, clusters, _BUDGET),
            exemptions=DynamoBudgetExemptions(self.clients, self.stack.output("ExemptionsTableName")),
            people=NobodyTold(),
            governed=clusters,
            account_id=self.stack.account_id,
        )

    @property
    def pause(self) -> ParameterPause:
        """The pause switches."""
        return ParameterPause(self.clients, self.stack.clusters)
