"""Which calls IAM refused, for scenarios that take a permission away and look for what breaks.

MiniStack answers a refusal and forgets it. Made before ``Authorisation``, so that it sees the question that was
answered no, such as ``kms:Decrypt`` on the key.
"""

import threading
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from proctor_local.emulator.hooks import Hooks


@dataclass(frozen=True, slots=True)
class Denial:
    """One refused question: who asked, for which action, on what."""

    principal: str
    action: str
    resource: str


class Denials:
    """Refusals since the last clearing; the same one is kept once, with a count."""

    def __init__(self, hooks: Hooks) -> None:
        self._counts: Counter[Denial] = Counter()
        self._lock = threading.Lock()
        hooks.on_reset(self.clear)
        self._wrap(hooks.ministack)

    def report(self, principal: str, action: str, resource: str) -> None:
        """Note a refusal."""
        with self._lock:
            self._counts[Denial(principal, action, resource)] += 1

    def as_list(self) -> list[dict[str, Any]]:
        """All refusals, in the order of their first occurrence."""
        with self._lock:
            return [{**asdict(denial), "count": count} for denial, count in self._counts.items()]

    def clear(self) -> None:
        """Forget all refusals."""
        with self._lock:
            self._counts.clear()

    def _wrap(self, stack: Any) -> None:
        original = stack.iam_actions.access_denied_response

        def respond(service: str, action: str, principal_arn: str, request_id: str, **named: Any) -> Any:
            self.report(principal_arn, action, str(named.get("resource_arn") or "*"))
            return original(service, action, principal_arn, request_id, **named)

        stack.iam_actions.access_denied_response = respond
