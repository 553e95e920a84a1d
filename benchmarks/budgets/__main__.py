"""`python -m benchmarks.budgets BUILD`: all speeds of budget_holds, into benchmarks/budgets/RESULTS.md; key=value last."""

import json
import sys
import tempfile
from pathlib import Path

from benchmarks.budgets.results import Measured, compared, written
from benchmarks.sessions.running import lambda_env, python_for_lambda, run, stub_aws

SIZES = (10, 100, 500)
KINDS = ("sweep", "message", "usage")
_HERE = Path(__file__).parent


def inside(build: Path, endpoint: str, kind: str) -> dict[str, float]:
    """Run `inside.py` against a stub; its figures."""
    env = lambda_env(endpoint, build, "BudgetHoldsFunction") | {
        "PROCTOR_INTENTS_TABLE": "Intents",
        "PROCTOR_OBSERVED_TABLE": "Observed",
        "PROCTOR_WAKE_QUEUE_URL": f"{endpoint}/123456789012/wake",
        "PROCTOR_ACCOUNT_ID": "123456789012",
    }
    with tempfile.TemporaryDirectory() as folder:
        argv = [python_for_lambda(), str(_HERE / "inside.py"), kind]
        found: dict[str, float] = json.loads(run(argv, env, Path(folder)).splitlines()[-1])
    return found


def measured(build: Path) -> Measured:
    """Every kind at every size, one after the other; the sweep comes first, so that messages find things settled."""
    found: Measured = {}
    for size in SIZES:
        with stub_aws(size, "benchmarks.budgets.stub_aws") as endpoint:
            found[size] = {kind: inside(build, endpoint, kind) for kind in KINDS}
    return found


def main(build: Path) -> int:
    """Measure, write down, compare."""
    found = measured(build)
    (_HERE / "RESULTS.md").write_text(written(found), encoding="utf-8")
    figures = compared(found)
    print(" ".join(f"{name}={value:.2f}" for name, (value, _) in figures.items()))  # noqa: T201
    return 1 if any(value > limit for value, limit in figures.values()) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
