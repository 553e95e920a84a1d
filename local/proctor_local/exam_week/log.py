"""The live log: one line for each thing that happens, for eyes on a terminal and for a file alike."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TextIO

_WHO_WIDTH = 14
_TICK_SECONDS = 5.0
_COLOURS = {"title": "1", "proctor": "36", "told": "35", "good": "32", "bad": "1;31", "quiet": "2", "": ""}


class Log:
    """Writes lines. Colours only on a terminal; no cursor movement anywhere."""

    def __init__(self, out: TextIO = sys.stdout) -> None:
        self._out, self._has_colours = out, out.isatty()
        self._lock = threading.Lock()
        self._began = time.monotonic()

    def title(self, text: str) -> None:
        """A new part of the story."""
        self._write(f"\n{self._coloured(text, 'title')}")

    def say(self, who: str, what: str, kind: str = "") -> None:
        """Somebody did something."""
        moment = datetime.now().astimezone().strftime("%H:%M:%S.%f")[:-3]
        self._write(self._coloured(f"{moment}  {who:<{_WHO_WIDTH}} {what}", kind))

    def note(self, text: str) -> None:
        """A remark of the narrator."""
        self._write(self._coloured(f"{'':14}{text}", "quiet"))

    def plain(self, text: str = "") -> None:
        """Text as it is."""
        self._write(text)

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Says every five seconds that it is still waiting, so that nobody wonders."""
        over = threading.Event()

        def tick() -> None:
            began = time.monotonic()
            while not over.wait(_TICK_SECONDS):
                self.note(f"… {what}: {time.monotonic() - began:.0f} s so far")

        thread = threading.Thread(target=tick, name="exam-week-waiting", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(timeout=1)

    def elapsed(self) -> float:
        """Seconds since the log began."""
        return time.monotonic() - self._began

    def _coloured(self, text: str, kind: str) -> str:
        return f"\x1b[{_COLOURS[kind]}m{text}\x1b[0m" if self._has_colours and _COLOURS[kind] else text

    def _write(self, text: str) -> None:
        with self._lock:
            print(text, file=self._out, flush=True)
