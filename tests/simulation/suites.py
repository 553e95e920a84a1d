"""Every function that is simulated. A new one adds its suite here (docs/simulation.md)."""

from tests.simulation.budgets.suite import SUITE as BUDGET_HOLDS
from tests.simulation.core.suite import Suite
from tests.simulation.sessions.suite import SUITE as SESSION_LIMITS

SUITES: tuple[Suite, ...] = (SESSION_LIMITS, BUDGET_HOLDS)
