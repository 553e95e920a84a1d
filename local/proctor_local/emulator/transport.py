"""``aws:SecureTransport``: the plain loopback endpoint stands for AWS's TLS endpoints.

Policies of queues and topics deny plain HTTP to everybody; taken at its word, the local endpoint could do nothing.
That the policies do deny it is for a policy evaluator to show (``tests/template``).
"""

# ruff: noqa: SLF001  (reaching private names is what this package is for)

from typing import Any

from proctor_local.emulator.hooks import Hooks

_KEY = "aws:securetransport"


def assume_secure_transport(hooks: Hooks) -> None:
    """Let every request count as sent over TLS, service deliveries included."""
    evaluator = hooks.ministack.iam_evaluator
    original = evaluator._resolve_condition_key

    def resolve(key: str, context: Any) -> Any:
        return "true" if key.lower() == _KEY else original(key, context)

    evaluator._resolve_condition_key = resolve
