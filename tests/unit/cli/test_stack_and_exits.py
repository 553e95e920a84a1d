"""Finding the stack, and how what AWS says becomes an exit code and one line."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from botocore.exceptions import (
    BotoCoreError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    ProfileNotFound,
    UnauthorizedSSOTokenError,
)
from botocore.stub import Stubber

from proctor.adapters.aws_errors import translated
from proctor.domain.decision import Mode
from proctor.domain.errors import (
    ContendedError,
    DeniedError,
    InvalidInputError,
    NotFoundError,
    ProctorError,
    TerminalError,
    ThrottledError,
)
from proctor_cli.clients import CliClients
from proctor_cli.exits import Exit, RefusedError, UsageError, exit_of, message_of
from proctor_cli.governed import FUNCTIONS
from proctor_cli.main import main
from proctor_cli.stack import FUNCTION_OUTPUTS, STACK_OUTPUTS, output_of, read_stack

ROOT = Path(__file__).parents[3]


class _Loader(yaml.SafeLoader):
    """Reads CloudFormation's short forms as plain values."""


_Loader.add_multi_constructor("!", lambda loader, _, node: getattr(node, "value", None))


def test_the_template_has_every_output_that_the_command_reads() -> None:
    outputs = yaml.load((ROOT / "template.yaml").read_text(), _Loader)["Outputs"].keys()  # noqa: S506 - a SafeLoader
    wanted = {
        *STACK_OUTPUTS,
        *(output_of(function, what) for function in FUNCTIONS for what in FUNCTION_OUTPUTS),
    }
    assert wanted <= outputs


def _stack(**more: Any) -> dict[str, Any]:
    outputs = {"ClusterNames": "gpu,,cpu ", "ApplyActions": "true", **more}
    return {
        "Stacks": [
            {
                "StackName": "proctor",
                "StackId": "arn:aws:cloudformation:eu-central-1:123456789012:stack/proctor/1",
                "CreationTime": "2026-01-01T00:00:00Z",
                "StackStatus": "UPDATE_COMPLETE",
                "Outputs": [{"OutputKey": k, "OutputValue": v} for k, v in outputs.items()],
            }
        ]
    }


def test_a_stack_is_read_from_its_outputs() -> None:
    clients = CliClients("eu-central-1")
    with Stubber(clients.cloudformation()) as stub:
        stub.add_response("describe_stacks", _stack(PeopleTableName="people"), {"StackName": "proctor"})
        stack = read_stack(clients, "proctor")
    assert (stack.account_id, stack.region, stack.status) == (
        "123456789012",
        "eu-central-1",
        "UPDATE_COMPLETE",
    )
    assert stack.clusters == ("gpu", "cpu")
    assert stack.bound is Mode.APPLY
    assert stack.output("PeopleTableName") == "people"
    with pytest.raises(ProctorError, match="no output 'ClaimsTableName'; deploy the template"):
        stack.output("ClaimsTableName")


@pytest.mark.parametrize(
    ("code", "text", "kind"),
    [
        ("ValidationError", "Stack with id nope does not exist", NotFoundError),
        ("ValidationError", "1 validation error detected", TerminalError),
        ("Throttling", "Rate exceeded", ThrottledError),
        ("AccessDenied", "not yours", DeniedError),
    ],
)
def test_a_throttle_is_never_read_as_no_such_stack(code: str, text: str, kind: type[Exception]) -> None:
    clients = CliClients("eu-central-1")
    with Stubber(clients.cloudformation()) as stub:
        stub.add_client_error("describe_stacks", code, text)
        with pytest.raises(kind) as raised:
            read_stack(clients, "nope")
    assert raised.type is kind


def test_an_endpoint_of_the_callers_own_is_every_clients() -> None:
    clients = CliClients("eu-central-1", endpoint_url="http://127.0.0.1:4566")
    made = (clients.dynamodb(), clients.ssm(), clients.sqs(), clients.sts(), clients.cloudformation())
    assert {client.meta.endpoint_url for client in made} == {"http://127.0.0.1:4566"}
    assert (
        CliClients("eu-central-1").functions().meta.endpoint_url
        == "https://lambda.eu-central-1.amazonaws.com"
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("--until", "x", "fix"), Exit.USAGE),
        (InvalidInputError("mode", "on", "fix"), Exit.FAILED),
        (NotFoundError("stack"), Exit.NOT_FOUND),
        (DeniedError("no"), Exit.REFUSED),
        (RefusedError("file"), Exit.REFUSED),
        (ThrottledError("slow down"), Exit.TRY_LATER),
        (ContendedError("lost"), Exit.TRY_LATER),
        (TerminalError("bad"), Exit.FAILED),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error: Exception, code: Exit) -> None:
    assert exit_of(error) is code
    assert "\n" not in message_of(error)


@pytest.mark.parametrize(
    ("cause", "code", "told"),
    [
        (NoRegionError(), Exit.USAGE, "give --region"),
        (ProfileNotFound(profile="x"), Exit.USAGE, "--profile"),
        (NoCredentialsError(), Exit.REFUSED, "sign in first"),
        (UnauthorizedSSOTokenError(), Exit.REFUSED, "the sign-in has expired"),
        (EndpointConnectionError(endpoint_url="https://x"), Exit.TRY_LATER, "check the network"),
    ],
)
def test_what_botocore_says_comes_with_its_fix_bare_or_translated(
    cause: BotoCoreError, code: Exit, told: str
) -> None:
    def call() -> None:
        raise cause

    with pytest.raises(ProctorError) as raised, translated("ssm:GetParameter"):
        call()
    for error in (cause, raised.value):
        assert exit_of(error) is code
        assert told in message_of(error)


def test_without_a_region_there_is_one_line_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert main(["status"]) == Exit.USAGE
    assert capsys.readouterr().err == "proctor: region: none is set; give --region or set AWS_REGION\n"


def test_an_unknown_profile_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--profile", "nope", "--json"]) == Exit.USAGE
    assert '"exit_code": 2' in capsys.readouterr().err


def test_an_endpoint_that_does_not_answer_is_try_again_later(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--endpoint-url", "http://127.0.0.1:9"]) == Exit.TRY_LATER
    assert "check the network" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_failure(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        f"sys.path[:0] = {[str(ROOT / p) for p in ('layers/proctor', 'functions', 'cli')]!r}\n"
        "from proctor_cli.main import main\n"
        "sys.exit(main(['completion', 'bash']))"
    )
    shell = f'{sys.executable} -c "$CODE" | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}'
    done = subprocess.run(
        ["/bin/bash", "-c", shell],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={"CODE": code},
        cwd=tmp_path,
    )
    assert (done.stdout, done.stderr) == ("0\n", "")
