"""The two threads that talk to AWS, so that the work on Slurm never waits for a network."""

import threading
from collections.abc import Callable
from typing import Any, Protocol

from proctor.domain.agent_protocol import ProtocolError, make_enrolment, seal
from proctor_agent.aws.client import JsonClient
from proctor_agent.aws.credentials import CredentialSource
from proctor_agent.aws.dynamodb import DYNAMODB, IntentsTable
from proctor_agent.aws.sqs import LONGEST_WAIT_SECONDS, SQS, ReportQueue, WakeupQueue
from proctor_agent.clock import Backoff, Clock
from proctor_agent.errors import AwsError
from proctor_agent.outbox import Outbox
from proctor_agent.settings import AgentSettings
from proctor_agent.state.identity import Identity

READ_EVERY_SECONDS = 20.0
_NODE_READ_EVERY_SECONDS = 60.0
_MOST_BACKOFF_SECONDS = 60.0


class _Table(Protocol):
    def query(self, pk: str) -> list[dict[str, Any]]: ...


class _Wakeups(Protocol):
    def wait(self, seconds: int = ...) -> bool: ...


class _Reports(Protocol):
    def send(self, message: str) -> None: ...


class IntentsThread(threading.Thread):
    """Reads the intents at each wake-up and at least every 20 s (other nodes: every minute, with jitter)."""

    def __init__(
        self, table: _Table, wakeups: _Wakeups | None, pk: str, clock: Clock, has_news: Callable[[], None]
    ) -> None:
        """`has_news` is called after each complete read."""
        super().__init__(name="intents", daemon=True)
        self._table = table
        self._wakeups = wakeups
        self._pk = pk
        self._clock = clock
        self._has_news = has_news
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._items: list[dict[str, Any]] | None = None
        self.problem = ""

    def take(self) -> list[dict[str, Any]] | None:
        """The items of the latest read since the last call."""
        with self._lock:
            items, self._items = self._items, None
            return items

    def stop(self) -> None:
        """End after the call in flight."""
        self._stopping.set()

    def read_once(self) -> None:
        """One complete read; AwsError when it fails."""
        items = self._table.query(self._pk)
        with self._lock:
            self._items = items
        self._has_news()

    def run(self) -> None:
        """Read, wait for a wake-up, read again, until stopped."""
        backoff = Backoff(self._clock, _MOST_BACKOFF_SECONDS)
        while not self._stopping.is_set():
            try:
                self.read_once()
                self.problem = ""
                backoff.succeeded()
                self._wait()
            except AwsError as error:  # noqa: PERF203 - the loop outlives failures
                self.problem = str(error)[:200]
                self._stopping.wait(backoff.failed())

    def _wait(self) -> None:
        if self._wakeups is not None:
            self._wakeups.wait(LONGEST_WAIT_SECONDS)
            return
        half = _NODE_READ_EVERY_SECONDS / 2
        self._stopping.wait(half + self._clock.jitter(2 * half))


class SenderThread(threading.Thread):
    """Sends reports in order, the enrolment before the first."""

    def __init__(self, queue: _Reports, outbox: Outbox, identity: Identity, clock: Clock) -> None:
        """Use this queue."""
        super().__init__(name="sender", daemon=True)
        self._queue = queue
        self._outbox = outbox
        self._identity = identity
        self._clock = clock
        self._stopping = threading.Event()
        self.problem = ""

    def stop(self) -> None:
        """End after the call in flight."""
        self._stopping.set()
        self._outbox.close()

    def run(self) -> None:
        """Send until stopped; what fails is sent again after a pause."""
        backoff = Backoff(self._clock, _MOST_BACKOFF_SECONDS)
        while not self._stopping.is_set():
            try:
                self.send_next(1.0)
                self.problem = ""
                backoff.succeeded()
            except AwsError as error:  # noqa: PERF203 - the loop outlives failures
                self.problem = str(error)[:200]
                self._stopping.wait(backoff.failed())

    def enrol(self) -> None:
        """Send the key, once in the life of this node."""
        if not self._identity.is_enrolled:
            header = self._identity.next_header()
            self._queue.send(make_enrolment(header, self._identity.key, self._clock.now()))
            self._identity.mark_enrolled()

    def send_next(self, seconds: float) -> bool:
        """Send one report; False when none came within `seconds`. AwsError: it is back in the outbox."""
        parcel = self._outbox.take(seconds)
        if parcel is None:
            return False
        try:
            self.enrol()
            self._queue.send(seal(self._identity.next_header(), parcel.body, self._identity.key))
        except ProtocolError as error:
            self.problem = f"a report was dropped: {error}"[:200]
            self._outbox.ask_snapshot()
        except AwsError:
            self._outbox.put_back(parcel)
            raise
        return True


def make_table(settings: AgentSettings, source: CredentialSource, clock: Clock) -> IntentsTable:
    """The intents table over its own connection."""
    client = JsonClient(DYNAMODB, settings.region, source, clock, settings.endpoint_url)
    return IntentsTable(client, settings.intents_table)


def make_wakeups(settings: AgentSettings, source: CredentialSource, clock: Clock) -> WakeupQueue | None:
    """The wake-up queue, where this agent has one."""
    if not settings.wakeup_queue_url:
        return None
    client = JsonClient(SQS, settings.region, source, clock, settings.endpoint_url)
    return WakeupQueue(client, settings.wakeup_queue_url)


def make_reports(settings: AgentSettings, source: CredentialSource, clock: Clock) -> ReportQueue:
    """The report queue of this role."""
    client = JsonClient(SQS, settings.region, source, clock, settings.endpoint_url)
    return ReportQueue(client, settings.report_queue_url)
