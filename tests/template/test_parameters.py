"""What a cloud team is asked for: described, grouped, and refused when it can't be meant."""

import re
import tomllib
from typing import Any

import pytest

from proctor.runtime import settings
from tests.template.stack import ROOT, build, source

ACCEPTED: dict[str, list[str]] = {
    "ClusterName": ["alpha", "A", "ml-cluster-2", "a" * 63, "a--b"],
    "MoreClusterNames": ["", "beta", "beta,gamma", "beta, gamma-2 ,delta"],
    "ControllerRoleArn": ["", "arn:aws:iam::123456789012:role/hyperpod-controller"],
    "NodeRoleArn": ["", "arn:aws-us-gov:iam::123456789012:role/service-role/AmazonSageMaker-Exec+1"],
    "PayerBudgetsTopicArn": ["", "arn:aws:sns:us-east-1:210987654321:proctor-payer-Budgets"],
    "OperatorEmail": ["", "ops@uni.example", "gpu-ops+alarms@cs.uni.example"],
    "Sender": ["", "proctor@uni.example", "no-reply.gpu@cs.uni.example"],
    "EventBusName": ["default", "research/bus_1.a-b"],
}
REFUSED: dict[str, list[str]] = {
    "ClusterName": ["", "-alpha", "alpha-", "al pha", "alpha,beta", "a" * 64, "alpha/../beta", "alpha\n"],
    "MoreClusterNames": [",", "beta,", "beta;gamma", "beta,,gamma", "-beta", "beta gamma"],
    "ControllerRoleArn": [
        "hyperpod-controller",
        "*",
        "arn:aws:iam::123456789012:root",
        "arn:aws:iam::123456789012:role/*",
        "arn:aws:iam::123456789012:user/ada",
        "arn:aws:sts::123456789012:assumed-role/hyperpod/SageMaker",
    ],
    "NodeRoleArn": ["nodes", "*", "arn:aws:iam::12345:role/nodes", "arn:aws:iam::123456789012:role/a b"],
    "PayerBudgetsTopicArn": [
        "*",
        "arn:aws:sns:us-east-1:210987654321:*",
        "arn:aws:sqs:us-east-1:210987654321:queue",
        "arn:aws:sns:us-east-1::topic",
    ],
    "OperatorEmail": ["ops", "ops@", "@uni.example", "a@b.example,c@d.example", "Ops <ops@uni.example>"],
    "Sender": [
        "proctor",
        "Proctor <proctor@uni.example>",
        "proctor@uni",
        "pro ctor@uni.example",
        "*@uni.example",
    ],
    "EventBusName": ["", "arn:aws:events:us-east-1:123456789012:event-bus/default", "a b", "x" * 257],
}


def parameters() -> dict[str, dict[str, Any]]:
    return dict(source()["Parameters"])


def pattern(name: str) -> re.Pattern[str]:
    return re.compile(parameters()[name]["AllowedPattern"].removesuffix("$") + r"\Z")


def test_every_pattern_has_its_cases() -> None:
    patterned = {name for name, parameter in parameters().items() if "AllowedPattern" in parameter}
    assert patterned == ACCEPTED.keys() == REFUSED.keys()


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in ACCEPTED.items() for v in values])
def test_a_value_is_accepted(name: str, value: str) -> None:
    assert pattern(name).match(value)


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in REFUSED.items() for v in values])
def test_a_value_is_refused(name: str, value: str) -> None:
    assert not pattern(name).match(value)


def test_the_template_and_the_function_agree_on_cluster_names() -> None:
    assert parameters()["ClusterName"]["AllowedPattern"] == settings._CLUSTER_NAME.pattern


def test_every_parameter_is_bounded_described_and_in_one_group() -> None:
    interface = source()["Metadata"]["AWS::CloudFormation::Interface"]
    grouped = [name for group in interface["ParameterGroups"] for name in group["Parameters"]]
    assert sorted(grouped) == sorted(parameters())
    assert interface["ParameterLabels"].keys() == parameters().keys()
    for name, parameter in parameters().items():
        assert len(parameter["Description"]) > 20, name
        assert parameter.keys() & {"AllowedPattern", "AllowedValues", "MaxValue"}, name
        if "AllowedPattern" in parameter:
            assert parameter["AllowedPattern"].startswith("^")
            assert parameter["AllowedPattern"].endswith("$")
            assert parameter["ConstraintDescription"]


def test_only_the_cluster_must_be_given() -> None:
    assert [name for name, parameter in parameters().items() if "Default" not in parameter] == ["ClusterName"]


def test_defaults_are_cautious() -> None:
    defaults = {name: parameter.get("Default") for name, parameter in parameters().items()}
    assert defaults["ApplyActions"] == "false"
    assert (defaults["SweepMinutes"], defaults["MaximumConcurrency"]) == (2, 2)
    assert (defaults["OperatorEmail"], defaults["Sender"], defaults["Architecture"]) == ("", "", "arm64")
    assert {defaults[name] for name in ("ControllerRoleArn", "NodeRoleArn", "PayerBudgetsTopicArn")} == {""}
    concurrency = parameters()["MaximumConcurrency"]
    assert (concurrency["MinValue"], concurrency["MaxValue"]) == (2, 5)
    # A rate of one would have to be spelt "1 minute".
    assert parameters()["SweepMinutes"]["MinValue"] == 2


@pytest.mark.parametrize(("email", "count"), [("ops@uni.example", 1), ("", 0)])
def test_the_subscription_depends_on_the_address(email: str, count: int) -> None:
    subscriptions = build(OperatorEmail=email).of_type("AWS::SNS::Subscription").values()
    assert sum(one["Protocol"] == "email" for one in subscriptions) == count


def test_the_pace_and_the_architecture_reach_their_places() -> None:
    other = build(SweepMinutes="5", Architecture="x86_64", MaximumConcurrency="5")
    assert other.properties("SessionLimitsSweepRule")["ScheduleExpression"] == "rate(5 minutes)"
    assert other.properties("SessionLimitsFunction")["Architectures"] == ["x86_64"]
    mappings = other.of_type("AWS::Lambda::EventSourceMapping").values()
    assert len(mappings) == 5
    assert all(mapping["ScalingConfig"] == {"MaximumConcurrency": "5"} for mapping in mappings)


def test_the_deployment_is_linted_and_asks_before_it_changes_anything() -> None:
    config = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))["default"]
    assert config["validate"]["parameters"] == {"lint": True}
    assert config["build"]["parameters"] == {"cached": True, "parallel": True}
    assert config["deploy"]["parameters"]["confirm_changeset"] is True
    assert config["deploy"]["parameters"]["capabilities"] == "CAPABILITY_IAM"
    assert "parameter_overrides" not in config["deploy"]["parameters"]
