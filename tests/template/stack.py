"""template.yaml as CloudFormation would see it: translated by SAM, and its intrinsic functions worked out.

Generated names and ARNs are made up, but have the shape that the service gives them.
"""

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from samtranslator.translator.transform import transform

ROOT = Path(__file__).resolve().parents[2]
ACCOUNT, REGION, STACK_NAME = "123456789012", "us-east-1", "proctor"
GIVEN = {"ClusterName": "alpha", "OperatorEmail": "ops@uni.example", "Sender": "proctor@uni.example"}

_PSEUDO = {
    "AWS::AccountId": ACCOUNT,
    "AWS::Region": REGION,
    "AWS::Partition": "aws",
    "AWS::StackName": STACK_NAME,
    "AWS::URLSuffix": "amazonaws.com",
}
_ARN_FORMS = {
    "AWS::CloudWatch::Alarm": "cloudwatch:{region}:{account}:alarm:{name}",
    "AWS::DynamoDB::Table": "dynamodb:{region}:{account}:table/{name}",
    "AWS::Events::Rule": "events:{region}:{account}:rule/{name}",
    "AWS::IAM::ManagedPolicy": "iam::{account}:policy/{name}",
    "AWS::IAM::Role": "iam::{account}:role/{name}",
    "AWS::KMS::Key": "kms:{region}:{account}:key/{name}",
    "AWS::Lambda::Function": "lambda:{region}:{account}:function:{name}",
    "AWS::Logs::LogGroup": "logs:{region}:{account}:log-group:{name}:*",
    "AWS::SNS::Topic": "sns:{region}:{account}:{name}",
    "AWS::SQS::Queue": "sqs:{region}:{account}:{name}",
}
_NAME_PROPERTIES = ("LogGroupName", "AlarmName", "Name", "DashboardName", "AliasName")
_NO_VALUE = object()


class Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms written out."""


def _tagged(loader: Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
        if suffix == "GetAtt":
            value = str(value).split(".", 1)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        assert isinstance(node, yaml.MappingNode)
        value = loader.construct_mapping(node, deep=True)
    return {suffix if suffix in {"Ref", "Condition"} else f"Fn::{suffix}": value}


Loader.add_multi_constructor("!", _tagged)


@cache
def _text() -> str:
    return (ROOT / "template.yaml").read_text(encoding="utf-8")


@cache
def _loaded() -> dict[str, Any]:
    # A subclass of the safe loader.
    return dict(yaml.load(_text(), Loader))  # noqa: S506


def source() -> dict[str, Any]:
    """The template as written; a fresh copy each time."""
    return copy.deepcopy(_loaded())


@dataclass(frozen=True)
class Stack:
    """Resources by logical id, every value worked out, those under a false condition left out."""

    resources: Mapping[str, Any]
    outputs: Mapping[str, Any]
    refs: Mapping[str, str]
    arns: Mapping[str, str]

    def of_type(self, kind: str) -> dict[str, dict[str, Any]]:
        """Logical id → properties."""
        return {
            logical_id: resource.get("Properties", {})
            for logical_id, resource in self.resources.items()
            if resource["Type"] == kind
        }

    def properties(self, logical_id: str) -> dict[str, Any]:
        """The properties of one resource."""
        return dict(self.resources[logical_id]["Properties"])

    def statements(self, logical_id: str) -> list[dict[str, Any]]:
        """The statements of a role's inline policies, or of a key, queue or topic policy."""
        properties = self.properties(logical_id)
        documents = [policy["PolicyDocument"] for policy in properties.get("Policies", [])]
        documents += [properties[name] for name in ("PolicyDocument", "KeyPolicy") if name in properties]
        return [statement for document in documents for statement in document["Statement"]]


def build(template: Mapping[str, Any] | None = None, **parameters: str) -> Stack:
    """Translate and work out a template, with these parameters besides `GIVEN` and the defaults."""
    body = copy.deepcopy(dict(template)) if template is not None else source()
    values = {
        name: str(parameter["Default"])
        for name, parameter in body["Parameters"].items()
        if "Default" in parameter
    }
    values |= GIVEN | parameters
    plain = transform(_with_code(body), values, _NoManagedPolicies())
    return _Resolver(plain, values).stack()


