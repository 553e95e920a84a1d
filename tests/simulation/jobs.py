"""Runs of a suite in several processes: chunks of seeds, crash points, planted bugs."""

import gc
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import batched
from multiprocessing import get_context
from types import TracebackType
from typing import Any, Self

from tests.simulation.core.suite import Suite
from tests.simulation.suites import SUITES

type Say = Callable[[str], None]

_CHUNK = 10
_TOLD_EVERY = 200


@dataclass
class Tally:
    """What came of many runs: what broke by seed (or crash point)."""

    runs: int = 0
    calls: int = 0
    broken: dict[Any, str] = field(default_factory=dict)

    def add(self, other: "Tally") -> None:
        """Take another tally in."""
        self.runs += other.runs
        self.calls += other.calls
        self.broken |= other.broken

    def text(self) -> str:
        """One line."""
        return f"seeds={self.runs} violations={len(self.broken)} port_calls={self.calls}"


class Pool:
    """Worker processes for one suite."""

    def __init__(self, suite: int, processes: int) -> None:
        self._suite = suite
        # Not forked: a fork has none of the threads that this process may have kept from a run of its own.
        self._executor = ProcessPoolExecutor(
            max_workers=processes, mp_context=get_context("spawn"), initializer=_begin
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.shutdown(cancel_futures=True)

    def seeds(self, seeds: Iterable[int], say: Say) -> Tally:
        """Play every seed."""
        return self._many(_play_seeds, batched(seeds, _CHUNK), say, "seeds")

    def crash_points(self, say: Say) -> Tally:
        """Play the crash scenario once for each call it makes, with a crash before and after it."""
        suite = SUITES[self._suite]
        calls = suite.play(suite.crash_scenario()).calls
        points = [(call, is_after) for call in range(1, calls + 1) for is_after in (False, True)]
        return self._many(_play_crashes, batched(points, _CHUNK), say, "crash points")

    def planted(self, at_most: int, say: Say) -> dict[str, bool]:
        """Play each planted bug until it is caught; bug → whether it was."""
        bugs, caught = SUITES[self._suite].planted, dict[str, bool]()
        order = sorted(range(len(bugs)), key=lambda number: not bugs[number].is_rare)
        jobs = [self._executor.submit(_catch, self._suite, number, at_most) for number in order]
        for name, seed, invariant in (job.result() for job in as_completed(jobs)):
            caught[name] = seed is not None
            found = f"caught at seed {seed} by invariant {invariant}" if caught[name] else "MISSED"
            say(f"planted: {name}: {found}")
        return caught

    def _many(self, play: Callable[..., Tally], chunks: Iterator[Any], say: Say, what: str) -> Tally:
        tally, told = Tally(), 0
        work = list(chunks)
        for part in self._executor.map(play, [self._suite] * len(work), work):
            tally.add(part)
            for name, text in part.broken.items():
                say(f"{what} {name}: {text}")
            if tally.runs - told >= _TOLD_EVERY:
                told = tally.runs
                say(f"{tally.runs} {what}, {len(tally.broken)} violations")
        return tally


def shrinkable(suite: Suite, seed: int, shrink: Callable[..., Any]) -> tuple[Any, list[str]]:
    """The smallest scenario of a seed that still breaks the same invariant."""
    scenario = suite.draw(seed)
    broken = suite.play(scenario).broken
    found: tuple[Any, list[str]] = (
        (scenario, []) if broken is None else shrink(suite, scenario, broken.invariant)
    )
    return found


def _begin() -> None:
    """What is imported stays; looking through it for garbage takes a twentieth of a run."""
    gc.freeze()
    gc.set_threshold(50_000)


def _play_seeds(suite_number: int, seeds: tuple[int, ...]) -> Tally:
    suite, tally = SUITES[suite_number], Tally()
    for seed in seeds:
        _play(suite, suite.draw(seed), seed, tally)
    return tally


def _play_crashes(suite_number: int, points: tuple[tuple[int, bool], ...]) -> Tally:
    suite, tally = SUITES[suite_number], Tally()
    for call, is_after in points:
        name = f"{'after' if is_after else 'before'} call {call}"
        _play(suite, suite.with_crash(suite.crash_scenario(), call, is_after), name, tally)
    return tally


def _play(suite: Suite, scenario: Any, name: Any, tally: Tally) -> None:
    result = suite.play(scenario)
    tally.runs += 1
    tally.calls += result.calls
    if result.broken is not None:
        tally.broken[name] = str(result.broken)


def _catch(suite_number: int, bug_number: int, at_most: int) -> tuple[str, int | None, str]:
    suite = SUITES[suite_number]
    bug = suite.planted[bug_number]
    for seed in range(at_most):
        with bug.planted():
            broken = suite.play(suite.draw(seed)).broken
        if broken is not None:
            return bug.name, seed, broken.invariant
    return bug.name, None, ""
