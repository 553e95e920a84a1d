"""What the import of a function costs: nothing is built, read or reached before the first invocation."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proctor.adapters.aws_clients import AwsClients

ROOT = Path(__file__).parents[2]
PATHS = (str(ROOT / "layers" / "proctor"), str(ROOT / "functions"))

WATCHED = """
import json, os, sys
seen = {"sockets": [], "files": [], "environment": []}

def watch(event, args):
    # urllib3 binds one to ::1 to learn whether there is IPv6; nothing is reached by that.
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        seen["sockets"].append(event)
    if event == "open" and isinstance(args[0], str) and "/data/" in args[0] and args[0].endswith((".json", ".json.gz")):
        seen["files"].append(args[0])

class Environment(dict):
    def _note(self, name):
        if isinstance(name, str) and name.startswith(("AWS_", "PROCTOR_", "POWERTOOLS_")):
            frame = sys._getframe(2)
            module = frame.f_globals.get("__name__", "")
            if module.split(".")[0] in ("proctor", "session_limits"):
                seen["environment"].append(f"{module}: {name}")
    def __getitem__(self, name):
        self._note(name)
        return super().__getitem__(name)
    def get(self, name, default=None):
        self._note(name)
        return super().get(name, default)
    def __contains__(self, name):
        self._note(name)
        return super().__contains__(name)

os.environ = Environment(os.environ)
sys.addaudithook(watch)
import session_limits.app
import botocore.client
made = [o for o in __import__("gc").get_objects() if isinstance(o, botocore.client.BaseClient)]
print(json.dumps({**seen, "clients": len(made), "modules": sorted(sys.modules)}))
"""


def _python(code: str) -> str:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PROCTOR_"))
    }
    environment |= {"PYTHONPATH": os.pathsep.join(PATHS), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_python(WATCHED))
    return found


def test_importing_a_function_builds_no_client_and_opens_no_socket(seen: dict[str, Any]) -> None:
    assert seen["clients"] == 0
    assert seen["sockets"] == []


def test_importing_a_function_reads_no_environment_and_no_service_model(seen: dict[str, Any]) -> None:
    """Importing works without a Region, credentials or a single PROCTOR_ variable."""
    assert seen["environment"] == []
    assert seen["files"] == []


@pytest.mark.parametrize(
    "module",
    [
        "boto3",
        "s3transfer",
        "aws_xray_sdk",
        "aws_lambda_powertools.utilities.idempotency",
        "aws_lambda_powertools.utilities.parser",
        "pydantic.v1",
        "proctor.ports.agents",
        "proctor.ports.budgets",
        "proctor.ports.slurm",
        "proctor.domain.money",
        "proctor.domain.slurm_state",
    ],
)
def test_what_costs_much_and_serves_nothing_is_not_imported(seen: dict[str, Any], module: str) -> None:
    assert module not in seen["modules"]


def test_a_client_is_made_at_its_first_use_and_once() -> None:
    clients = AwsClients()

    assert clients.ssm() is clients.ssm()
    assert clients.ssm() is not AwsClients().ssm()


def test_there_is_a_client_for_each_service() -> None:
    clients = AwsClients()
    made = [
        clients.ssm(),
        clients.dynamodb(),
        clients.sagemaker(),
        clients.sesv2(),
        clients.sns(),
        clients.sqs(),
        clients.events(),
    ]

    names = [client.meta.service_model.service_name for client in made]
    assert names == ["ssm", "dynamodb", "sagemaker", "sesv2", "sns", "sqs", "events"]
    for client in made:
        config: Any = client.meta.config
        assert (config.connect_timeout, config.read_timeout) == (3, 10)
        assert config.retries == {"mode": "standard", "total_max_attempts": 5}


def test_the_endpoint_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")

    assert AwsClients().ssm().meta.endpoint_url == "http://127.0.0.1:4566"
