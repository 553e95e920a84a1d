"""Cold start: whole process, from its start to the end of the first invocation, interleaved, the minimum of several runs."""

import subprocess
import sysconfig
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from benchmarks.sessions.running import ROOT, SUBJECTS, lambda_env, python_for_lambda, run, stub_aws

RUNS = 15
_TOP = 12


def cold_starts(build: Path, runs: int = RUNS) -> dict[str, float]:
    """Subject → milliseconds. One run of each goes first and isn't counted."""
    python, best = python_for_lambda(), dict[str, float]()
    with stub_aws(100) as endpoint, tempfile.TemporaryDirectory() as folder:
        env, cwd = lambda_env(endpoint, build), Path(folder)
        stock = env | {"PYTHONPATH": sysconfig.get_path("purelib")}
        commands = {
            "boto3": ([python, str(SUBJECTS), "boto3"], stock),
            "boto3_lean": ([python, str(SUBJECTS), "boto3"], env),
            "proctor": ([python, str(SUBJECTS), "proctor"], env),
            "custodian": (
                [str(ROOT / ".bench/bin/python"), str(SUBJECTS), "custodian"],
                {k: v for k, v in env.items() if k != "PYTHONPATH"},
            ),
        }
        for turn in range(runs + 1):
            for name, (argv, variables) in commands.items():
                began = time.perf_counter()
                run(argv, variables, cwd)
                took = 1000 * (time.perf_counter() - began)
                if turn:
                    best[name] = min(took, best.get(name, took))
    return best


def import_times(build: Path) -> list[tuple[str, float]]:
    """Where the import goes: top package → milliseconds of its own time, the largest first."""
    python, spent = python_for_lambda(), defaultdict[str, float](float)
    with stub_aws(100) as endpoint, tempfile.TemporaryDirectory() as folder:
        argv = [python, "-X", "importtime", str(SUBJECTS), "proctor"]
        env = lambda_env(endpoint, build)
        run(argv, env, Path(folder))
        done = subprocess.run(
            argv, env=env, cwd=folder, capture_output=True, text=True, timeout=120, check=True
        )
        for line in done.stderr.splitlines():
            if line.startswith("import time:") and "self" not in line:
                own, _, name = line.removeprefix("import time:").split("|")
                spent[name.strip().partition(".")[0]] += int(own) / 1000
    return sorted(spent.items(), key=lambda item: -item[1])[:_TOP]
