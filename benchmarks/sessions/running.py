"""Starting the stub and the subjects: the built layers on the path, as in Lambda."""

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
SUBJECTS = Path(__file__).with_name("subjects.py")


@contextmanager
def stub_aws(size: int, module: str = "benchmarks.sessions.stub_aws") -> Iterator[str]:
    """The stub as a process of its own; yields its endpoint."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, str(size)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "layers/proctor")))},
    )
    try:
        if process.stdout is None:
            message = "the stub has no output"
            raise RuntimeError(message)
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.terminate()
        process.wait(timeout=10)


def calls_since(endpoint: str) -> dict[str, int]:
    """Calls by operation since the last look."""
    import json  # noqa: PLC0415

    with urllib.request.urlopen(endpoint, timeout=10) as answer:  # noqa: S310 - loopback
        found: dict[str, int] = json.loads(answer.read())
    return found


def lambda_env(endpoint: str, build: Path, function: str = "SessionLimitsFunction") -> dict[str, str]:
    """The environment of a function: layers before the function's own folder, settings, the stub for AWS."""
    paths = [
        build / "DependenciesLayer/python",
        build / "ProctorLayer/python",
        build / function,
    ]
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "PROCTOR_CLUSTERS": "bench",
        "PROCTOR_APPLY_ACTIONS": "true",
        "PROCTOR_CLAIMS_TABLE": "Claims",
        "PROCTOR_VERDICTS_TABLE": "Verdicts",
        "PROCTOR_MEMORY_TABLE": "Memory",
        "PROCTOR_PEOPLE_TABLE": "People",
        "PROCTOR_EXEMPTIONS_TABLE": "Exemptions",
        "PROCTOR_PARKING_QUEUE_URL": f"{endpoint}/123456789012/parking",
        "PROCTOR_OPERATORS_TOPIC_ARN": "arn:aws:sns:us-east-1:123456789012:operators",
        "PROCTOR_EVENT_BUS": "default",
        "PROCTOR_SENDER": "proctor@uni.example",
    }


def python_for_lambda() -> str:
    """The interpreter outside any virtual environment, as the runtime's is."""
    found = subprocess.run([str(ROOT / "scripts/find-python")], check=True, capture_output=True, text=True)
    return found.stdout.strip()


def run(argv: list[str], env: Mapping[str, str], cwd: Path) -> str:
    """Run to the end; raises with the output when it fails."""
    done = subprocess.run(
        argv, env=dict(env), cwd=cwd, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(argv)} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return done.stdout
