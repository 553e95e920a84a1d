"""The intents last read, kept over restarts and outages; decides what a missing or odd item means."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from proctor.domain.agent_protocol import PAUSE_SK, Intent, Pause, ProtocolError, decode
from proctor.domain.agent_protocol.names import INTENT_SK
from proctor_agent.state.files import StateFiles


@dataclass(frozen=True)
class Refused:
    """An item that was not understood. `sk` and `rev` are as read, when they are well-formed."""

    sk: str
    rev: int
    detail: str


class IntentBook:
    """The intents in force.

    A vanished item is no release: a hold stays until its own expiry. An item that can't be understood leaves the
    last good revision in force. Reads are consistent, so what was read last is what counts.
    """

    def __init__(self, files: StateFiles, pk: str) -> None:
        """Load the intents of the last run."""
        self._files = files
        self._pk = pk
        self._intents: dict[str, Intent] = {}
        self.gone: frozenset[str] = frozenset()
        self.vanished: frozenset[str] = frozenset()
        self.refused: tuple[Refused, ...] = ()
        self.is_paused = False
        self.read_at: datetime | None = None
        stored = files.read("intents.json")
        if isinstance(stored, dict):
            self.is_paused = stored.get("is_paused") is True
            for item in stored.get("items", ()):
                try:
                    intent = Intent.from_item(item)
                except ProtocolError:
                    continue
                if intent.pk == pk:
                    self._intents[intent.sk] = intent

    def __iter__(self) -> Iterator[Intent]:
        return iter(sorted(self._intents.values(), key=lambda intent: intent.sk))

    def get(self, sk: str) -> Intent | None:
        """The intent of one subject."""
        return self._intents.get(sk)

    def merge(self, items: Sequence[Mapping[str, Any]], now: datetime) -> bool:
        """Take in one complete read; True when anything changed."""
        before = (self._intents, self.is_paused)
        # A new mapping, since the other lane may be reading the old one.
        self._intents = dict(self._intents)
        seen: set[str] = set()
        refused = []
        is_paused = False
        for item in items:
            sk = item.get("sk")
            if sk == PAUSE_SK:
                is_paused = self._read_pause(item)
                continue
            if isinstance(sk, str):
                seen.add(sk)
            try:
                self._take(Intent.from_item(item))
            except ProtocolError as error:
                refused.append(_refused(item, str(error)))
        self.refused = tuple(refused)
        self.is_paused = is_paused
        self.read_at = now
        self._forget(seen, now)
        has_changed = before != (self._intents, self.is_paused)
        if has_changed:
            stored = [intent.to_item() for intent in self._intents.values()]
            self._files.write("intents.json", {"is_paused": self.is_paused, "items": stored})
        return has_changed

    def _take(self, intent: Intent) -> None:
        if intent.pk != self._pk:
            raise ProtocolError(f"intent.pk: {intent.pk!r:.80} is not this agent's")
        self._intents[intent.sk] = intent

    def _read_pause(self, item: Mapping[str, Any]) -> bool:
        try:
            return decode(Pause, item).is_paused
        except ProtocolError:
            # A switch that can't be read is on: doing nothing is the safe side.
            return True

    def _forget(self, seen: set[str], now: datetime) -> None:
        """Note which items are gone; what becomes of them is the reconciler's to carry out first."""
        self.gone = frozenset(self._intents.keys() - seen)
        self.vanished = frozenset(
            sk for sk in self.gone if self._intents[sk].is_held and not self._intents[sk].is_expired(now)
        )

    def forget(self, sk: str) -> None:
        """Drop an intent whose item is gone and whose release has been carried out."""
        self._intents = {key: intent for key, intent in self._intents.items() if key != sk}
        self.gone -= {sk}


def _refused(item: Mapping[str, Any], detail: str) -> Refused:
    sk, rev = item.get("sk"), item.get("rev")
    is_named = isinstance(sk, str) and INTENT_SK.fullmatch(sk) is not None
    is_counted = isinstance(rev, int) and not isinstance(rev, bool) and rev > 0
    return Refused(str(sk) if is_named else "", int(rev) if is_counted and rev else 0, detail[:300])
