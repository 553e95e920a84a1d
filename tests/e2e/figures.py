"""Figures that the run prints at its end."""

import time
from collections.abc import Sequence

FIGURES: dict[str, float] = {}


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def contention(seconds: float = 0.3) -> float:
    """How many times longer work takes here than on an idle machine: wall time by processor time of a busy loop."""
    began, used = time.perf_counter(), time.process_time()
    while time.process_time() - used < seconds:
        pass
    return max(1.0, (time.perf_counter() - began) / seconds)
