"""Finds what changed since the last report, by hashes, and packs it into reports under 200 KB."""

import json
from collections.abc import Callable, Hashable
from typing import Any

from proctor.domain.agent_protocol import Chunk, Removed, encode
from proctor_agent.clock import Clock

# The body is text inside JSON: its quotes are escaped, which adds about a fifth.
_LARGEST_BODY = 140_000


class Tracker:
    """Hashes of the rows of one section, by key."""

    def __init__(self, section: str) -> None:
        """Nothing is known yet."""
        self.section = section
        self._hashes: dict[str, int] = {}
        self._seen: set[str] = set()
        self._is_full = False

    def begin(self, *, is_full: bool) -> None:
        """Start a pass; a full one sends every row."""
        self._seen = set()
        self._is_full = is_full

    def is_news(self, key: str, raw: Hashable) -> bool:
        """Whether the row is to be sent."""
        self._seen.add(key)
        now = hash(raw)
        if self._hashes.get(key) == now and not self._is_full:
            return False
        self._hashes[key] = now
        return True

    def finish(self) -> list[str]:
        """Keys that this complete pass did not see."""
        gone = [key for key in self._hashes if key not in self._seen]
        for key in gone:
            del self._hashes[key]
        self._seen = set()
        return gone


class Packer:
    """Collects rows as JSON and hands out the body of a report whenever enough have come."""

    def __init__(self, clock: Clock, emit: Callable[[str], None], snapshot: str = "") -> None:
        """`snapshot` names a full resynchronisation; empty for changes only."""
        self._clock = clock
        self._emit = emit
        self.snapshot = snapshot
        self._rows: dict[str, list[str]] = {}
        self._bytes = 0
        self._index = 0

    def add(self, section: str, row: Any) -> None:
        """One row of a section (`removed` for keys that are gone)."""
        text = json.dumps(encode(row), separators=(",", ":"))
        self._rows.setdefault(section, []).append(text)
        self._bytes += len(text) + 1
        if self._bytes >= _LARGEST_BODY:
            self._flush(is_last=False)

    def remove(self, section: str, key: str) -> None:
        """A row that is gone."""
        self.add("removed", Removed(section, key))

    def close(self) -> None:
        """Hand out the rest; a snapshot's last chunk goes out even when it is empty."""
        if self._rows or self.snapshot:
            self._flush(is_last=True)

    def _flush(self, *, is_last: bool) -> None:
        """The report's JSON, put together from rows that are JSON already."""
        parts = [f'"sent_at":{int(self._clock.now().timestamp())}']
        if self.snapshot:
            chunk = Chunk(self.snapshot, self._index, self._index + 1 if is_last else 0)
            parts.append(f'"chunk":{json.dumps(encode(chunk))}')
        for section, rows in self._rows.items():
            # One value, not a list: the settings that decide whether limits bind.
            parts.append(
                f'"{section}":{rows[-1]}' if section == "limits" else f'"{section}":[{",".join(rows)}]'
            )
        self._rows, self._bytes = {}, 0
        self._index += 1
        self._emit(f"{{{','.join(parts)}}}")
