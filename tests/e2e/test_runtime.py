"""The packaged function under the real runtime interface: handler path, layers, init, errors, time-out."""

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from proctor_local.deployed import ROOT
from tests.e2e.figures import FIGURES
from tests.e2e.lambda_runtime import LAYERS, PYTHON, Runtime, running_function
from tests.e2e.world import World

pytestmark = [pytest.mark.stack, pytest.mark.timeout(180)]

HANDLER = "session_limits.entry.lambda_handler"
INIT_AT_MOST_SECONDS = 5.0
_INIT = re.compile(r"INIT REPORT\(durationMs: ([\d.]+)\)|Init Duration: ([\d.]+) ms")


@pytest.fixture(scope="module")
def variables(world: World) -> dict[str, str]:
    """What the deployed function has in its environment, and where its AWS is."""
    configured = world.stack.configuration()
    assert configured["Handler"] == HANDLER
    return {
        **configured["Environment"]["Variables"],
        **world.stack.environment(),
        "AWS_REGION": world.local.region,
    }


@pytest.fixture(scope="module")
def runtime(variables: dict[str, str]) -> Iterator[Runtime]:
    with running_function(HANDLER, 60, variables) as found:
        yield found


def manual(**more: Any) -> dict[str, Any]:
    return {
        "source": "proctor.manual",
        "requested_by": "ops@uni.example",
        "justification": "ticket 1",
        "dry_run": True,
        **more,
    }


@pytest.mark.parametrize("package", ["botocore", "pydantic", "aws_lambda_powertools", "proctor"])
def test_the_runtime_itself_has_nothing_that_the_layers_must_bring(package: str) -> None:
    found = subprocess.run([PYTHON, "-I", "-c", f"import {package}"], capture_output=True, check=False)
    assert b"ModuleNotFoundError" in found.stderr


def test_layers_are_precompiled(world: World) -> None:
    for layer in LAYERS:
        sources = [p for p in layer.rglob("*.py") if "__pycache__" not in p.parts]
        assert sources
        bare = [p for p in sources if not list(p.parent.glob(f"__pycache__/{p.stem}.cpython-313.pyc"))]
        assert bare == []


def test_the_handler_is_found_and_answers(runtime: Runtime, world: World) -> None:
    ada = world.someone()
    session_id = world.start(ada)
    world.settle()
    answer = runtime.invoke(manual(scope={"kind": "person", "id": ada}))
    (outcome,) = answer["outcomes"]
    assert (outcome["subject"], outcome["reason"]) == (f"session#{session_id}", "allowed")


def test_a_batch_of_the_queue_is_answered_as_lambda_wants_it(runtime: Runtime, world: World) -> None:
    batch = json.loads((ROOT / "events" / "session_limits" / "sqs_batch.json").read_text())
    assert runtime.invoke(batch) == {"batchItemFailures": []}
    (letter,) = world.stack.take_dead_letters()
    assert json.loads(letter)["error"].startswith("InvalidInputError: Records[].body")


def test_an_error_carries_its_type_and_message(runtime: Runtime) -> None:
    answer = runtime.invoke(manual(scop={}))
    assert answer["errorType"] == "InvalidInputError"
    assert answer["errorMessage"].startswith("scop: ")


def test_init_is_short(runtime: Runtime) -> None:
    runtime.invoke(manual(scop={}))
    found = _INIT.search(runtime.log())
    assert found is not None, runtime.log()
    FIGURES["init_seconds"] = float(found[1] or found[2]) / 1000
    assert FIGURES["init_seconds"] <= INIT_AT_MOST_SECONDS


def test_after_a_time_out_the_next_invocation_starts_anew(variables: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with running_function(HANDLER, 4, {**variables, "AWS_ENDPOINT_URL": endpoint}) as runtime:
            answer = runtime.invoke(manual(scope={"kind": "all"}))
            assert "Task timed out after 4.00 seconds" in str(answer)
            assert runtime.invoke(manual(scop={}))["errorType"] == "InvalidInputError"


def test_a_missing_setting_is_named(variables: dict[str, str]) -> None:
    without = {name: value for name, value in variables.items() if name != "PROCTOR_SENDER"}
    with running_function(HANDLER, 30, without) as runtime:
        answer = runtime.invoke(manual(scope={"kind": "all"}))
    assert answer["errorType"] == "InvalidInputError"
    assert "PROCTOR_SENDER" in answer["errorMessage"]
