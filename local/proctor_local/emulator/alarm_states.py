"""What state an alarm is in: its own dimensions, its periods, and what it makes of missing data.

MiniStack looks at every series of a metric's name, so that a full queue raises the alarm of an empty one, and takes all
periods as one. Source: CloudWatch user guide, "Evaluating an alarm" and "Configuring how alarms treat missing data".
"""

# ruff: noqa: SLF001  (reaching private names is what this package is for)

import operator
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proctor_local.emulator.ministack import MiniStack

_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThanOrEqualToThreshold": operator.ge,
    "GreaterThanThreshold": operator.gt,
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
}


def replace_evaluation(stack: MiniStack) -> None:
    """Put this evaluation in the place of MiniStack's."""

    def evaluate(alarm: Any) -> None:
        settle(stack, alarm, time.time())

    stack.cloudwatch._evaluate_alarm = evaluate


def settle(stack: MiniStack, alarm: Any, now: float) -> None:
    """Bring one alarm into the state that its metric asks for, and notify when that is a change."""
    values = [_value(stack, alarm, points) for points in _periods(stack, alarm, now)]
    is_young = now - float(alarm.get("AlarmConfigurationUpdatedTimestamp", 0)) < int(alarm.get("Period", 60))
    if is_young and all(value is None for value in values):
        return
    new, old = state_of(alarm, values), alarm["StateValue"]
    if new in (old, ""):
        return
    shown = ", ".join("none" if value is None else f"{value:g}" for value in values)
    reason = (
        f"Threshold Crossed: {alarm['Statistic']} {shown} {alarm['ComparisonOperator']} {alarm['Threshold']}"
    )
    alarm["StateValue"], alarm["StateReason"], alarm["StateUpdatedTimestamp"] = new, reason, int(now)
    stack.cloudwatch._record_history(alarm["AlarmName"], old, new, reason)
    stack.cloudwatch._dispatch_alarm_actions(alarm, old, new, reason)


def state_of(alarm: Mapping[str, Any], values: Sequence[float | None]) -> str:
    """ALARM when enough periods breach; an empty text leaves the state as it is."""
    compare, threshold = _COMPARE[alarm["ComparisonOperator"]], float(alarm["Threshold"])
    missing = str(alarm.get("TreatMissingData") or "missing")
    if all(value is None for value in values) and missing in ("missing", "ignore"):
        return "INSUFFICIENT_DATA" if missing == "missing" else ""
    breaching = sum(missing == "breaching" if v is None else compare(v, threshold) for v in values)
    needed = int(alarm.get("DatapointsToAlarm") or len(values))
    return "ALARM" if breaching >= needed else "OK"


def _periods(stack: MiniStack, alarm: Mapping[str, Any], now: float) -> list[list[Any]]:
    """The points of the alarm's own series in each of its periods, newest period first."""
    period, number = int(alarm.get("Period", 60)), int(alarm.get("EvaluationPeriods", 1))
    wanted = {str(d["Name"]): str(d["Value"]) for d in alarm.get("Dimensions") or ()}
    buckets: list[list[Any]] = [[] for _ in range(number)]
    for (namespace, name, _), points in list(stack.cloudwatch._metrics.items()):
        if (namespace, name) != (alarm["Namespace"], alarm["MetricName"]):
            continue
        for point in list(points):
            age = int((now - float(point["Timestamp"])) // period)
            if point["Dimensions"] == wanted and 0 <= age < number:
                buckets[age].append(point)
    return buckets


def _value(stack: MiniStack, alarm: Mapping[str, Any], points: list[Any]) -> float | None:
    if not points:
        return None
    statistic = alarm.get("ExtendedStatistic") or alarm.get("Statistic", "Average")
    value = stack.cloudwatch._stat_value(stack.cloudwatch._calc_stats(points), statistic, points)
    return None if value is None else float(value)
