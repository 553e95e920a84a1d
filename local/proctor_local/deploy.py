"""Deploys the built template, unmodified, to the local AWS.

``python -m proctor_local.deploy --endpoint URL``.

Zips the folders that ``sam build`` made, puts them into a bucket, and lets CloudFormation (with its SAM
transform) do the rest. What ``sam deploy`` does, without the CLI's own seconds. Needs PyYAML, which the
emulator's environment has.
"""

import argparse
import contextlib
import hashlib
import io
import json
import sys
import time
import zipfile
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from proctor_local.aws_client import AwsClient, AwsError, text_of
from proctor_local.control import LocalAwsClient

BUCKET = "proctor-local-artifacts"
DEPLOY_SECONDS = 120.0
_FOLDERS = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}
_DONE = ("CREATE_COMPLETE", "UPDATE_COMPLETE")
_EARLIEST = (1980, 1, 1, 0, 0, 0)
type Say = Callable[[str], None]


def _silent(_text: str) -> None:
    """Say nothing."""


class DeployError(RuntimeError):
    """The stack didn't reach a complete state; the message names the resource and CloudFormation's reason."""


def deploy(
    local: LocalAwsClient,
    template: Path,
    stack: str,
    parameters: Mapping[str, str] | None = None,
    say: Say = _silent,
) -> dict[str, str]:
    """Create or update a stack from a built template; its outputs. Raises DeployError, AwsError.

    Also refuses a stack whose event source mappings can't read their queues, which AWS refuses at creation.
    """
    client = local.aws()
    body = load_template(template)
    for line in upload(client, body, template.parent):
        say(line)
    verb = _submit(client, stack, _stored(client, local.endpoint, body), parameters or {})
    if verb:
        say(f"{verb} {stack}")
        _wait(client, stack, say)
    refused = local.control("GET", "mappings")
    if refused:
        raise DeployError(
            "; ".join(f"{item['function']} can't read {item['queue']}: {item['reason']}" for item in refused)
        )
    return outputs(client, stack)


def load_template(path: Path) -> dict[str, Any]:
    """A template with its short forms (``!Ref``, ``!GetAtt``) written out."""
    yaml = import_module("yaml")

    class Loader(yaml.SafeLoader):  # type: ignore[misc, name-defined]
        pass

    def tagged(loader: Any, suffix: str, node: Any) -> Any:
        value: Any
        if isinstance(node, yaml.ScalarNode):
            value = loader.construct_scalar(node)
        elif isinstance(node, yaml.SequenceNode):
            value = loader.construct_sequence(node, deep=True)
        else:
            value = loader.construct_mapping(node, deep=True)
        if suffix == "GetAtt" and isinstance(value, str):
            value = value.split(".", 1)
        return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}

    Loader.add_multi_constructor("!", tagged)
    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    loaded = yaml.load(path.read_text(encoding="utf-8"), Loader)
    if not isinstance(loaded, dict) or "Resources" not in loaded:
        raise DeployError(f"template = {path}: has no Resources; run `sam build` first")
    return loaded


def upload(client: AwsClient, body: dict[str, Any], folder: Path) -> list[str]:
    """Zip and store every local code folder, once each, and point the template at it.

    What was done, as lines.
    """
    with contextlib.suppress(AwsError):
        client.rest("s3", "PUT", f"/{BUCKET}", _bucket_body(client.region))
    stored: dict[str, dict[str, str]] = {}
    lines = []
    for resource in body["Resources"].values():
        name = _FOLDERS.get(resource.get("Type", ""), "")
        source = resource.get("Properties", {}).get(name)
        if not isinstance(source, str) or source.startswith("s3:"):
            continue
        if source not in stored:
            archive = zipped(folder / source)
            key = f"{hashlib.sha256(archive).hexdigest()[:32]}.zip"
            client.rest("s3", "PUT", f"/{BUCKET}/{key}", archive)
            stored[source] = {"Bucket": BUCKET, "Key": key}
            lines.append(f"stored {source} ({len(archive) // 1024} KB)")
        resource["Properties"][name] = dict(stored[source])
    return lines


def zipped(folder: Path) -> bytes:
    """A folder as a zip whose bytes depend on nothing but its content."""
    if not folder.is_dir():
        raise DeployError(f"code = {folder}: is not a folder; run `sam build` first")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(str(path.relative_to(folder)), _EARLIEST)
                entry.external_attr = (path.stat().st_mode & 0xFFFF) << 16
                archive.writestr(entry, path.read_bytes())
    return buffer.getvalue()


