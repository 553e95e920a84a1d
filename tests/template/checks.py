"""What must hold for every queue, rule, function, table, log and alarm, however many functions are added.

Each check yields one line per problem.
"""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from proctor.domain.decision import OutcomeStatus
from proctor.domain.leases import LEASE
from proctor.runtime import telemetry
from tests.template.policies import listed
from tests.template.stack import ROOT, Stack

FOUR_DAYS = 4 * 24 * 3600
WAKE_UPS = {"ControllerWakeQueue"}
WITHOUT_EXPIRY = {"PeopleTable"}
REBUILT = {"MemoryTable"}
_CUT_WORD = re.compile(r"\w+- \w+")
"""What YAML makes of a hyphenated word over two folded lines."""

_INSTRUCTION = re.compile(
    r"(?:^|[.;:,] |and |then )(?:look|check|read|correct|run|raise|report|ask|update|deploy|start)\b",
    re.IGNORECASE,
)
_OF_AWS = {
    "AWS/Lambda": {"Errors", "Throttles", "Invocations", "Duration"},
    "AWS/SQS": {"ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage"},
}


def queue_problems(stack: Stack) -> Iterator[str]:
    """Queues stand before functions, with a dead-letter queue behind; all encrypted, kept four days."""
    queues = {stack.arns[name]: name for name in stack.of_type("AWS::SQS::Queue")}
    for name, queue in stack.of_type("AWS::SQS::Queue").items():
        if queue.get("MessageRetentionPeriod") != FOUR_DAYS and name not in WAKE_UPS:
            yield f"{name}: messages are not kept four days"
        if queue.get("KmsMasterKeyId") != stack.refs["ProctorKey"]:
            yield f"{name}: not encrypted with our key"
    sources = [m["EventSourceArn"] for m in stack.of_type("AWS::Lambda::EventSourceMapping").values()]
    for source in sources:
        redrive = stack.properties(queues[source]).get("RedrivePolicy", {})
        if redrive.get("deadLetterTargetArn") not in queues.keys() - set(sources):
            yield f"{queues[source]}: no dead-letter queue"
        if redrive.get("maxReceiveCount") != 5:
            yield f"{queues[source]}: moves messages away after other than five tries"


def function_problems(stack: Stack) -> Iterator[str]:
    """Each function is fed by its own queues in batches that may fail in part, within its time."""
    mappings = stack.of_type("AWS::Lambda::EventSourceMapping").values()
    queues = {stack.arns[name]: queue for name, queue in stack.of_type("AWS::SQS::Queue").items()}
    for name, function in stack.of_type("AWS::Lambda::Function").items():
        own = [m for m in mappings if m["FunctionName"] == stack.refs[name]]
        timeout = function["Timeout"]
        if not own:
            yield f"{name}: fed by no queue"
        if timeout >= LEASE.total_seconds():
            yield f"{name}: may run for {timeout} s, longer than the lease of a claim"
        for mapping in own:
            yield from _mapping_problems(name, mapping, queues[mapping["EventSourceArn"]], timeout)
        if function.get("TracingConfig") != {"Mode": "Active"}:
            yield f"{name}: not traced"
        if (function["Runtime"], function.get("Architectures")) != ("python3.13", ["arm64"]):
            yield f"{name}: not Python 3.13 on arm64"


def _mapping_problems(
    name: str, mapping: dict[str, Any], queue: dict[str, Any], timeout: int
) -> Iterator[str]:
    if queue.get("VisibilityTimeout", 30) < 6 * timeout:
        yield f"{name}: its queue shows a message again before six time-outs"
    if mapping.get("FunctionResponseTypes") != ["ReportBatchItemFailures"]:
        yield f"{name}: one bad record fails the batch"
    if not 2 <= int(mapping.get("ScalingConfig", {}).get("MaximumConcurrency", 0)) <= 5:
        yield f"{name}: not limited to 2 to 5 copies"


def rule_problems(stack: Stack) -> Iterator[str]:
    """Each rule feeds one queue that lets it in, gives up in bounded time, and leaves what failed in a dead-letter queue."""
    allowed = {
        (source, statement["Resource"])
        for policy in stack.of_type("AWS::SQS::QueuePolicy")
        for statement in stack.statements(policy)
        for condition in [statement.get("Condition", {}).get("ArnEquals", {})]
        for source in listed(condition.get("aws:SourceArn", []))
    }
    for name, rule in stack.of_type("AWS::Events::Rule").items():
        for target in rule["Targets"]:
            letters = target.get("DeadLetterConfig", {}).get("Arn")
            if not letters:
                yield f"{name}: no dead-letter queue"
            yield from (
                f"{name}: {queue} does not let it in"
                for queue in (target["Arn"], letters)
                if queue and (stack.arns[name], queue) not in allowed
            )
            retry = target.get("RetryPolicy", {})
            if not 60 <= retry.get("MaximumEventAgeInSeconds", 86400) <= 3600:
                yield f"{name}: tries for longer than an hour"
            if "InputTransformer" not in target and "Input" not in target:
                yield f"{name}: passes on the whole event"


