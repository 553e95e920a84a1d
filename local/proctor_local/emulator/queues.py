"""SQS: one lock over every queue, and the sender's identity on a message.

MiniStack's handlers run on the event loop while its event source mappings delete on their own threads; both
rewrite the same list, so a message sent in between could be lost. ``SenderId`` is the caller's unique id
(``AROA...:session-name``), which Proctor relies on to tell roles apart; MiniStack writes the account there.
"""

# ruff: noqa: SLF001  (reaching private names is what this package is for)

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from proctor_local.emulator.hooks import Hooks

_INNER = ("_collect_msgs", "_dlq_sweep", "_expire_retained")


class Queues:
    """Replaces MiniStack's lock by a re-entrant one and takes it wherever a queue's messages are touched."""

    def __init__(self, hooks: Hooks) -> None:
        self._stack = hooks.ministack
        self._lock = threading.RLock()
        sqs = self._stack.sqs
        sqs._queues_lock = self._lock
        for name in _INNER:
            setattr(sqs, name, self._locked(getattr(sqs, name)))
        for name, function in list(sqs._HANDLERS.items()):
            if not asyncio.iscoroutinefunction(function):
                sqs._HANDLERS[name] = self._locked(function)
        self._stack.sns._deliver_to_sqs = self._locked(self._stack.sns._deliver_to_sqs)
        self._wrap_sender()

    def _locked(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **keywords: Any) -> Any:
            with self._lock:
                return function(*arguments, **keywords)

        return run

    def _wrap_sender(self) -> None:
        original = self._stack.sqs._build_send_sys_attrs

        def build(now: float, given: Any) -> Any:
            system = original(now, given)
            system["SenderId"] = self._sender()
            return system

        self._stack.sqs._build_send_sys_attrs = build

    def _sender(self) -> str:
        """The unique id of the caller whose signature this request passed; the account for its root user."""
        evaluator = self._stack.iam_evaluator
        key, account = evaluator._verified_key.get(), self._stack.current_account()
        if not key:
            return account
        found = evaluator.resolve_credential(key, account)
        return str(getattr(found, "principal_id", "") or account)