def _with_code(body: dict[str, Any]) -> dict[str, Any]:
    """SAM translates only what stands in a bucket already."""
    stored = {"Bucket": "artifacts", "Key": "code.zip"}
    body["Globals"]["Function"]["CodeUri"] = stored
    for resource in body["Resources"].values():
        if resource["Type"] == "AWS::Serverless::LayerVersion":
            resource["Properties"]["ContentUri"] = stored
    return body


class _NoManagedPolicies:
    def load(self) -> dict[str, str]:
        return {}


@dataclass
class _Resolver:
    template: Mapping[str, Any]
    parameters: Mapping[str, str]
    _conditions: dict[str, bool] = field(default_factory=dict)

    def stack(self) -> Stack:
        resources = {
            logical_id: self.value(resource)
            for logical_id, resource in self.template["Resources"].items()
            if "Condition" not in resource or self.condition(resource["Condition"])
        }
        outputs = {name: self.value(output["Value"]) for name, output in self.template["Outputs"].items()}
        refs = {logical_id: str(self.ref(logical_id)) for logical_id in resources}
        known = [name for name in resources if self.template["Resources"][name]["Type"] in _ARN_FORMS]
        return Stack(resources, outputs, refs, {name: self.attribute(name, "Arn") for name in known})

    def condition(self, name: str) -> bool:
        if name not in self._conditions:
            self._conditions[name] = bool(self.value(self.template["Conditions"][name]))
        return self._conditions[name]

    def value(self, raw: Any) -> Any:
        if isinstance(raw, list):
            return [made for made in map(self.value, raw) if made is not _NO_VALUE]
        if not isinstance(raw, dict):
            return raw
        if len(raw) == 1:
            ((name, argument),) = raw.items()
            if name == "Ref":
                return self.ref(argument)
            if name.startswith("Fn::"):
                return self._function(name)(argument)
        made = {key: self.value(item) for key, item in raw.items()}
        return {key: item for key, item in made.items() if item is not _NO_VALUE}

    def _function(self, name: str) -> Callable[[Any], Any]:
        known: dict[str, Callable[[Any], Any]] = {
            "Fn::And": lambda parts: all(self.value(part) for part in parts),
            "Fn::Equals": lambda pair: self.value(pair[0]) == self.value(pair[1]),
            "Fn::GetAtt": lambda pair: self.attribute(*pair),
            "Fn::If": lambda three: self.value(three[1] if self.condition(three[0]) else three[2]),
            "Fn::Not": lambda one: not self.value(one[0]),
            "Fn::Select": lambda pair: self.value(pair[1])[int(pair[0])],
            "Fn::Split": lambda pair: str(self.value(pair[1])).split(pair[0]),
            "Fn::Sub": self.sub,
        }
        return known[name]

    def sub(self, argument: Any) -> str:
        text, own = (argument, {}) if isinstance(argument, str) else argument

        def fill(match: re.Match[str]) -> str:
            name = match[1]
            if name in own:
                return str(self.value(own[name]))
            logical_id, dot, attribute = name.partition(".")
            return str(self.attribute(logical_id, attribute) if dot else self.ref(name))

        return re.sub(r"\$\{([^!}]+)\}", fill, text)

    def ref(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return _NO_VALUE
        if name in _PSEUDO:
            return _PSEUDO[name]
        if name in self.parameters:
            return self.parameters[name]
        kind = self.template["Resources"][name]["Type"]
        if kind in {"AWS::IAM::ManagedPolicy", "AWS::SNS::Topic"}:
            return self.attribute(name, "Arn")
        if kind == "AWS::SQS::Queue":
            return f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{self._name(name)}"
        return self._name(name)

    def attribute(self, logical_id: str, attribute: str) -> str:
        kind = self.template["Resources"][logical_id]["Type"]
        if attribute == "QueueName" and kind == "AWS::SQS::Queue":
            return self._name(logical_id)
        assert attribute in {"Arn", "TopicArn"}, f"{logical_id}.{attribute} is not known here"
        form = _ARN_FORMS[kind].format(region=REGION, account=ACCOUNT, name=self._name(logical_id))
        return f"arn:aws:{form}"

    def _name(self, logical_id: str) -> str:
        properties = self.template["Resources"][logical_id].get("Properties", {})
        given = next((properties[name] for name in _NAME_PROPERTIES if name in properties), None)
        return str(self.value(given)) if given is not None else f"{STACK_NAME}-{logical_id}"
