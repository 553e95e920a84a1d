"""Lambda's own runtime interface emulator around the packaged function: what `sam build` made, run as the service runs it."""

import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor_local.deployed import ROOT

BUILT = ROOT / ".aws-sam-local" / "build"
PYTHON = ROOT / ".runtime" / "bin" / "python"
FUNCTION = BUILT / "SessionLimitsFunction"
LAYERS = (BUILT / "DependenciesLayer" / "python", BUILT / "ProctorLayer" / "python")
_MACHINES = {"x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}
_PATH = "/2015-03-31/functions/function/invocations"


def emulator() -> Path:
    """The emulator's binary, which comes with the SAM CLI."""
    name = f"aws-lambda-rie-{_MACHINES[os.uname().machine]}"
    (found,) = (ROOT / ".tools" / "sam" / "lib").glob(f"python3.*/site-packages/samcli/local/rapid/{name}")
    return found


@dataclass(frozen=True)
class Runtime:
    """A running runtime."""

    port: int
    output: Path

    def invoke(self, event: Mapping[str, Any]) -> Any:
        """One invocation; the answer, or what the service says of an error."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST", _PATH, json.dumps(event))
            answer = connection.getresponse().read()
        finally:
            connection.close()
        try:
            return json.loads(answer)
        except ValueError:
            return answer.decode()

    def log(self) -> str:
        """What the function and the platform wrote so far."""
        return self.output.read_text(encoding="utf-8", errors="replace")


@contextmanager
def running_function(handler: str, timeout_seconds: int, variables: Mapping[str, str]) -> Iterator[Runtime]:
    """Run the function with only its code, its layers and the runtime client; ended with the block."""
    port, api_port = free_port(), free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ.get("HOME", "/"),
        "AWS_LAMBDA_FUNCTION_NAME": "proctor-session_limits",
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_TIMEOUT": str(timeout_seconds),
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
        "LAMBDA_TASK_ROOT": str(FUNCTION),
        "PYTHONPATH": os.pathsep.join(map(str, (FUNCTION, *LAYERS))),
        **variables,
    }
    command = [
        *("timeout", "120", str(emulator())),
        *("--runtime-interface-emulator-address", f"127.0.0.1:{port}"),
        *("--runtime-api-address", f"127.0.0.1:{api_port}"),
        *(str(PYTHON), "-m", "awslambdaric", handler),
    ]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "output"
        with output.open("wb") as stream:
            process = subprocess.Popen(
                command, env=environment, cwd=FUNCTION, stdout=stream, stderr=stream, start_new_session=True
            )
            try:
                wait_for_port(port)
                yield Runtime(port, output)
            finally:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(timeout=10)


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def wait_for_port(port: int, seconds: float = 10.0) -> None:
    """Wait until something listens."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return
