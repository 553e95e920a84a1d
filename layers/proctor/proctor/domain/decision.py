"""The result of deciding: verdicts with reasons, and what has to be remembered."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from proctor.domain.actions import Action
from proctor.domain.guardrails import Guardrails


class Mode(StrEnum):
    """How far a function or a rule may go."""

    OFF = "off"
    DRY_RUN = "dry_run"
    APPLY = "apply"


_RANK = {Mode.OFF: 0, Mode.DRY_RUN: 1, Mode.APPLY: 2}


def lowest(*modes: Mode) -> Mode:
    """The most careful of several modes: stack parameter, function, rule and request each bound the others."""
    return min(modes, key=_RANK.__getitem__)


class OutcomeStatus(StrEnum):
    """What became of an action. NONE: the verdict asked for no action."""

    NONE = "none"
    APPLIED = "applied"
    UNCONFIRMED = "unconfirmed"
    FAILED = "failed"
    WITHHELD = "withheld"
    DRY_RUN = "dry_run"
    ALREADY_APPLIED = "already_applied"
    CONTENDED = "contended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was found about one subject, and what follows.

    `reason` is a stable code, `text` a sentence for people, `inputs` the frozen facts that reproduce the decision. `episode`
    and `step` complete the claim's key. `requires` names verdicts of the same case, one of whose actions must have taken
    effect first. `news` is what else makes another verdict of it: where it differs the record is written again, and the one
    before goes into history. `is_known`: the store already holds this very verdict. `is_housekeeping`: about Proctor itself
    (a policy's label, a broken event path), so it is done in dry-run too. `is_closing`: the action was begun before and its
    subject is gone; nothing is done but to settle the claim that its evaluator left open.
    """

    subject: str
    cluster: str
    rule: str
    reason: str
    text: str
    mode: Mode
    policy_version: int | None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    action: Action | None = None
    episode: str = "once"
    step: str = "act"
    requires: tuple[str, ...] = ()
    news: str = ""
    is_known: bool = False
    is_housekeeping: bool = False
    is_closing: bool = False

    def mode_under(self, bound: Mode) -> Mode:
        """How far this verdict's action may go under the bound of stack and request."""
        return self.mode if self.is_housekeeping else lowest(self.mode, bound)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryWrite:
    """A compare-and-swap of one subject's memory: written only while its revision is still `expected_rev`."""

    subject: str
    data: object
    expected_rev: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """All about one subject: its memory is swapped first, and nothing is done when that race is lost.

    `rests_on` names memories that cases before this one may swap: nothing is done either when one of those races is lost,
    since this case was decided on what was never stored.
    """

    subject: str
    verdicts: tuple[Verdict, ...]
    memory: MemoryWrite | None = None
    rests_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Everything one evaluation concluded.

    `rails` holds the guardrails of each cluster, `considered` how many subjects were looked at there (for share guards).
    """

    cases: tuple[Case, ...]
    rails: Mapping[str, Guardrails] = field(default_factory=dict)
    considered: Mapping[str, int] = field(default_factory=dict)

    @property
    def verdicts(self) -> Iterable[Verdict]:
        """Every verdict of every case, in order."""
        return (verdict for case in self.cases for verdict in case.verdicts)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict with what became of it."""

    verdict: Verdict
    status: OutcomeStatus
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """What every step of one evaluation shares; time and chance enter here and nowhere else.

    `bound` is the most that may be done: stack parameter and request. `attempt` counts re-decisions after a lost race.
    """

    function: str
    now: datetime
    token: str
    trigger: str
    actor: str = "proctor"
    justification: str = ""
    bound: Mode = Mode.APPLY
    attempt: int = 0
    lifted: frozenset[str] = frozenset()
