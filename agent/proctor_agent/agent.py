"""Puts one agent together and runs it until it is told to stop."""

import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from proctor.domain.agent_protocol import controller_pk, node_pk
from proctor_agent import heartbeat, link
from proctor_agent.aws.credentials import CredentialSource
from proctor_agent.clock import Clock, SystemClock
from proctor_agent.controller import Controller
from proctor_agent.errors import AgentError, AwsError
from proctor_agent.heartbeat import Pulse
from proctor_agent.holds.reconciler import Mode
from proctor_agent.lane import Shared
from proctor_agent.link import IntentsThread, SenderThread
from proctor_agent.outbox import Outbox
from proctor_agent.settings import AgentSettings, SlurmOutput
from proctor_agent.slurm.command import SlurmCommands
from proctor_agent.slurm.json_reads import JsonReads
from proctor_agent.slurm.reads import SlurmReads
from proctor_agent.state.files import StateFiles
from proctor_agent.state.identity import Identity
from proctor_agent.state.intents import IntentBook
from proctor_agent.state.records import Records

_STOP_SECONDS = 5.0


def own_pk(settings: AgentSettings) -> str:
    """Partition key of this agent's intents."""
    if settings.is_controller:
        return controller_pk(settings.cluster)
    return node_pk(settings.cluster, settings.node)


class Agent:
    """One process, one role."""

    def __init__(self, settings: AgentSettings, clock: Clock | None = None) -> None:
        """Load state, make the parts; nothing is read from Slurm or AWS yet."""
        self._settings = settings
        self._clock = clock or SystemClock()
        self._stop = threading.Event()
        files = StateFiles(Path(settings.state_directory))
        if not files.lock():
            raise AgentError(f"another agent runs on {files.directory}; stop it first")
        self.records = Records(files)
        self._outbox = Outbox()
        self.pk = own_pk(settings)
        self.book = IntentBook(files, self.pk)
        source = CredentialSource(self._clock)
        self._sender = SenderThread(
            link.make_reports(settings, source, self._clock),
            self._outbox,
            Identity(settings, files, self._clock),
            self._clock,
        )
        self._intents = IntentsThread(
            link.make_table(settings, source, self._clock),
            link.make_wakeups(settings, source, self._clock),
            self.pk,
            self._clock,
            self._has_news,
        )
        self._pulse = Pulse(settings, self._outbox, self._clock)
        hosts = frozenset({socket.gethostname().partition(".")[0], settings.node})
        shared = Shared(self.book, self.records, self._outbox, self._clock, hosts)
        commands = SlurmCommands(settings.slurm_bin, settings.slurm_conf)
        reads = JsonReads(commands) if settings.slurm_output is SlurmOutput.JSON else SlurmReads(commands)
        self.controller = Controller(commands, reads, shared, Mode(is_dry_run=settings.is_dry_run))

    def run(self) -> None:
        """Run until SIGTERM or SIGINT. Holds stay in force when the agent stops."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop())
        self._intents.start()
        self._sender.start()
        _notify("READY=1")
        if self._settings.is_controller:
            self.controller.run(self._stop, self._before_step)
        else:
            heartbeat.until(self._stop, heartbeat.EVERY_SECONDS / 2, self._node_step)
        self._intents.stop()
        self._sender.stop()
        self._sender.join(_STOP_SECONDS)

    def stop(self) -> None:
        """End after the step in hand."""
        self._stop.set()
        self._has_news()

    def _has_news(self) -> None:
        self.controller.fast.wake.set()

    def once(self) -> int:
        """Read the intents, act, observe, send everything; 1 when anything failed."""
        failures = 0
        try:
            self._intents.read_once()
        except AwsError as error:
            failures += 1
            self._intents.problem = str(error)
        if self._settings.is_controller:
            self._take_intents()
            self.controller.step_once()
            failures += bool(self.controller.problems())
        self._beat()
        try:
            while self._sender.send_next(0.0):
                pass
        except AwsError as error:
            self._sender.problem = str(error)
            failures += 1
        return 1 if failures else 0

    def enrol(self) -> None:
        """Make the key and hand it to the control plane, before anybody can log in."""
        self._sender.enrol()

    def problems(self) -> tuple[str, ...]:
        """What is wrong, one line each."""
        found = [
            *self.controller.problems(),
            f"intents: {self._intents.problem}" if self._intents.problem else "",
            f"reports: {self._sender.problem}" if self._sender.problem else "",
            f"vanished: {', '.join(sorted(self.book.vanished))}"[:200] if self.book.vanished else "",
            *(f"refused: {item.detail}"[:200] for item in self.book.refused[:5]),
            "paused: nothing is held or released" if self.book.is_paused else "",
        ]
        return tuple(text for text in found if text)

    def _before_step(self) -> None:
        self._take_intents()
        self._beat()
        _notify("WATCHDOG=1")

    def _take_intents(self) -> None:
        items = self._intents.take()
        if items is not None:
            self.controller.take_intents(items)

    def _node_step(self) -> None:
        items = self._intents.take()
        if items is not None:
            self.book.merge(items, self._clock.now())
        self._beat()
        _notify("WATCHDOG=1")

    def _beat(self) -> None:
        self._pulse.beat(
            is_acting=self.controller.fast.is_acting,
            slurm_version=self.controller.fast.slurm_version,
            intents_read_at=self.book.read_at,
            slurm_read_at=self.controller.observer.read_at,
            problems=self.problems(),
        )


def _notify(message: str, connect: Callable[[str], str | None] = os.environ.get) -> None:
    """Tell systemd, when it listens (sd_notify(3))."""
    address = connect("NOTIFY_SOCKET")
    if not address:
        return
    name = "\0" + address[1:] if address.startswith("@") else address
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifier:
        notifier.sendto(message.encode("ascii"), name)
