"""The functions that the command knows: their policies, their triggers, and where their memory is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

import agent_reports
import budget_holds
import session_limits
from agent_reports.policy import AgentReportsPolicy
from agent_reports.trigger import parse as parse_agent_reports
from budget_holds.policy import BudgetHoldsPolicy
from budget_holds.policy import Rule as BudgetRule
from budget_holds.trigger import parse as parse_budget_holds
from proctor.domain.guardrails import SHARE
from proctor.wire.budgets_manual import BudgetManualRequest
from proctor.wire.manual import ManualRequest
from proctor_cli.exits import UsageError
from session_limits.policy import Rule, SessionLimitsPolicy
from session_limits.trigger import parse as parse_session_limits

SESSION_LIMITS = session_limits.FUNCTION
"""The function that governs sessions."""

BUDGET_HOLDS = budget_holds.FUNCTION
"""The function that holds Slurm work."""

AGENT_REPORTS = agent_reports.FUNCTION
"""The function that takes in what the agents see."""


@dataclass(frozen=True, slots=True)
class Governed:
    """One function. `parse` refuses a request that the function would refuse; `limits` are what break-glass may lift.

    `rules` are those that can be switched; it is empty for a function without modes: it observes, whatever the mode.
    """

    name: str
    policy: type[Any]
    parse: Callable[[Mapping[str, Any]], object]
    rules: tuple[str, ...]
    limits: tuple[str, ...]
    request: type[BaseModel] = ManualRequest

    @property
    def longest_requester(self) -> int:
        """How many characters `requested_by` may have."""
        metadata = self.request.model_fields["requested_by"].metadata
        return next((m.max_length for m in metadata if hasattr(m, "max_length")), 128)


FUNCTIONS: Mapping[str, Governed] = {
    SESSION_LIMITS: Governed(
        name=SESSION_LIMITS,
        policy=SessionLimitsPolicy,
        parse=parse_session_limits,
        rules=tuple(sorted(rule.value for rule in Rule if rule is not Rule.POLICY)),
        limits=(*sorted(SessionLimitsPolicy().rails().budgets), SHARE),
    ),
    BUDGET_HOLDS: Governed(
        name=BUDGET_HOLDS,
        policy=BudgetHoldsPolicy,
        parse=parse_budget_holds,
        rules=tuple(sorted(rule.value for rule in (BudgetRule.ALARM, BudgetRule.HOLD, BudgetRule.NOTICE))),
        limits=tuple(sorted(BudgetHoldsPolicy().rails().budgets)),
        request=BudgetManualRequest,
    ),
    AGENT_REPORTS: Governed(
        name=AGENT_REPORTS,
        policy=AgentReportsPolicy,
        parse=parse_agent_reports,
        rules=(),
        limits=tuple(sorted(AgentReportsPolicy().rails().budgets)),
    ),
}

LEDGER_SCOPE = f"{SESSION_LIMITS}#ledger"
"""Where session_limits keeps its ledger in the memory table."""

FIRST_SWEEP = f"{SESSION_LIMITS}#first_sweep"
"""The mark that session_limits leaves at its first sweep."""


def governed(name: str) -> Governed:
    """A function by name, `session-limits` too. Raises UsageError."""
    found = FUNCTIONS.get(name.replace("-", "_"))
    if found is None:
        raise UsageError("function", name, f"name one of {', '.join(sorted(FUNCTIONS))}")
    return found
