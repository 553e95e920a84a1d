"""Invariant 4 for sessions: an intent is taken off only by who set it, or when it is over; no live session is forgotten.

Reads the ledger as stored, in the simulated table or in the fake, at the instant of each write.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from proctor.domain.ledger import LedgerEntry, PersonLedger
from tests.fakes.memory import FakeSessionLedger
from tests.simulation.core.violation import ViolationError
from tests.simulation.sessions.evaluation import Evaluation

if TYPE_CHECKING:
    from tests.simulation.sessions.university import University

_SCOPE = "session_limits#ledger"
_LONGEST = timedelta(seconds=125)


@dataclass(frozen=True, slots=True)
class Intent:
    """What is stored about one session: whose intent, and until when; both None without one."""

    token: str | None
    until: datetime | None


class WatchedLedger(FakeSessionLedger):
    """The fake, which tells of its writes."""

    world: "University"

    def _store(self, ledger: PersonLedger) -> PersonLedger:
        old, new = self.get(ledger.holder).entries, ledger.entries
        changed = {sid for sid, entry in old.items() if new.get(sid) is not entry}
        stored = super()._store(ledger)
        if changed:
            before = {sid: _of_entry(old[sid]) for sid in changed}
            after = {sid: _of_entry(new[sid]) for sid in changed if sid in new}
            self.world.intents.written(ledger.holder, before, after)
        return stored


class IntentChecks:
    """Asked at every write of a ledger."""

    def __init__(self, world: "University") -> None:
        self._world = world
        self.writer: Evaluation | None = None

    def effect_of(self, evaluation: Evaluation) -> None:
        """The next write is this evaluation's."""
        self.writer = evaluation

    def watch_table(
        self, table: str, key: tuple[str, ...], old: Mapping[str, Any] | None, new: Mapping[str, Any]
    ) -> None:
        """Hook of the simulated tables."""
        if table == "memory" and key[0] == _SCOPE and old is not None:
            changed = {
                name for name, value in old.items() if name.startswith("s#") and new.get(name) != value
            }
            if changed:
                before = {name: old[name] for name in changed}
                after = {name: new[name] for name in changed if name in new}
                self.written(key[1], _of_item(before), _of_item(after))

    def written(self, holder: str, old: Mapping[str, Intent], new: Mapping[str, Intent]) -> None:
        """One write."""
        writer = self.writer
        if (
            writer is None
            or writer.now is None
            or self._world.has_clock_step(writer.started - 130, self._world.scheduler.now)
        ):
            return
        for session_id, before in old.items():
            after = new.get(session_id)
            if after is None:
                self._may_forget(session_id, holder, writer)
            elif before.token not in (None, after.token) and before.token != writer.token:
                self._may_take_off(session_id, before, writer)

    def _may_take_off(self, session_id: str, intent: Intent, writer: Evaluation) -> None:
        now = writer.now
        if now is not None and intent.until is not None and now < intent.until <= now + _LONGEST:
            text = f"{writer.token} takes the live intent of {intent.token} off {session_id}"
            self._world.scheduler.fail(ViolationError("4 intent", text, [session_id, writer.name]))

    def _may_forget(self, session_id: str, holder: str, writer: Evaluation) -> None:
        session = self._world.service.sessions.get(session_id)
        if session is None or writer.listed is None:
            return
        lag = self._world.scenario.listing_lag_seconds
        if all(session.is_listed_at(at - lag) for at in writer.listed):
            text = f"{writer.token} forgets {session_id} of {holder}, which is listed"
            self._world.scheduler.fail(ViolationError("4 ledger", text, [session_id, writer.name]))


def intent_token(world: "University", holder: str, session_id: str) -> str | None:
    """Whose intent stands on a session now; "no entry" when the ledger doesn't hold it."""
    if world.scenario.stores == "fakes":
        stored = {sid: _of_entry(e) for sid, e in world.site.fakes.ledger.get(holder).entries.items()}
    else:
        stored = _of_item(world.tables.items["memory"].get((_SCOPE, holder), {}))
    return stored[session_id].token if session_id in stored else "no entry"


def _of_entry(entry: LedgerEntry) -> Intent:
    return Intent(entry.intent_token, entry.intent_until)


def _of_item(item: Mapping[str, Any]) -> dict[str, Intent]:
    found: dict[str, Intent] = {}
    for name, value in item.items():
        if name.startswith("s#"):
            entry = value["M"]
            until = entry.get("intent_until", {}).get("S")
            found[name.removeprefix("s#")] = Intent(
                entry.get("intent_token", {}).get("S"), datetime.fromisoformat(until) if until else None
            )
    return found
