"""The layers, the names that others rely on, and the lists that must agree."""

import shutil
from pathlib import Path

import pytest

from scripts.locks import lock_files, lock_problems
from tests.template.stack import ROOT, Stack, build, source

FOR_EACH_FUNCTION = (
    "DeadLetterQueueUrl",
    "FunctionName",
    "LogGroupName",
    "PolicyParameterName",
    "QueueUrl",
)
OUTPUTS = {
    *(
        f"{name}{suffix}"
        for name in ("AgentReports", "BudgetHolds", "SessionLimits")
        for suffix in FOR_EACH_FUNCTION
    ),
    "AgentsTableName",
    "ApplyActions",
    "BudgetsTopicArn",
    "ClaimsTableName",
    "ClusterNames",
    "ControllerAgentPolicyArn",
    "ControllerReportsQueueUrl",
    "ControllerWakeQueueUrl",
    "DashboardName",
    "EventBusName",
    "ExemptionsTableName",
    "IntentsTableName",
    "KeyArn",
    "MemoryTableName",
    "NodeAgentPolicyArn",
    "NodeReportsQueueUrl",
    "ObservedTableName",
    "OperatorsTopicArn",
    "PauseParameterName",
    "PeopleTableName",
    "VerdictsTableName",
}
KEYS = {
    "ClaimsTable": ["claim"],
    "VerdictsTable": ["subject", "at"],
    "MemoryTable": ["scope", "subject"],
    "PeopleTable": ["key"],
    "ExemptionsTable": ["function", "id"],
    "IntentsTable": ["pk", "sk"],
    "ObservedTable": ["scope", "key"],
    "AgentsTable": ["agent"],
}


@pytest.mark.parametrize(
    ("layer", "folder", "more"),
    [
        (
            "DependenciesLayer",
            "layers/dependencies",
            {"WorkingDirectory": {"Fn::Sub": "layers/dependencies/${Architecture}"}},
        ),
        ("ProctorLayer", "layers/proctor", {}),
    ],
)
def test_a_layer_is_built_by_its_makefile_for_the_architecture(
    layer: str, folder: str, more: dict[str, object]
) -> None:
    resource = source()["Resources"][layer]
    assert resource["Properties"]["ContentUri"] == folder
    assert f"build-{layer}:" in (ROOT / folder / "Makefile").read_text(encoding="utf-8")
    assert (
        resource["Metadata"]
        == {"BuildMethod": "makefile", "BuildArchitecture": {"Ref": "Architecture"}} | more
    )


def test_functions_are_built_by_their_makefile() -> None:
    """It compiles them; what `sam build` copies by itself is compiled at each cold start."""
    functions = [r for r in source()["Resources"].values() if r["Type"] == "AWS::Serverless::Function"]
    assert [function["Metadata"] for function in functions] == [{"BuildMethod": "makefile"}] * len(functions)
    assert "build-%:" in (ROOT / "functions/Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("architecture", ["arm64", "x86_64"])
def test_layers_and_functions_are_of_one_architecture(architecture: str) -> None:
    stack = build(Architecture=architecture)
    assert (ROOT / "layers/dependencies" / architecture / "platform").is_file()
    layers = stack.of_type("AWS::Lambda::LayerVersion")
    assert [layer["CompatibleArchitectures"] for layer in layers.values()] == [[architecture]] * 2
    for function in stack.of_type("AWS::Lambda::Function").values():
        assert function["Architectures"] == [architecture]
        assert sorted(function["Layers"]) == sorted(stack.refs[name] for name in layers)


def test_the_outputs_that_the_command_line_reads_keep_their_names(stack: Stack) -> None:
    assert stack.outputs.keys() == OUTPUTS
    assert all(output["Description"] for output in source()["Outputs"].values())


@pytest.mark.parametrize(("table", "keys"), KEYS.items())
def test_tables_have_the_keys_that_adapters_use(stack: Stack, table: str, keys: list[str]) -> None:
    schema = stack.properties(table)["KeySchema"]
    assert [(k["AttributeName"], k["KeyType"]) for k in schema] == list(
        zip(keys, ["HASH", "RANGE"], strict=False)
    )
    assert {
        a["AttributeName"]: a["AttributeType"] for a in stack.properties(table)["AttributeDefinitions"]
    } == (dict.fromkeys(keys, "S"))


@pytest.mark.parametrize("name", ["AgentReports", "BudgetHolds", "SessionLimits"])
def test_the_policy_is_written_only_when_its_rule_can_hear_it(name: str) -> None:
    assert source()["Resources"][f"{name}PolicyParameter"]["DependsOn"] == [
        f"{name}PolicyRule",
        f"{name}QueuePolicy",
    ]


def test_every_table_is_in_this_list(stack: Stack) -> None:
    assert stack.of_type("AWS::DynamoDB::Table").keys() == KEYS.keys()


def test_nothing_is_named_by_another_yaml_node() -> None:
    """CloudFormation reads no YAML anchors."""
    text = (ROOT / "template.yaml").read_text(encoding="utf-8")
    assert "&" not in text.replace("&&", "")
    assert "<<:" not in text


def test_the_layers_lock_equals_the_lock_that_tests_run_on(tmp_path: Path) -> None:
    assert list(lock_problems(ROOT)) == []
    for lock in lock_files(ROOT):
        copy = tmp_path / lock.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(lock, copy)
    layer = tmp_path / "layers/dependencies/requirements.txt"
    layer.write_text(
        layer.read_text(encoding="utf-8").replace("\nboto3==", "\nboto3==0.", 1), encoding="utf-8"
    )
    assert any("boto3" in problem for problem in lock_problems(tmp_path))