def table_problems(stack: Stack) -> Iterator[str]:
    """Tables are on demand, recoverable, under our key, forget by TTL; the audit outlives the stack."""
    for name, table in stack.of_type("AWS::DynamoDB::Table").items():
        if table.get("BillingMode") != "PAY_PER_REQUEST":
            yield f"{name}: not on demand"
        if not table.get("PointInTimeRecoverySpecification", {}).get("PointInTimeRecoveryEnabled"):
            yield f"{name}: no point-in-time recovery"
        expected = {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": stack.arns["ProctorKey"]}
        if table.get("SSESpecification") != expected:
            yield f"{name}: not encrypted with our key"
        expiry = {"AttributeName": "expires_at", "Enabled": True}
        if (table.get("TimeToLiveSpecification") == expiry) is (name in WITHOUT_EXPIRY):
            yield f"{name}: its time to live is not as intended"
        yield from _fate_problems(stack, name, "Delete" if name in REBUILT else "Retain")
    # Without the key nobody could read the tables that stay.
    for name in stack.of_type("AWS::KMS::Key"):
        yield from _fate_problems(stack, name, "Retain")


def _fate_problems(stack: Stack, name: str, fate: str) -> Iterator[str]:
    resource = stack.resources[name]
    if resource.get("DeletionPolicy") != fate or resource.get("UpdateReplacePolicy") != fate:
        yield f"{name}: its fate is not {fate}"


def log_problems(stack: Stack) -> Iterator[str]:
    """Each function logs to a group of its own that is encrypted and forgets."""
    groups = {group["LogGroupName"]: group for group in stack.of_type("AWS::Logs::LogGroup").values()}
    used = [
        f.get("LoggingConfig", {}).get("LogGroup") for f in stack.of_type("AWS::Lambda::Function").values()
    ]
    if sorted(map(str, used)) != sorted(groups):
        yield "functions and log groups don't pair up"
    for name, group in groups.items():
        if not 7 <= int(group.get("RetentionInDays", 0)) <= 731:
            yield f"{name}: kept for ever, or for too short a time"
        if group.get("KmsKeyId") != stack.arns["ProctorKey"]:
            yield f"{name}: not encrypted with our key"


def alarm_problems(stack: Stack) -> Iterator[str]:
    """Each alarm says what to do, reaches the operators, and watches a metric that something emits."""
    for name, alarm in stack.of_type("AWS::CloudWatch::Alarm").items():
        text = alarm.get("AlarmDescription", "")
        if len(text) > 1024 or not _INSTRUCTION.search(text):
            yield f"{name}: its text does not say what to do"
        if cut := _CUT_WORD.search(text):
            yield f"{name}: its text has a word cut in two: {cut.group()}"
        if alarm.get("AlarmActions") != [stack.arns["OperatorsTopic"]]:
            yield f"{name}: reaches nobody"
        if alarm["MetricName"] not in _metrics(alarm["Namespace"]):
            yield f"{name}: nothing emits {alarm['Namespace']} {alarm['MetricName']}"
        if alarm.get("TreatMissingData") not in {"breaching", "notBreaching"}:
            yield f"{name}: missing data is left undecided"


def dashboard_problems(stack: Stack) -> Iterator[str]:
    """The dashboard shows every alarm, and every metric on it is one that something emits."""
    for name, dashboard in stack.of_type("AWS::CloudWatch::Dashboard").items():
        widgets = json.loads(dashboard["DashboardBody"])["widgets"]
        shown = {arn for widget in widgets for arn in widget["properties"].get("alarms", [])}
        alarms = stack.of_type("AWS::CloudWatch::Alarm")
        yield from (f"{name}: lacks {alarm}" for alarm in alarms if stack.arns[alarm] not in shown)
        for widget in widgets:
            for namespace, metric, *_ in widget["properties"].get("metrics", []):
                if metric not in _metrics(namespace):
                    yield f"{name}: nothing emits {namespace} {metric}"


def _metrics(namespace: str) -> set[str]:
    return _own_metrics() if namespace == telemetry.NAMESPACE else _OF_AWS[namespace]


@cache
def _own_metrics() -> set[str]:
    """What telemetry counts: outcomes, some reasons, and every name that a `count(...)` in the code is given."""
    outcomes = {
        f"Outcome{s.value.title().replace('_', '')}" for s in OutcomeStatus if s is not OutcomeStatus.NONE
    }
    counted = {
        name
        for folder in ("layers/proctor/proctor", "functions")
        for path in (ROOT / folder).rglob("*.py")
        for name in _counted(path)
    }
    return outcomes | counted | set(telemetry._OWN_METRICS.values())


def _counted(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "count":
            yield from (str(a.value) for a in node.args[:1] if isinstance(a, ast.Constant))


def switch_problems(stack: Stack) -> Iterator[str]:
    """The stack is born in dry-run, not paused, with an empty policy."""
    parameters: dict[str, Any] = {
        p["Name"]: p["Value"] for p in stack.of_type("AWS::SSM::Parameter").values()
    }
    empty = dict.fromkeys(("agent_reports", "budget_holds", "session_limits"), "{}")
    if parameters != {f"/proctor/alpha/{name}": text for name, text in {"pause": "off", **empty}.items()}:
        yield f"parameters are born as {parameters}"
    for name, function in stack.of_type("AWS::Lambda::Function").items():
        if function["Environment"]["Variables"].get("PROCTOR_APPLY_ACTIONS") != "false":
            yield f"{name}: born acting"
