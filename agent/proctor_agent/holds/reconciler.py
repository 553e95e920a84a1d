"""Carries out decisions: remember, act, look again, until there is nothing left to do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from proctor.domain.agent_protocol import (
    DrainNode,
    Intent,
    IntentResult,
    LimitAccount,
    LimitPartitionQos,
    Outcome,
    ReserveNodes,
    ResumeNode,
    SetPartitionState,
)
from proctor_agent.clock import Clock
from proctor_agent.errors import SlurmError
from proctor_agent.holds import limits, node, partition, reservation
from proctor_agent.holds.step import Step
from proctor_agent.holds.view import AccountingCache, View
from proctor_agent.slurm.command import Commands
from proctor_agent.slurm.fields import clean
from proctor_agent.slurm.reads import SlurmReads
from proctor_agent.state.records import Record, Records, Status

_WRITE_SECONDS = 30.0
_COMMANDS = 3
_LOOK_AFTER_SECONDS = (0.0, 0.1, 0.4, 1.0, 1.5)
_BY_ACCOUNTING = (LimitAccount, LimitPartitionQos)
_REFUSALS = frozenset({Outcome.REFUSED, Outcome.CANNOT_BIND})


@dataclass(frozen=True)
class Mode:
    """Whether commands may be run at all."""

    is_dry_run: bool = False


@dataclass
class PassOutcome:
    """What one pass over some intents came to."""

    results: list[IntentResult] = field(default_factory=list)
    undone: list[tuple[str, str]] = field(default_factory=list)
    has_failed: bool = False
    problem: str = ""


class Reconciler:
    """Makes Slurm agree with the intents."""

    def __init__(
        self,
        commands: Commands,
        reads: SlurmReads,
        cache: AccountingCache,
        records: Records,
        clock: Clock,
        mode: Mode,
    ) -> None:
        """Use these parts."""
        self._commands = commands
        self._reads = reads
        self._cache = cache
        self._records = records
        self._clock = clock
        self._mode = mode
        self._refused: dict[str, int] = {}

    def run(self, intents: Iterable[Intent], view: View | None = None) -> PassOutcome:
        """Reconcile these intents; one that fails does not stop the others, a Slurm that is silent does."""
        chosen = list(intents)
        outcome = PassOutcome()
        seen = view or View(self._reads, self._cache)
        _want(seen, chosen)
        for intent in chosen:
            try:
                outcome.results.append(self._settle(intent, seen, outcome, chosen))
            except SlurmError as error:  # noqa: PERF203 - each intent stands alone
                outcome.has_failed = True
                outcome.problem = f"slurm: {error}"[:200]
                kind = Outcome.UNCONFIRMED if error.is_transient else Outcome.FAILED
                outcome.results.append(self._result(intent, Step(kind, str(error))))
                if error.is_silent:
                    break
        return outcome

    def _settle(
        self, intent: Intent, view: View, outcome: PassOutcome, chosen: Sequence[Intent]
    ) -> IntentResult:
        is_held = intent.is_held and not intent.is_expired(self._clock.now())
        step = self._decide_surely(intent, view, is_held=is_held)
        for _ in range(_COMMANDS):
            if not step.command:
                if step.record is not None:
                    self._records.put(step.record)
                return self._result(intent, step)
            if self._mode.is_dry_run:
                return self._result(intent, Step(Outcome.DRY_RUN, f"would run: {' '.join(step.command)}"))
            if step.undone:
                outcome.undone.append((intent.sk, step.undone))
            if not self._remember(intent, step.record):
                outcome.has_failed = True
                detail = "the disk is full: what the hold replaces can't be kept"
                return self._result(intent, Step(Outcome.FAILED, detail))
            self._commands.run(step.command, _WRITE_SECONDS)
            step = self._look_again(intent, step, chosen, is_held=is_held)
        outcome.has_failed = True
        return self._result(intent, Step(Outcome.UNCONFIRMED, "done, but Slurm does not show it yet"))

    def _look_again(self, intent: Intent, ran: Step, chosen: Sequence[Intent], *, is_held: bool) -> Step:
        """The next decision, once Slurm shows something else than before the command, or after 3 s."""
        step = ran
        for pause in _LOOK_AFTER_SECONDS:
            self._clock.sleep(pause)
            looked = View(self._reads, self._cache)
            _want(looked, chosen)
            step = self._decide(intent, looked, is_held=is_held)
            if step.command != ran.command:
                return step
        return step

    def _remember(self, intent: Intent, record: Record | None) -> bool:
        """Nothing is changed whose former value neither the disk nor, where that is silent, the intent would tell."""
        if record is None or self._records.put(record) or record.status is not Status.HELD:
            return True
        saved = self._records.saved(intent.sk)
        if saved is None:
            return record.previous.keys() <= (intent.previous or {}).keys()
        # A disk that says "let go" would be believed after a restart, and the hold taken for somebody else's.
        is_held = saved.status is Status.HELD
        return not record.previous or (is_held and record.previous.keys() <= saved.previous.keys())

    def _decide_surely(self, intent: Intent, view: View, *, is_held: bool) -> Step:
        """A revision is not refused for accounting as it was up to a minute ago: its account may be new.

        Asked once a revision, so that an account that Slurm really lacks costs no reading of associations every 5 s.
        """
        step = self._decide(intent, view, is_held=is_held)
        is_refused = not step.command and step.outcome in _REFUSALS
        if not is_refused or not isinstance(intent.verb, _BY_ACCOUNTING):
            self._refused.pop(intent.sk, None)
            return step
        if self._refused.get(intent.sk) != intent.rev:
            if view.refresh():
                step = self._decide(intent, view, is_held=is_held)
            self._refused[intent.sk] = intent.rev
        return step

    def _decide(self, intent: Intent, view: View, *, is_held: bool) -> Step:
        record = self._records.get(intent.sk)
        verb = intent.verb
        if isinstance(verb, SetPartitionState):
            return partition.decide(intent, is_held, view.partitions().get(verb.partition), record)
        if isinstance(verb, LimitAccount):
            accounting = view.accounting()
            seen = view.account_limits(verb.account) if _has_database(accounting) else None
            return limits.decide_account(intent, is_held, accounting, seen, record)
        if isinstance(verb, LimitPartitionQos):
            accounting = view.accounting()
            seen = view.qos_limits(verb.qos) if _has_database(accounting) else None
            return limits.decide_partition_qos(intent, is_held, accounting, seen, record)
        if isinstance(verb, ReserveNodes):
            known = view.nodes() if verb.nodes and is_held else {}
            found = view.reservations().get(verb.name)
            partitions = view.partitions() if is_held else {}
            return reservation.decide(intent, is_held, found, partitions, known, record)
        if isinstance(verb, (DrainNode, ResumeNode)):
            return node.decide(intent, is_held, view.nodes().get(verb.node), record)
        raise TypeError(verb)

    def _result(self, intent: Intent, step: Step) -> IntentResult:
        return IntentResult(
            sk=intent.sk,
            rev=intent.rev,
            outcome=step.outcome,
            detail=clean(step.detail, 300),
            field=step.field,
            previous=step.previous,
            at=self._clock.now(),
        )


def _has_database(accounting: limits.Accounting) -> bool:
    return accounting.limits.storage_type.endswith("slurmdbd")


def _want(view: View, intents: Sequence[Intent]) -> None:
    view.wanted_accounts = tuple(it.verb.account for it in intents if isinstance(it.verb, LimitAccount))
    view.wanted_qos = tuple(it.verb.qos for it in intents if isinstance(it.verb, LimitPartitionQos))
