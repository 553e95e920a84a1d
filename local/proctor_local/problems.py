"""What real AWS would have refused or dropped without telling the caller, for tests and scenarios to read."""

import threading
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Problem:
    """One delivery or permission that failed: where, which resource, why."""

    where: str
    resource: str
    reason: str


class Problems:
    """Problems seen so far; the same one is kept once, with a count."""

    def __init__(self) -> None:
        self._counts: dict[Problem, int] = {}
        self._lock = threading.Lock()

    def report(self, where: str, resource: str, reason: str) -> None:
        """Note a problem."""
        with self._lock:
            problem = Problem(where, resource, reason)
            self._counts[problem] = self._counts.get(problem, 0) + 1

    def as_list(self) -> list[dict[str, Any]]:
        """All problems, in the order of their first occurrence."""
        with self._lock:
            return [{**asdict(problem), "count": count} for problem, count in self._counts.items()]

    def clear(self) -> None:
        """Forget all problems."""
        with self._lock:
            self._counts.clear()
