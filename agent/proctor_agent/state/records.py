"""What each hold replaced, written before Slurm is touched, so that a release restores it."""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from proctor.domain.agent_protocol import ProtocolError, decode, encode
from proctor.domain.agent_protocol.names import IntentSk
from proctor_agent.state.files import StateFiles


class Status(str, Enum):
    """held: ours is in force. released: let go for this revision. resumed: a person undid it for this revision."""

    HELD = "held"
    RELEASED = "released"
    RESUMED = "resumed"


@dataclass(frozen=True)
class Record:
    """One subject: which revision was acted on, what is set, and what was there before (by field)."""

    sk: IntentSk
    rev: int
    status: Status
    set_value: str
    previous: Mapping[str, str]


class Records:
    """All records, in memory and in one file. `put` says whether the disk has it."""

    def __init__(self, files: StateFiles) -> None:
        """Load what is readable; a spoilt entry is dropped, the others are kept."""
        self._files = files
        self._lock = threading.Lock()
        self._records: dict[str, Record] = {}
        for raw in files.read("records.json") or []:
            try:
                record = decode(Record, raw)
            except ProtocolError:
                continue
            self._records[record.sk] = record
        self._saved = dict(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(list(self._records.values()))

    def get(self, sk: str) -> Record | None:
        """The record of one subject."""
        return self._records.get(sk)

    def saved(self, sk: str) -> Record | None:
        """What the disk says of one subject, which another process would go by."""
        return self._saved.get(sk)

    def put(self, record: Record) -> bool:
        """Keep a record; False when it is only in memory because the disk refused it."""
        with self._lock:
            if self._records.get(record.sk) == record == self._saved.get(record.sk):
                return True
            self._records[record.sk] = record
            return self._save()

    def drop(self, sk: str) -> None:
        """Forget a subject."""
        with self._lock:
            if self._records.pop(sk, None) is not None:
                self._save()

    def _save(self) -> bool:
        is_saved = self._files.write("records.json", [encode(record) for record in self._records.values()])
        if is_saved:
            self._saved = dict(self._records)
        return is_saved
