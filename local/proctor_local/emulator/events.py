"""EventBridge delivery as AWS does it: to queues that let it in, else to the target's dead-letter queue.

Also: the text of a transformed input whose path is missing, and firing a scheduled rule at once.
"""

# ruff: noqa: FBT001, SLF001  (signatures of others; reaching private names is what this package is for)

import json
import time
import uuid
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from proctor_local.emulator.calls import ApiCall
from proctor_local.emulator.delivery import queue_refusal
from proctor_local.emulator.hooks import Hooks
from proctor_local.problems import Problems
from proctor_local.settings import Settings

_SERVICE = "events.amazonaws.com"


class EventDelivery:
    """Replaces the delivery to SQS targets; every other target stays MiniStack's."""

    def __init__(self, hooks: Hooks, settings: Settings, problems: Problems) -> None:
        self._stack, self._settings, self._problems = hooks.ministack, settings, problems
        self._current: ContextVar[tuple[Any, Any, Any] | None] = ContextVar("proctor_target", default=None)
        self._wrap_target()
        self._wrap_queue()
        self._wrap_transformer()

    def fire(self, name: str) -> None:
        """Fire a scheduled rule of the default bus now, by its name or a part that no other has.

        Raises LookupError.
        """
        bridge = self._stack.eventbridge
        with self._stack.scope():
            rules = {str(rule.get("Name")): (key, rule) for key, rule in bridge._rules.items()}
            found = [name] if name in rules else [known for known in rules if name in known]
            if len(found) != 1:
                raise LookupError(f"rule = {name}: must name one rule; it fits {found} of {sorted(rules)}")
            self._fire(bridge, *rules[found[0]])

    def _fire(self, bridge: Any, key: str, rule: Any) -> None:
        event = {
            "EventId": str(uuid.uuid4()),
            "Source": "aws.events",
            "DetailType": "Scheduled Event",
            "Detail": "{}",
            "EventBusName": "default",
            "Time": int(time.time()),
            "Resources": [rule.get("Arn")],
            "Account": self._stack.account,
            "Region": self._stack.region,
        }
        for target in bridge._targets.get(key, []):
            bridge._invoke_target(target, event, rule)

    def _wrap_target(self) -> None:
        original = self._stack.eventbridge._invoke_target

        def invoke(target: Any, event: Any, rule: Any, view: Any = None) -> None:
            token = self._current.set((target, event, rule))
            try:
                original(target, event, rule, view)
            finally:
                self._current.reset(token)

        self._stack.eventbridge._invoke_target = invoke

    def _wrap_queue(self) -> None:
        original = self._stack.eventbridge._dispatch_to_sqs

        def dispatch(spec: Any, payload: str, parameters: Any = None) -> None:
            queue = self._stack.sqs._queue_by_arn(str(spec))
            target, event, rule = self._current.get() or ({}, {}, {})
            rule_arn = str(rule.get("Arn", ""))
            refusal = (
                "the queue doesn't exist"
                if queue is None
                else queue_refusal(self._stack, queue, _SERVICE, rule_arn)
            )
            if not refusal:
                with self._stack.sqs._queues_lock:
                    original(spec, payload, parameters)
                return
            self._problems.report("EventBridge delivery", str(spec), refusal)
            self._to_dead_letters(target, event, rule_arn, str(spec), refusal, original)

        self._stack.eventbridge._dispatch_to_sqs = dispatch

    def _to_dead_letters(
        self, target: Any, event: Any, rule_arn: str, target_arn: str, reason: str, original: Any
    ) -> None:
        arn = (target.get("DeadLetterConfig") or {}).get("Arn")
        queue = self._stack.sqs._queue_by_arn(arn) if arn else None
        if queue is None:
            return
        refusal = queue_refusal(self._stack, queue, _SERVICE, rule_arn)
        if refusal:
            self._problems.report("EventBridge dead-letter queue", str(arn), refusal)
            return
        view = self._stack.eventbridge._pattern_event_view(event)
        attributes = {
            "RULE_ARN": rule_arn,
            "TARGET_ARN": target_arn,
            "ERROR_CODE": "NO_PERMISSIONS",
            "ERROR_MESSAGE": reason,
        }
        with self._stack.sqs._queues_lock:
            before = len(queue["messages"])
            original(_Arn(str(arn)), json.dumps(view.event_with_detail()), None)
            for message in queue["messages"][before:]:
                message["message_attributes"] = {
                    name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()
                }

    def _wrap_transformer(self) -> None:
        bridge = self._stack.eventbridge
        original = bridge._render_placeholder

        def render(name: str, token: str, replacements: dict[str, Any], in_string: bool) -> str:
            if self._settings.missing_variable == "absent" and replacements.get(name) == "":
                return ""
            return str(original(name, token, replacements, in_string))

        bridge._render_placeholder = render


def put_events_context(call: ApiCall) -> Mapping[str, Any]:
    """``events:source`` of PutEvents, which MiniStack leaves out."""
    sources = sorted({str(entry.get("Source", "")) for entry in call.input.get("Entries") or ()})
    return {"events:source": sources[0] if len(sources) == 1 else sources} if sources else {}


class _Arn(str):
    __slots__ = ()

    """A queue ARN with the one attribute that MiniStack's delivery reads of a parsed one."""

    @property
    def resource(self) -> str:
        return self.rsplit(":", 1)[-1]
