"""The template passes every check, and each check notices when something is taken away."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.template import checks
from tests.template.stack import Stack, build, source

type Check = Callable[[Stack], Iterator[str]]
type Path = tuple[str | int, ...]

CHECKS: list[Check] = [
    checks.queue_problems,
    checks.function_problems,
    checks.rule_problems,
    checks.table_problems,
    checks.log_problems,
    checks.alarm_problems,
    checks.dashboard_problems,
    checks.switch_problems,
]
GONE = object()
QUEUE, FUNCTION = ("Resources", "SessionLimitsQueue"), ("Resources", "SessionLimitsFunction", "Properties")
RULE = ("Resources", "SessionLimitsStartRule", "Properties", "Targets", 0)
TABLE, ALARM = ("Resources", "ClaimsTable"), ("Resources", "SessionLimitsErrorsAlarm", "Properties")
LOG_GROUP = ("Resources", "SessionLimitsLogGroup", "Properties")
DASHBOARD = ("Resources", "ProctorDashboard", "Properties")
STRANGE = '{"widgets": [{"properties": {"metrics": [["AWS/SQS", "Errors", "QueueName", "q"]]}}]}'
EVENTS = (*FUNCTION, "Events", "Queue", "Properties")

SPOILED: list[tuple[Check, Path, Any, str]] = [
    (checks.queue_problems, (*QUEUE, "Properties", "RedrivePolicy"), GONE, "no dead-letter queue"),
    (
        checks.queue_problems,
        (*QUEUE, "Properties", "RedrivePolicy", "maxReceiveCount"),
        1,
        "other than five tries",
    ),
    (checks.queue_problems, (*QUEUE, "Properties", "MessageRetentionPeriod"), GONE, "four days"),
    (checks.queue_problems, (*QUEUE, "Properties", "KmsMasterKeyId"), "alias/aws/sqs", "not encrypted"),
    (checks.function_problems, ("Globals", "Function", "Timeout"), 120, "longer than the lease"),
    (checks.function_problems, ("Globals", "Function", "Timeout"), 61, "six time-outs"),
    (checks.function_problems, (*QUEUE, "Properties", "VisibilityTimeout"), GONE, "six time-outs"),
    (checks.function_problems, (*EVENTS, "FunctionResponseTypes"), GONE, "fails the batch"),
    (checks.function_problems, (*EVENTS, "ScalingConfig"), GONE, "2 to 5 copies"),
    (checks.function_problems, ("Globals", "Function", "Tracing"), GONE, "not traced"),
    (checks.function_problems, ("Globals", "Function", "Architectures"), GONE, "arm64"),
    (checks.rule_problems, (*RULE, "DeadLetterConfig"), GONE, "no dead-letter queue"),
    (checks.rule_problems, (*RULE, "RetryPolicy"), GONE, "longer than an hour"),
    (checks.rule_problems, (*RULE, "InputTransformer"), GONE, "the whole event"),
    (
        checks.rule_problems,
        (*RULE, "Arn"),
        {"Fn::GetAtt": ["OperatorsTopic", "TopicArn"]},
        "does not let it in",
    ),
    (checks.rule_problems, ("Resources", "SessionLimitsDeadLetterQueuePolicy"), GONE, "does not let it in"),
    (checks.table_problems, (*TABLE, "Properties", "PointInTimeRecoverySpecification"), GONE, "recovery"),
    (checks.table_problems, (*TABLE, "Properties", "SSESpecification"), GONE, "not encrypted"),
    (checks.table_problems, (*TABLE, "Properties", "TimeToLiveSpecification"), GONE, "time to live"),
    (checks.table_problems, (*TABLE, "Properties", "BillingMode"), GONE, "on demand"),
    (checks.table_problems, (*TABLE, "DeletionPolicy"), "Delete", "fate"),
    (checks.table_problems, ("Resources", "ProctorKey", "DeletionPolicy"), GONE, "fate"),
    (checks.log_problems, (*LOG_GROUP, "RetentionInDays"), GONE, "for ever"),
    (checks.log_problems, (*LOG_GROUP, "KmsKeyId"), GONE, "not encrypted"),
    (checks.log_problems, (*FUNCTION, "LoggingConfig"), GONE, "pair up"),
    (checks.alarm_problems, (*ALARM, "AlarmDescription"), "The function failed.", "what to do"),
    (
        checks.alarm_problems,
        (*ALARM, "AlarmDescription"),
        "Check the dead- letter queue.",
        "cut in two: dead- letter",
    ),
    (checks.alarm_problems, (*ALARM, "AlarmActions"), GONE, "reaches nobody"),
    (checks.alarm_problems, (*ALARM, "Namespace"), "Proctor", "nothing emits Proctor Errors"),
    (checks.alarm_problems, (*ALARM, "TreatMissingData"), GONE, "undecided"),
    (
        checks.dashboard_problems,
        (*DASHBOARD, "DashboardBody"),
        '{"widgets": []}',
        "lacks SessionLimitsErrorsAlarm",
    ),
    (checks.dashboard_problems, (*DASHBOARD, "DashboardBody"), STRANGE, "nothing emits AWS/SQS Errors"),
    (checks.switch_problems, ("Parameters", "ApplyActions", "Default"), "true", "born acting"),
    (checks.switch_problems, ("Resources", "PauseParameter", "Properties", "Value"), "on", "born as"),
]


def spoiled(path: Path, value: Any) -> Stack:
    template: Any = source()
    holder = template
    for step in path[:-1]:
        holder = holder[step]
    if value is GONE:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return build(template)


@pytest.mark.parametrize("check", CHECKS)
def test_the_template_passes(stack: Stack, check: Check) -> None:
    assert list(check(stack)) == []


@pytest.mark.parametrize(("check", "path", "value", "expected"), SPOILED)
def test_a_spoiled_template_is_noticed(check: Check, path: Path, value: Any, expected: str) -> None:
    assert any(expected in problem for problem in check(spoiled(path, value)))


def test_every_check_has_a_case_that_it_notices() -> None:
    assert {check for check, *_ in SPOILED} == set(CHECKS)


COMMON = (
    "dead-letters",
    "queue-age",
    "errors",
    "throttles",
    "sweep-silent",
    "records-parked",
    "records-crashed",
    "guardrail-refused",
    "policy-refused",
    "events-not-published",
)
ALARMS = {
    "agent_reports": (
        *COMMON,
        "controller-queue-age",
        "node-queue-age",
        "controller-silent",
        "agents-silent",
        "reports-forged",
        "second-enrolment",
        "enrolment-refused",
        "changes-not-announced",
    ),
    "budget_holds": (*COMMON, "unconfirmed", "notices-undeliverable"),
    "session_limits": (*COMMON, "unconfirmed", "breach-without-event", "notices-undeliverable"),
}
QUEUES = {
    "agent_reports": ("ControllerReportsQueue", "NodeReportsQueue", "AgentReportsQueue"),
    "budget_holds": ("BudgetHoldsQueue",),
    "session_limits": ("SessionLimitsQueue",),
}
# Longest time between two sweeps, in seconds.
PACE = {"agent_reports": 60, "budget_holds": 600, "session_limits": 600}


def title(function: str) -> str:
    return function.title().replace("_", "")


def test_each_function_has_its_alarms_and_there_are_no_others(stack: Stack) -> None:
    names = sorted(alarm["AlarmName"] for alarm in stack.of_type("AWS::CloudWatch::Alarm").values())
    assert names == sorted(f"proctor-{of}-{topic}" for of, topics in ALARMS.items() for topic in topics)


def test_silence_of_the_sweep_is_an_alarm(stack: Stack) -> None:
    alarms = stack.of_type("AWS::CloudWatch::Alarm")
    breaching = {name for name, alarm in alarms.items() if alarm["TreatMissingData"] == "breaching"}
    assert breaching == {f"{title(function)}SweepSilentAlarm" for function in PACE}
    assert PACE["session_limits"] == 60 * source()["Parameters"]["SweepMinutes"]["MaxValue"]
    for function, seconds in PACE.items():
        silent = alarms[f"{title(function)}SweepSilentAlarm"]
        assert silent["Period"] * silent["EvaluationPeriods"] > seconds


@pytest.mark.parametrize("function", ALARMS)
def test_alarms_of_one_function_watch_that_function(stack: Stack, function: str) -> None:
    queues = [*QUEUES[function], f"{title(function)}DeadLetterQueue"]
    watched = {function, stack.refs[f"{title(function)}Function"]}
    watched |= {stack.arns[queue].rpartition(":")[2] for queue in queues}
    own = [
        alarm
        for alarm in stack.of_type("AWS::CloudWatch::Alarm").values()
        if alarm["AlarmName"].startswith(f"proctor-{function}-")
    ]
    for alarm in own:
        (dimension,) = alarm["Dimensions"]
        assert (alarm["Namespace"], dimension["Name"]) in {
            ("Proctor", "service"),
            ("AWS/Lambda", "FunctionName"),
            ("AWS/SQS", "QueueName"),
        }
        assert dimension["Value"] in watched
    seen = {alarm["Dimensions"][0]["Value"] for alarm in own}
    assert seen == watched
