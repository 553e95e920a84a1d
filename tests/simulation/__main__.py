"""`python -m tests.simulation --seeds 2000`: all seeds, a crash at every call, all planted bugs. `--seed 7` tells one story.

Prints progress; the last line is `seeds=… violations=… planted=… caught=…`. Exits with 1 when an invariant broke or a
planted bug was not caught.
"""

import argparse
import os
import sys
import time

from tests.simulation.core.suite import Suite, shrink, told
from tests.simulation.jobs import Pool, Tally, shrinkable
from tests.simulation.suites import SUITES

_PLANTED_SEEDS = 400
_STORIES = 3


def main() -> int:
    """Parse the command line and run."""
    _fix_hashes()
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds to play")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, help="play one seed and tell its story")
    parser.add_argument("--planted", default="", help="with --seed: plant the bug whose name contains this")
    parser.add_argument("--suite", default="", help="only the function whose name contains this")
    parser.add_argument("--lines", type=int, default=100_000, help="with --seed: how many lines to tell")
    options = parser.parse_args()
    if options.seed is not None:
        return _tell(options.suite, options.seed, options.planted, options.lines)
    return _run_all(options.suite, options.seeds, options.first, options.processes)


def _fix_hashes() -> None:
    """One seed is one run, whatever Python's random hashing would do to the order of sets."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "PYTHONHASHSEED": "0"})  # noqa: S606 - no shell


def _tell(name: str, seed: int, planted: str, lines: int) -> int:
    suite = next(s for s in SUITES if name in s.name)
    bug = next((b for b in suite.planted if planted and planted in b.name), None)
    if bug is None:
        result = suite.play(suite.draw(seed))
    else:
        with bug.planted():
            result = suite.play(suite.draw(seed))
    _say(f"{suite.draw(seed)}")
    for line in result.story.ending(lines):
        _say(line)
    _say(f"{result.calls} port calls; {result.broken or 'every invariant holds'}")
    return 1 if result.broken else 0


def _run_all(name: str, seeds: int, first: int, processes: int) -> int:
    totals = (0, 0, 0, 0)
    for number in (n for n, suite in enumerate(SUITES) if name in suite.name):
        counts = _run(number, range(first, first + seeds), processes)
        totals = tuple(a + b for a, b in zip(totals, counts, strict=True))  # type: ignore[assignment]
    played, violations, planted, caught = totals
    _say(f"seeds={played} violations={violations} planted={planted} caught={caught}")
    return 0 if violations == 0 and planted == caught else 1


def _run(number: int, seeds: range, processes: int) -> tuple[int, int, int, int]:
    """One suite: seeds, violations, planted, caught."""
    suite, started = SUITES[number], time.monotonic()

    def say(text: str) -> None:
        _say(f"{suite.name}: {text}")

    with Pool(number, processes) as pool:
        tally = pool.seeds(seeds, say)
        say(f"{tally.text()} in {time.monotonic() - started:.0f} s")
        crashes = pool.crash_points(say)
        say(f"crash points={crashes.runs} violations={len(crashes.broken)}")
        caught = pool.planted(_PLANTED_SEEDS, say)
    _explain(suite, tally)
    for what, text in crashes.broken.items():
        say(f"crash {what}: {text}")
    violations = len(tally.broken) + len(crashes.broken)
    return tally.runs, violations, len(suite.planted), sum(caught.values())


def _explain(suite: Suite, tally: Tally) -> None:
    """Shrink the first few broken seeds and tell their last steps."""
    for seed, text in list(tally.broken.items())[:_STORIES]:
        scenario, left_out = shrinkable(suite, seed, shrink)
        result = suite.play(scenario)
        _say(f"\n{suite.name}: seed {seed}: {text}")
        _say(f"it breaks without {', '.join(left_out) or 'nothing less'}; what is left: {scenario}")
        for line in told(result):
            _say(line)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
