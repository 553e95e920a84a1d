"""The person's ledger: which sessions Proctor believes a person has, and what it is doing about them.

One item per person over all clusters. A session start is one atomic write whose answer is the whole ledger, so that of
any number of starts at once each sees a different, ordered state. Decisions about a person swap the ledger by its
revision; a lost race is decided again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from proctor.domain.leases import LEASE, is_live

_KEPT_FOR = timedelta(hours=24)
_KEPT_AT_MOST = 50
_LISTING_LAG = timedelta(minutes=2)
_TELL_FOR = timedelta(minutes=15)


class SeenBy(StrEnum):
    """How Proctor first learned of a session."""

    EVENT = "event"
    SWEEP = "sweep"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One session. `intent_until` and `intent_token` are set while an evaluator ends it; `reason` is the last verdict's."""

    cluster: str
    seen_by: SeenBy
    seen_at: datetime
    weight: int = 1
    reason: str | None = None
    intent_until: datetime | None = None
    intent_token: str | None = None

    def has_intent(self, now: datetime) -> bool:
        """Whether somebody is ending this session right now; an expired intent counts for nothing."""
        return is_live(self.intent_until, now)

    def was_ended(self, now: datetime) -> bool:
        """For an entry whose session is gone: whether that was us, lately."""
        return self.decided_at is not None and timedelta(0) <= now - self.decided_at < _TELL_FOR

    @property
    def decided_at(self) -> datetime | None:
        """When the intent was taken."""
        return None if self.intent_until is None else self.intent_until - LEASE


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonLedger:
    """What is remembered about one holder: a login name, or `owner:<arn>` for an owner that no directory row names.

    Revision 0 means: not stored yet. `evicted_at` and `burst_at` are kept for a day, 50 at most. `incident_at` opened the
    present incident, about which the person was told. `unannounced` are sessions over the cap that the sweep found before
    any event told of them, with the time of that.
    """

    holder: str
    rev: int = 0
    entries: Mapping[str, LedgerEntry] = field(default_factory=dict)
    evicted_at: tuple[datetime, ...] = ()
    burst_at: tuple[datetime, ...] = ()
    incident_at: datetime | None = None
    unannounced: Mapping[str, datetime] = field(default_factory=dict)

    @property
    def has_intents(self) -> bool:
        """Whether an end was begun, settled or not, of a session that is still remembered."""
        return any(e.intent_until is not None for e in self.entries.values())

    def weight_in(self, cluster: str | None, now: datetime) -> int:
        """Weight of the sessions not being ended, in one cluster or (None) in all."""
        return sum(
            e.weight for e in self.entries.values() if cluster in (None, e.cluster) and not e.has_intent(now)
        )

    def recent_evictions(self, since: datetime) -> tuple[datetime, ...]:
        """Evictions at or after `since`."""
        return tuple(at for at in self.evicted_at if at >= since)

    def recent_bursts(self, since: datetime) -> tuple[datetime, ...]:
        """Reconnect bursts at or after `since`."""
        return tuple(at for at in self.burst_at if at >= since)


def with_intents(ledger: PersonLedger, victims: Iterable[str], token: str, now: datetime) -> PersonLedger:
    """The ledger with a two-minute intent on each victim, and the evictions noted."""
    chosen = frozenset(victims)
    entries = {
        sid: replace(e, intent_until=now + LEASE, intent_token=token) if sid in chosen else e
        for sid, e in ledger.entries.items()
    }
    return replace(
        ledger, entries=entries, evicted_at=_kept((*ledger.evicted_at, *(now for _ in chosen)), now)
    )


def with_burst(ledger: PersonLedger, now: datetime) -> PersonLedger:
    """The ledger with one more reconnect burst."""
    return replace(ledger, burst_at=_kept((*ledger.burst_at, now), now))


def mended(ledger: PersonLedger, live: Mapping[str, LedgerEntry], now: datetime) -> PersonLedger:
    """The ledger brought in line with the sessions that DescribeSessions shows.

    Entries of ended sessions go; unknown sessions come in as seen by the sweep; intents and the way a session was first
    seen are kept. An entry noted within the last two minutes stays although it isn't listed: a listing may lag. So does one
    that we ended within a quarter of an hour, without weight: its person may not have been told yet.
    """
    ended = {sid: replace(e, weight=0) for sid, e in ledger.entries.items() if e.was_ended(now)}
    young = {
        sid: e
        for sid, e in ledger.entries.items()
        if sid not in live and timedelta(0) <= now - e.seen_at < _LISTING_LAG
    }
    return replace(
        ledger, entries=young | ended | {sid: _merged(ledger.entries.get(sid), e) for sid, e in live.items()}
    )


def _merged(known: LedgerEntry | None, seen: LedgerEntry) -> LedgerEntry:
    if known is None:
        return seen
    return replace(
        seen,
        seen_by=known.seen_by,
        seen_at=known.seen_at,
        intent_until=known.intent_until,
        intent_token=known.intent_token,
    )


def _kept(times: tuple[datetime, ...], now: datetime) -> tuple[datetime, ...]:
    return tuple(at for at in times if at > now - _KEPT_FOR)[-_KEPT_AT_MOST:]
