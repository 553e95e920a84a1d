"""session_limits in the simulation."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.simulation.core.dice import Dice
from tests.simulation.core.faults import FaultRates
from tests.simulation.core.suite import Suite
from tests.simulation.sessions.people import draw_people
from tests.simulation.sessions.planted.acting import ACTING
from tests.simulation.sessions.planted.deciding import DECIDING
from tests.simulation.sessions.planted.reading import READING
from tests.simulation.sessions.play import play
from tests.simulation.sessions.scenario import PARTS, Scenario, draw_scenario

_CRASH_SEED = 2


def crash_scenario() -> Scenario:
    """A short day of two people, with no other fault, into which a crash is put at every call."""
    humans = draw_people(Dice(_CRASH_SEED).stream("people"), 150.0)
    drawn = draw_scenario(_CRASH_SEED)
    order = {c: {**p, "victim_order": "newest"} for c, p in drawn.policies.items()}
    return Scenario(
        seed=_CRASH_SEED,
        active_seconds=150.0,
        quiet_seconds=600.0,
        is_still=True,
        is_played_twice=False,
        policies=order,
        without=frozenset(h.nick for h in humans[2:]),
    )


def with_crash(scenario: Scenario, call: int, is_after: bool) -> Scenario:
    """The process that makes the n-th call dies there."""
    return replace(scenario, rates=FaultRates(crash_at_call=call, crash_after_call=is_after))


def parts(scenario: Scenario) -> Mapping[str, Mapping[str, Any]]:
    """Faults first, then people."""
    humans = draw_people(Dice(scenario.seed).stream("people"), scenario.active_seconds)
    people = {h.nick: {"without": scenario.without | {h.nick}} for h in humans}
    return {**PARTS, **people}


SUITE = Suite(
    name="session_limits",
    draw=draw_scenario,
    play=play,
    parts=parts,
    planted=(*READING, *DECIDING, *ACTING),
    crash_scenario=crash_scenario,
    with_crash=with_crash,
)
