"""The memory table: ledgers swapped by revision, windowed counters, first-seen marks."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from proctor.domain.errors import LostRaceError
from proctor.domain.ledger import LedgerEntry, PersonLedger


@dataclass
class FakeSessionLedger:
    """One item per holder. Every write raises the revision by one; a stored item has revision 1 or more."""

    items: dict[str, PersonLedger] = field(default_factory=dict)

    def note_started(self, holder: str, session_id: str, entry: LedgerEntry) -> PersonLedger:
        ledger = self.get(holder)
        known = ledger.entries.get(session_id)
        if known is not None and known.seen_by is entry.seen_by:
            return ledger
        noted = entry if known is None else replace(known, seen_by=entry.seen_by)
        return self._store(replace(ledger, entries={**ledger.entries, session_id: noted}))

    def get(self, holder: str) -> PersonLedger:
        return self.items.get(holder, PersonLedger(holder=holder))

    def all(self) -> Mapping[str, PersonLedger]:
        return dict(self.items)

    def swap(self, subject: str, data: object, expected_rev: int) -> None:
        if not isinstance(data, PersonLedger):
            message = f"the ledger keeps PersonLedger, not {type(data).__name__}"
            raise TypeError(message)
        stored = self.get(subject)
        if stored.rev != expected_rev:
            message = f"revision is {stored.rev}, not {expected_rev}"
            raise LostRaceError(message)
        self._store(replace(data, holder=subject, rev=stored.rev))

    def release_intent(self, holder: str, session_id: str, token: str) -> None:
        ledger = self.get(holder)
        entry = ledger.entries.get(session_id)
        if entry is None or entry.intent_token != token:
            return
        freed = replace(entry, intent_until=None, intent_token=None)
        self._store(replace(ledger, entries={**ledger.entries, session_id: freed}))

    def _store(self, ledger: PersonLedger) -> PersonLedger:
        stored = replace(ledger, rev=ledger.rev + 1)
        self.items[stored.holder] = stored
        return stored


@dataclass
class FakeCounters:
    """Windows start at whole multiples of their length."""

    spent: dict[str, int] = field(default_factory=dict)
    marks: dict[str, datetime] = field(default_factory=dict)

    def spend(self, counter: str, limit: int, now: datetime, window_minutes: int) -> bool:
        window = int(now.timestamp() // (60 * window_minutes))
        key = f"{counter}#{window_minutes}#{window}"
        if self.spent.get(key, 0) >= limit:
            return False
        self.spent[key] = self.spent.get(key, 0) + 1
        return True

    def first(self, mark: str, now: datetime) -> datetime:
        return self.marks.setdefault(mark, now)
