"""What a function brings to the simulation: scenarios by seed, a way to play them, what to leave out, and planted bugs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tests.simulation.core.planting import PlantedBug
from tests.simulation.core.story import Story
from tests.simulation.core.violation import ViolationError


class Scenario(Protocol):
    """A frozen dataclass with a seed."""

    @property
    def seed(self) -> int: ...


class Result(Protocol):
    """One run: what broke, or None, and its story."""

    @property
    def broken(self) -> ViolationError | None: ...

    @property
    def story(self) -> Story: ...

    @property
    def calls(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Suite:
    """One function's part. `parts`: what shrinking may leave out, as changes of scenario fields."""

    name: str
    draw: Callable[[int], Any]
    play: Callable[[Any], Result]
    parts: Callable[[Any], Mapping[str, Mapping[str, Any]]]
    planted: Sequence[PlantedBug]
    crash_scenario: Callable[[], Any]
    with_crash: Callable[[Any, int, bool], Any]


def shrink(suite: Suite, scenario: Any, invariant: str) -> tuple[Any, list[str]]:
    """Leave out one part after another as long as the same invariant breaks. Answers the scenario and what was left out."""
    left_out: list[str] = []
    for name in suite.parts(scenario):
        smaller = replace(scenario, **suite.parts(scenario)[name])
        if smaller == scenario:
            continue
        broken = suite.play(smaller).broken
        if broken is not None and broken.invariant == invariant:
            scenario = smaller
            left_out.append(name)
    return scenario, left_out


def told(result: Result, *, about: int = 60, ending: int = 25) -> list[str]:
    """The story of a broken run: what concerns the broken invariant, then the last steps."""
    if result.broken is None:
        return result.story.ending(ending)
    return [
        str(result.broken),
        "  -- what concerns it --",
        *result.story.about(result.broken.about, about),
        "  -- the last steps --",
        *result.story.ending(ending),
    ]