def outputs(client: AwsClient, stack: str) -> dict[str, str]:
    """The outputs of a stack by key."""
    answer = client.query("cloudformation", "DescribeStacks", StackName=stack)
    members = [e for e in answer.iter() if any(child.tag.endswith("OutputKey") for child in e)]
    return {text_of(member, "OutputKey"): text_of(member, "OutputValue") for member in members}


def _stored(client: AwsClient, endpoint: str, body: Mapping[str, Any]) -> str:
    """Store the template, as `sam deploy` does, since a request carries 51,200 bytes at most; its URL."""
    text = json.dumps(body).encode()
    key = f"{hashlib.sha256(text).hexdigest()[:32]}.template"
    client.rest("s3", "PUT", f"/{BUCKET}/{key}", text)
    return f"{endpoint}/{BUCKET}/{key}"


def _submit(client: AwsClient, stack: str, template_url: str, parameters: Mapping[str, str]) -> str:
    members: dict[str, Any] = {
        "StackName": stack,
        "TemplateURL": template_url,
        "Capabilities": ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"],
        "Parameters": [{"ParameterKey": k, "ParameterValue": v} for k, v in parameters.items()],
    }
    verb = "UpdateStack" if _exists(client, stack) else "CreateStack"
    try:
        client.query("cloudformation", verb, **members)
    except AwsError as error:
        if "No updates are to be performed" in error.message:
            return ""
        raise
    return verb


def _exists(client: AwsClient, stack: str) -> bool:
    try:
        answer = client.query("cloudformation", "DescribeStacks", StackName=stack)
    except AwsError:
        return False
    return text_of(answer, "StackStatus") not in ("", "DELETE_COMPLETE")


def _wait(client: AwsClient, stack: str, say: Say) -> None:
    deadline, last = time.monotonic() + DEPLOY_SECONDS, ""
    while time.monotonic() < deadline:
        answer = client.query("cloudformation", "DescribeStacks", StackName=stack)
        status = text_of(answer, "StackStatus")
        if status != last:
            say(f"{stack}: {status}")
            last = status
        if status in _DONE:
            return
        if status.endswith(("FAILED", "ROLLBACK_COMPLETE")):
            raise DeployError(
                f"{stack}: {status}: {_reason(client, stack) or text_of(answer, 'StackStatusReason')}"
            )
        time.sleep(0.1)
    raise DeployError(f"{stack}: still {last} after {DEPLOY_SECONDS} s")


def _reason(client: AwsClient, stack: str) -> str:
    answer = client.query("cloudformation", "DescribeStackEvents", StackName=stack)
    failed = [
        e
        for e in answer.iter()
        if any(child.tag.endswith("ResourceStatus") for child in e)
        and text_of(e, "ResourceStatus").endswith("FAILED")
    ]
    return "; ".join(
        f"{text_of(e, 'LogicalResourceId')}: {text_of(e, 'ResourceStatusReason')}" for e in failed[-3:]
    )


def _bucket_body(region: str) -> bytes:
    if region == "us-east-1":
        return b""
    return (
        f"<CreateBucketConfiguration><LocationConstraint>{region}</LocationConstraint>"
        "</CreateBucketConfiguration>"
    ).encode()


def main(arguments: list[str] | None = None) -> int:
    """The command line; prints progress, then the outputs as JSON."""
    parser = argparse.ArgumentParser(prog="proctor_local.deploy", description=__doc__)
    parser.add_argument("--endpoint", required=True, help="such as http://127.0.0.1:4566")
    parser.add_argument("--template", type=Path, default=Path(".aws-sam/build/template.yaml"))
    parser.add_argument("--stack", default="proctor")
    parser.add_argument("--region", default="eu-west-1")
    parser.add_argument("--account", default="123456789012")
    parser.add_argument("--parameter", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args(arguments)
    parameters = dict(pair.split("=", 1) for pair in options.parameter)
    local = LocalAwsClient(options.endpoint, options.account, options.region)
    began = time.monotonic()
    try:
        found = deploy(
            local, options.template, options.stack, parameters, lambda text: print(text, flush=True)
        )
    except (DeployError, AwsError) as error:
        print(f"not deployed: {error}", file=sys.stderr)
        return 1
    print(f"deployed in {time.monotonic() - began:.1f} s")
    print(json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
