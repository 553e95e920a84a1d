"""The agent's reconciler in this process, on a real Slurm, without AWS."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from proctor.domain.agent_protocol import IntentResult, Verb
from proctor_agent.clock import SystemClock
from proctor_agent.holds.reconciler import Mode, PassOutcome, Reconciler
from proctor_agent.holds.view import AccountingCache
from proctor_agent.slurm.command import SlurmCommands
from proctor_agent.slurm.reads import SlurmReads
from proctor_agent.state.files import StateFiles
from proctor_agent.state.records import Records
from proctor_slurm import SlurmStack
from tests.agent.agent_process import intent


class CountingCommands(SlurmCommands):
    """Real commands, with a list of those that were run."""

    def __init__(self, slurm_conf: str) -> None:
        super().__init__("/usr/bin", slurm_conf)
        self.ran: list[tuple[str, ...]] = []

    def run(self, argv: Sequence[str], seconds: float) -> str:
        self.ran.append(tuple(argv))
        return super().run(argv, seconds)


class HoldDesk:
    """Holds and releases by verb; every call is one pass with fresh accounting."""

    def __init__(self, stack: SlurmStack, state_directory: Path, *, is_dry_run: bool = False) -> None:
        self.commands = CountingCommands(str(stack.layout.slurm_conf))
        self.reads = SlurmReads(self.commands)
        self.cache = AccountingCache(self.reads)
        self.records = Records(StateFiles(state_directory))
        mode = Mode(is_dry_run=is_dry_run)
        self._reconciler = Reconciler(
            self.commands, self.reads, self.cache, self.records, SystemClock(), mode
        )

    def hold(self, verb: Verb, rev: int = 1, previous: dict[str, str] | None = None) -> IntentResult:
        return self.pass_over(verb, rev=rev, previous=previous).results[0]

    def release(self, verb: Verb, rev: int = 2, previous: dict[str, str] | None = None) -> IntentResult:
        return self.pass_over(verb, rev=rev, is_held=False, previous=previous).results[0]

    def pass_over(
        self,
        verb: Verb,
        *,
        rev: int = 1,
        is_held: bool = True,
        previous: dict[str, str] | None = None,
        lasts: timedelta = timedelta(days=1),
    ) -> PassOutcome:
        self.cache.forget()
        wanted = intent(verb, rev=rev, is_held=is_held, previous=previous, lasts=lasts)
        return self._reconciler.run([wanted])

    @property
    def writes(self) -> list[tuple[str, ...]]:
        """Commands run through `run`: the ones that change something."""
        return list(self.commands.ran)
