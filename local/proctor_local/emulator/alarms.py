"""CloudWatch alarms that fire by themselves: queue depths as metrics, and topics that let CloudWatch publish.

MiniStack evaluates an alarm when somebody puts or reads metrics, records no queue metrics, and publishes to any topic.
How a state is worked out is in ``alarm_states``.
Depths are recorded only while an alarm exists, once a second; real ones come once a minute.
"""

# ruff: noqa: SLF001  (reaching private names is what this package is for)

from typing import Any

from proctor_local.emulator.alarm_states import replace_evaluation
from proctor_local.emulator.delivery import topic_refusal
from proctor_local.emulator.hooks import Hooks
from proctor_local.problems import Problems
from proctor_local.timers import Timers

TICK_SECONDS = 1.0
_SERVICE = "cloudwatch.amazonaws.com"


class Alarms:
    """Evaluates alarms every second and checks each notification against the topic's policy and key."""

    def __init__(self, hooks: Hooks, problems: Problems, timers: Timers) -> None:
        self._stack, self._problems, self._timers = hooks.ministack, problems, timers
        replace_evaluation(self._stack)
        self._wrap_actions()

    def start(self) -> None:
        """Begin to tick; again after every reset, which forgets all timers."""
        self._timers.after(TICK_SECONDS, self._tick)

    def _tick(self) -> None:
        try:
            with self._stack.scope():
                if any(True for _ in self._stack.cloudwatch._alarms.values()):
                    self._record_depths()
                    self._stack.cloudwatch._evaluate_all_alarms()
        finally:
            self.start()

    def _record_depths(self) -> None:
        sqs, record = self._stack.sqs, self._stack.cloudwatch.record_metric
        with sqs._queues_lock:
            queues = list(sqs._queues.values())
            for queue in queues:
                sqs._refresh_counts(queue)
            depths = [
                (queue["name"], int(queue["attributes"]["ApproximateNumberOfMessages"])) for queue in queues
            ]
        for name, depth in depths:
            record("AWS/SQS", "ApproximateNumberOfMessagesVisible", depth, "Count", {"QueueName": name})

    def _wrap_actions(self) -> None:
        original = self._stack.cloudwatch._dispatch_alarm_actions

        def dispatch(alarm: Any, old_state: str, new_state: str, reason: str) -> None:
            lists = ("AlarmActions", "OKActions", "InsufficientDataActions")
            allowed = {
                name: [arn for arn in alarm.get(name) or [] if self._may_publish(alarm, arn)]
                for name in lists
            }
            original({**alarm, **allowed}, old_state, new_state, reason)

        self._stack.cloudwatch._dispatch_alarm_actions = dispatch

    def _may_publish(self, alarm: Any, topic_arn: str) -> bool:
        topic = self._stack.sns._topics.get(topic_arn)
        if topic is None:
            return True
        refusal = topic_refusal(self._stack, topic, topic_arn, _SERVICE, str(alarm.get("AlarmArn", "")))
        if refusal:
            self._problems.report("alarm notification", topic_arn, refusal)
        return not refusal
