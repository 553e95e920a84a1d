"""Planted bugs in the agent."""

from dataclasses import replace
from typing import Any

from proctor.domain.agent_protocol import Outcome
from proctor_agent.holds import limits, node, partition
from proctor_agent.holds.step import Step, done
from proctor_agent.state.intents import IntentBook
from proctor_agent.state.records import Record, Status
from tests.simulation.core.planting import Patch, PlantedBug


def _previous_not_restored() -> list[Patch]:
    release = limits._release

    def careless(intent: Any, seen: Any, record: Record | None, command: Any) -> Step:
        kept = record and replace(record, previous=dict.fromkeys(record.previous, "-1"))
        return release(intent, seen, kept, command)

    return [(limits, "_release", careless)]


def _operators_hold_released() -> list[Patch]:
    def before(intent: Any, seen: Any, field: str, record: Record | None) -> str:
        del intent, record
        value: str = seen.value(field)
        return "-1" if value == "0" else value

    return [(limits, "_before", before)]


def _not_re_asserted() -> list[Patch]:
    hold = partition._hold

    def once(intent: Any, verb: Any, seen: Any, record: Record | None) -> Step:
        if record is not None and record.status is Status.HELD and record.rev == intent.rev:
            return done(Outcome.APPLIED, "", record)
        return hold(intent, verb, seen, record)

    return [(partition, "_hold", once)]


def _limit_not_re_asserted() -> list[Patch]:
    hold = limits._hold

    def once(intent: Any, wanted: Any, seen: Any, record: Record | None, *rest: Any) -> Step:
        if record is not None and record.status is Status.HELD and record.rev == intent.rev:
            return done(Outcome.APPLIED, "", record)
        return hold(intent, wanted, seen, record, *rest)

    return [(limits, "_hold", once)]


def _admin_drain_overwritten() -> list[Patch]:
    drain = node._drain

    def rude(intent: Any, verb: Any, seen: Any, record: Record | None) -> Step:
        is_foreign = bool(seen.reason) and not seen.reason.startswith("proctor:")
        return drain(intent, verb, replace(seen, state="idle", reason="") if is_foreign else seen, None)

    return [(node, "_drain", rude)]


def _voided_field_used() -> list[Patch]:
    return [(limits, "voiding", lambda rows, field: [])]


def _own_state_taken_for_what_was_before() -> list[Patch]:
    return [(partition, "_before", lambda intent, state, seen, record: seen.state)]


def _released_items_unread() -> list[Patch]:
    merge = IntentBook.merge

    def held_only(self: IntentBook, items: Any, now: Any) -> bool:
        held = [item for item in items if item["is_held"]]
        return merge(self, held, now)

    return [(IntentBook, "merge", held_only)]


HOLDING = (
    PlantedBug("the previous limit is not restored", _previous_not_restored),
    PlantedBug("an operator's own hold is released", _operators_hold_released),
    PlantedBug("a partition is not held again after a reconfigure", _not_re_asserted),
    PlantedBug("a limit is not held again when undone", _limit_not_re_asserted),
    PlantedBug("the agent overwrites an administrator's drain", _admin_drain_overwritten),
    PlantedBug("GrpJobs is used though a QOS voids it", _voided_field_used),
    PlantedBug(
        "after losing its records the agent takes our state for the former",
        _own_state_taken_for_what_was_before,
    ),
    PlantedBug("released items are left out when intents are read", _released_items_unread),
)
