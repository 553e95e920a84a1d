"""What a function can do is one list: its appliers, its role's statements, its adapters' calls and its settings agree."""

import importlib
import sys
from collections.abc import Mapping
from inspect import isfunction
from typing import Any

import pytest

from proctor.adapters.aws_clients import AwsClients
from proctor.adapters.wake_queue import SqsWakeUp
from proctor.domain.decision import Mode
from proctor.domain.errors import DeniedError
from proctor.runtime.agent_settings import AGENT_VARIABLES, AgentSettings
from proctor.runtime.settings import VARIABLES, Settings
from proctor.runtime.slurm_settings import SLURM_VARIABLES, SlurmSettings
from tests.fakes.records import FakeTelemetry
from tests.template import reach_agent_reports, reach_budget_holds, reach_session_limits
from tests.template.calls import Call, calls_of
from tests.template.policies import ALLOWED, REFUSED, Request, ask, listed
from tests.template.reach import arn
from tests.template.stack import ACCOUNT, REGION, ROOT, Stack, build

FUNCTIONS = sorted(path.parent.name for path in (ROOT / "functions").glob("*/app.py"))
REACH: dict[str, Any] = {
    "agent_reports": reach_agent_reports,
    "budget_holds": reach_budget_holds,
    "session_limits": reach_session_limits,
}
MORE_VARIABLES: dict[str, Mapping[str, str]] = {
    "agent_reports": AGENT_VARIABLES,
    "budget_holds": SLURM_VARIABLES,
    "session_limits": {},
}
REACHED: list[tuple[str, Call, str, str]] = [
    (package, call, sid, resource)
    for package, reach in REACH.items()
    for call, uses in reach.REACHED.items()
    for sid, resource in uses
]
COMMAND_LINE: list[tuple[str, Call, str]] = [
    (package, call, resource)
    for package, reach in REACH.items()
    for call, resource in reach.COMMAND_LINE.items()
]

