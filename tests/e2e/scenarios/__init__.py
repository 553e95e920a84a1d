"""All scenarios: importing the modules fills the catalogue."""

from tests.e2e.catalogue import SCENARIOS
from tests.e2e.scenarios import boundaries, broken_paths, counting, operating, telling

__all__ = ["SCENARIOS", "boundaries", "broken_paths", "counting", "operating", "telling"]
