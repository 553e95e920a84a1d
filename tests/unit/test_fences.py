"""The fences themselves: the network ban, the import rules and the size limits refuse what they should."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.sizes import size_problems
from tests.conftest import NetworkBannedError

ROOT = Path(__file__).parents[2]

SEEDED = [
    ("layers/proctor/proctor/domain/leases.py", "import boto3"),
    ("layers/proctor/proctor/ports/__init__.py", "import proctor.adapters.items"),
    ("layers/proctor/proctor/ports/budgets.py", "import proctor.wire.parsing"),
    ("layers/proctor/proctor/adapters/items.py", "import aws_lambda_powertools"),
    ("layers/proctor/proctor/runtime/settings.py", "import proctor.adapters.items"),
    ("functions/session_limits/decide.py", "import proctor.ports"),
    ("functions/session_limits/victims.py", "import pydantic"),
    ("functions/session_limits/observe.py", "import session_limits.app"),
]


@pytest.mark.parametrize("host", ["192.0.2.1", "example.org"])
def test_a_test_can_reach_nothing_but_this_machine(host: str) -> None:
    with pytest.raises(NetworkBannedError, match=host):
        socket.create_connection((host, 80), timeout=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("file", "line"), SEEDED)
def test_the_import_rules_notice_a_forbidden_import(tmp_path: Path, file: str, line: str) -> None:
    for folder in ("layers/proctor/proctor", "functions", "agent", "scripts"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    seeded = tmp_path / file
    seeded.write_text(seeded.read_text() + f"\n{line}\n")
    env = os.environ | {"PYTHONPATH": "layers/proctor:functions:agent:."}
    argv = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    done = subprocess.run(
        argv, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode != 0, done.stdout
    assert "BROKEN" in done.stdout


def test_a_module_and_a_function_that_grew_too_long_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "functions/grown"
    folder.mkdir(parents=True)
    long_function = "def long() -> None:\n" + "    print()\n" * 41
    (folder / "decide.py").write_text(long_function + "x = 1\n" * 300)
    found = list(size_problems(tmp_path, ("functions",)))
    assert any("lines, at most 300" in line or "300" in line for line in found)
    assert any("long()" in line for line in found)