# What Lambda and KMS do in the role's name, which no adapter calls.
FOR_THE_SERVICES = {
    "ConsumeQueue": {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"},
    "UseKey": {"kms:Decrypt", "kms:GenerateDataKey"},
    "UseKeyInTables": {"kms:Encrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo", "kms:DescribeKey"},
    "WriteLogs": {"logs:CreateLogStream", "logs:PutLogEvents"},
    "WriteTraces": {"xray:PutTraceSegments", "xray:PutTelemetryRecords"},
}


def title(package: str) -> str:
    """`session_limits` as logical ids spell it."""
    return package.title().replace("_", "")


def wired(package: str) -> set[Call]:
    """The calls of every adapter that app.py imports, and of the functions in its module and those that this one imports."""
    found = [v for v in vars(importlib.import_module(f"{package}.app")).values() if hasattr(v, "__module__")]
    adapters = [v for v in found if v.__module__.startswith("proctor.adapters.")]
    shared = [v for of in adapters for v in vars(sys.modules[of.__module__]).values() if isfunction(v)]
    modules = {v.__module__ for v in (*adapters, *shared) if v.__module__.startswith("proctor.adapters.")}
    names = {value.__name__ for value in adapters} | {name.rpartition(".")[2] for name in modules}
    return {call for module in modules for call in calls_of(sys.modules[module]) if call.adapter in names}


def statements(stack: Stack, package: str) -> list[dict[str, Any]]:
    return stack.statements(f"{title(package)}Role")


def by_sid(stack: Stack, package: str = "session_limits") -> dict[str, dict[str, Any]]:
    return {statement["Sid"]: statement for statement in statements(stack, package)}


def environment(stack: Stack, package: str) -> dict[str, str]:
    handler = f"{package}.entry.lambda_handler"
    (found,) = [f for f in stack.of_type("AWS::Lambda::Function").values() if f["Handler"] == handler]
    return dict(found["Environment"]["Variables"])


def settings_of(stack: Stack, package: str) -> Settings:
    return Settings.from_env(environment(stack, package))


def appliers(stack: Stack, package: str) -> set[str]:
    """Names of the actions that a function has an applier for."""
    app, env, clients = importlib.import_module(f"{package}.app"), environment(stack, package), AwsClients()
    settings = Settings.from_env(env)
    if package == "budget_holds":
        ports = app._ports(settings, SlurmSettings.from_env(env), clients)
        found = app.appliers(ports, clients, settings, SqsWakeUp(clients, {}), FakeTelemetry())
    elif package == "agent_reports":
        found = app.appliers(app._ports(settings, clients, AgentSettings.from_env(env)), clients, settings)
    else:
        found = app.appliers(app._ports(settings, clients), clients, settings)
    return {action.__name__ for action in found}


def test_each_package_is_a_function_and_each_function_a_package(stack: Stack) -> None:
    handlers = sorted(function["Handler"] for function in stack.of_type("AWS::Lambda::Function").values())
    assert handlers == [f"{package}.entry.lambda_handler" for package in FUNCTIONS]
    assert list(REACH) == FUNCTIONS
    for package in FUNCTIONS:
        entry, app = (importlib.import_module(f"{package}.{name}") for name in ("entry", "app"))
        assert entry.lambda_handler is app.lambda_handler


def test_each_function_has_a_role_of_its_own(stack: Stack) -> None:
    roles = [function["Role"] for function in stack.of_type("AWS::Lambda::Function").values()]
    assert len(set(roles)) == len(roles)
    assert sorted(roles) == sorted(
        f"arn:aws:iam::{ACCOUNT}:role/proctor-{name}" for name in stack.of_type("AWS::IAM::Role")
    )


@pytest.mark.parametrize("package", FUNCTIONS)
def test_the_dict_of_appliers_equals_the_apply_statements(stack: Stack, package: str) -> None:
    sids = {sid for sid in by_sid(stack, package) if sid.startswith("Apply")}
    assert sids == {f"Apply{action}" for action in appliers(stack, package)}


@pytest.mark.parametrize("package", FUNCTIONS)
@pytest.mark.parametrize(
    ("host", "complaint"),
    [
        ("sts.cn-north-1.amazonaws.com", "this Region's STS"),
        ("sts.cn-north-1.amazonaws.com.cn", "not a GetC"),
    ],
)
def test_in_china_a_caller_is_proven_at_chinas_sts(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, package: str, host: str, complaint: str
) -> None:
    for name, value in {**environment(stack, package), "AWS_REGION": "cn-north-1"}.items():
        monkeypatch.setenv(name, value)
    wiring, *_ = importlib.import_module(f"{package}.app")._wiring.__wrapped__()
    with pytest.raises(DeniedError, match=complaint):
        wiring.caller(f"https://{host}/?Action=Other", package)


@pytest.mark.parametrize("package", FUNCTIONS)
def test_the_environment_equals_the_settings(stack: Stack, package: str) -> None:
    assert environment(stack, package).keys() == VARIABLES.keys() | MORE_VARIABLES[package].keys()


@pytest.mark.parametrize("package", FUNCTIONS)
def test_the_settings_name_this_stacks_resources(stack: Stack, package: str) -> None:
    letters = f"proctor-{title(package)}DeadLetterQueue"
    assert settings_of(stack, package) == Settings(
        clusters=("alpha",),
        bound=Mode.DRY_RUN,
        claims_table="proctor-ClaimsTable",
        verdicts_table="proctor-VerdictsTable",
        memory_table="proctor-MemoryTable",
        people_table="proctor-PeopleTable",
        exemptions_table="proctor-ExemptionsTable",
        parking_queue_url=f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{letters}",
        operators_topic_arn=arn("sns", "proctor-OperatorsTopic"),
        event_bus="default",
        sender="proctor@uni.example",
    )


def test_the_slurm_sides_settings_name_this_stacks_resources(stack: Stack) -> None:
    assert AgentSettings.from_env(environment(stack, "agent_reports")) == AgentSettings(
        agents_table="proctor-AgentsTable",
        observed_table="proctor-ObservedTable",
        controller_queue_arn=arn("sqs", "proctor-ControllerReportsQueue"),
        node_queue_arn=arn("sqs", "proctor-NodeReportsQueue"),
    )
    assert SlurmSettings.from_env(environment(stack, "budget_holds")) == SlurmSettings(
        intents_table="proctor-IntentsTable",
        observed_table="proctor-ObservedTable",
        wake_queue_url=f"alpha=https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/proctor-ControllerWakeQueue",
        account_id=ACCOUNT,
    )


def test_parameters_reach_the_settings() -> None:
    other = build(ApplyActions="true", MoreClusterNames="beta, gamma", Sender="", EventBusName="research")
    for package in FUNCTIONS:
        settings = settings_of(other, package)
        assert settings.clusters == ("alpha", "beta", "gamma")
        assert (settings.bound, settings.sender, settings.event_bus) == (Mode.APPLY, "", "research")
        (bus,) = listed(by_sid(other, package)["PublishEvents"]["Resource"])
        assert bus == arn("events", "event-bus/research")


@pytest.mark.parametrize("package", FUNCTIONS)
def test_every_statement_allows_under_a_name_of_its_own(stack: Stack, package: str) -> None:
    assert len(by_sid(stack, package)) == len(statements(stack, package))
    for statement in statements(stack, package):
        assert statement["Effect"] == "Allow"
        assert statement["Sid"].startswith(("Apply", "Read", "Write", "Publish", "Park", "Consume", "Use"))


@pytest.mark.parametrize("package", FUNCTIONS)
def test_every_call_of_the_wired_adapters_is_in_these_tables(package: str) -> None:
    assert wired(package) == REACH[package].REACHED.keys() | REACH[package].COMMAND_LINE.keys()


@pytest.mark.parametrize(("package", "call", "sid", "resource"), REACHED)
def test_a_call_is_allowed_by_its_own_statement_only(
    stack: Stack, package: str, call: Call, sid: str, resource: str
) -> None:
    given = getattr(REACH[package], "GIVEN_TO", {}).get(sid, REACH[package].GIVEN)
    request = Request(action=call.action, resource=resource, context=given)
    allowing = [name for name, one in by_sid(stack, package).items() if ask([one], request) == ALLOWED]
    assert sorted(allowing) == sid.split("|")


@pytest.mark.parametrize(("package", "call", "resource"), COMMAND_LINE)
def test_a_call_of_the_command_line_is_refused(stack: Stack, package: str, call: Call, resource: str) -> None:
    request = Request(action=call.action, resource=resource, context=REACH[package].GIVEN)
    assert ask(statements(stack, package), request) == REFUSED


@pytest.mark.parametrize("package", FUNCTIONS)
def test_no_statement_allows_an_action_that_nothing_uses(stack: Stack, package: str) -> None:
    used: dict[str, set[str]] = {sid: set(actions) for sid, actions in FOR_THE_SERVICES.items()}
    for of, call, sids, _ in REACHED:
        for sid in sids.split("|") if of == package else ():
            used.setdefault(sid, set()).add(call.action)
    allowed = {sid: set(listed(one["Action"])) for sid, one in by_sid(stack, package).items()}
    assert allowed == used
