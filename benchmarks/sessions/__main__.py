"""`python -m benchmarks.sessions [BUILD]`: all speeds of session_limits, into benchmarks/RESULTS.md; key=value last."""

import json
import platform
import sys
import tempfile
from pathlib import Path

from benchmarks.sessions.cold import cold_starts, import_times
from benchmarks.sessions.latency import event_to_end
from benchmarks.sessions.results import LIMITS, Measured, written
from benchmarks.sessions.running import ROOT, calls_since, lambda_env, python_for_lambda, run, stub_aws
from benchmarks.sessions.subjects import start_event

EVENT = json.dumps(start_event())
SIZES = (100, 1_000, 10_000)


def inside(build: Path, sessions: int, *arguments: str) -> tuple[dict[str, float], dict[str, int]]:
    """Run `inside.py` against a stub with so many sessions; its figures and the AWS calls it made."""
    script = str(Path(__file__).with_name("inside.py"))
    with stub_aws(sessions) as endpoint, tempfile.TemporaryDirectory() as folder:
        argv = [python_for_lambda(), script, *arguments]
        figures: dict[str, float] = json.loads(
            run(argv, lambda_env(endpoint, build), Path(folder)).splitlines()[-1]
        )
        return figures, calls_since(endpoint)


def calls_per_start(build: Path, sessions: int) -> float:
    """AWS calls of one more warm start within the cap: the difference of two runs, so that one-off reads drop out."""
    (_, few), (_, many) = (
        inside(build, sessions, "warm", "10", EVENT),
        inside(build, sessions, "warm", "110", EVENT),
    )
    return (sum(many.values()) - sum(few.values())) / 100


def measured(build: Path) -> Measured:
    """Everything, one after the other."""
    sweeps = {size: inside(build, size, "sweep") for size in SIZES}
    return Measured(
        cold=cold_starts(build),
        imports=import_times(build),
        warm=inside(build, 100, "warm", "300", EVENT)[0],
        calls={size: calls_per_start(build, size) for size in (100, 10_000)},
        sweeps={size: figures for size, (figures, _) in sweeps.items()},
        sweep_calls={size: sum(made.values()) for size, (_, made) in sweeps.items()},
        latency=event_to_end(build, platform.machine().replace("aarch64", "arm64")),
    )


def main(build: Path) -> int:
    """Measure, write down, compare."""
    found = measured(build)
    figures = found.figures()
    (ROOT / "benchmarks/RESULTS.md").write_text(written(found))
    print(" ".join(f"{name}={value:.2f}" for name, value in figures.items()))  # noqa: T201
    return 1 if any(figures[name] > limit for name, limit in LIMITS.items()) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
