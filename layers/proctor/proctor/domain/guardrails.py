"""Limits on how much one evaluation, and one window of time, may do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

SHARE = "share"
"""Name of the share guard, for break-glass requests."""


_MOST = 525_600
"""Minutes of a year; as a number of actions beyond what a guardrail could mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionBudget:
    """How many actions of one kind are plausible in one run, and in one window of `window_minutes`."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    per_run: int = 100
    per_window: int = 300
    window_minutes: int = 60

    def __post_init__(self) -> None:
        """Refuse a budget that could never be met."""
        for name in ("per_run", "per_window", "window_minutes"):
            if not 1 <= getattr(self, name) <= _MOST:
                message = (
                    f"{name} must be 1 or more"
                    if getattr(self, name) < 1
                    else f"{name} must be {_MOST} or less"
                )
                raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guardrails:
    """Protected subjects never meet an action; budgets cap kinds of action; a share guard stops a wrong directory.

    The share guard watches the rules in `share_rules`, whose verdicts hang on what a directory says: in one evaluation of
    at least `share_floor` subjects they may act on at most `max_share_percent` of them, so an empty or halved directory
    ends nobody's work.
    """

    budgets: Mapping[str, ActionBudget]
    protected_subjects: frozenset[str] = field(default_factory=frozenset)
    share_rules: frozenset[str] = field(default_factory=frozenset)
    max_share_percent: int = 50
    share_floor: int = 10
