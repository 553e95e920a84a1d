"""All scenarios: importing the modules fills the catalogue."""

from tests.e2e.catalogue import SCENARIOS
from tests.e2e.scenarios import agents, boundaries, broken_paths, budgets, counting, operating, telling

__all__ = [
    "SCENARIOS",
    "agents",
    "boundaries",
    "broken_paths",
    "budgets",
    "counting",
    "operating",
    "telling",
]
