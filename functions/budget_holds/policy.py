"""The policy of budget_holds: `/proctor/<cluster>/budget_holds` in Parameter Store, JSON, at most 4 KB.

Every field has a default, so `{}` is a valid policy; it is in dry-run and, without `rates`, warns only. Unknown keys are
refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar

from proctor.domain.agent_protocol.names import ACCOUNT
from proctor.domain.decision import Mode, lowest
from proctor.domain.guardrails import ActionBudget, Guardrails
from proctor.domain.money import check_amount
from proctor.domain.spend import Rates

_STRICT = {"extra": "forbid"}
DEFAULT_THRESHOLDS = (50, 80, 90)
MOST_LAG_HOURS = 168
"""Usage is read back as far, to bridge what AWS has not billed yet."""

_HOURS_OF_A_YEAR = 8784
_MOST_PERCENT = 1000
_LEAST_FACTOR = Decimal("0.01")


class Rule(StrEnum):
    """The rules that can be switched apart."""

    HOLD = "hold"
    NOTICE = "notice"
    BUDGET = "budget"
    POLICY = "policy"
    ALARM = "alarm"
    SCOPE = "scope"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plausibility:
    """Bounds beyond which numbers are asked about, not acted on.

    The ceiling is nodes by `ceiling_per_hour` (or the dearest list price) by hours by `ceiling_margin_percent`, plus
    `ceiling_slack` for what costs without nodes. `shrink_percent`: a fall of the spend by more than this within a period.
    `stale_after_hours`: age of AWS's numbers. `factor_floor`: the least bill ÷ metered that is believed.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    ceiling_per_hour: Decimal | None = None
    ceiling_margin_percent: int = 150
    ceiling_slack: Decimal = Decimal(100)
    shrink_percent: int = 20
    stale_after_hours: int = 36
    factor_floor: Decimal = Decimal("0.5")

    def __post_init__(self) -> None:
        """Bounds that could never be met would stop every hold."""
        _within(1, 10_000, "ceiling_margin_percent", self.ceiling_margin_percent)
        _within(1, 1_000_000, "shrink_percent", self.shrink_percent)
        _within(1, _HOURS_OF_A_YEAR, "stale_after_hours", self.stale_after_hours)
        if self.ceiling_per_hour is not None:
            check_amount("ceiling_per_hour", self.ceiling_per_hour)
        check_amount("ceiling_slack", self.ceiling_slack, least=Decimal(0))
        if not _LEAST_FACTOR <= self.factor_floor <= 1:
            message = f"factor_floor: {self.factor_floor} is not usable; give {_LEAST_FACTOR} to 1"
            raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailSettings:
    """Caps on what one run and one window may do. `protected_accounts` are never held, whatever a budget says."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    holds: ActionBudget = field(default_factory=lambda: ActionBudget(per_run=50, per_window=200))
    releases: ActionBudget = field(default_factory=lambda: ActionBudget(per_run=1000, per_window=3000))
    notices: ActionBudget = field(default_factory=lambda: ActionBudget(per_run=3000, per_window=6000))
    protected_accounts: tuple[str, ...] = ("root",)

    def __post_init__(self) -> None:
        """A name that no account can have would protect nobody."""
        for name in self.protected_accounts:
            if not ACCOUNT.fullmatch(name):
                message = f"protected_accounts: {name!r} is not usable; give names of Slurm accounts, in lower case, one each"
                raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetHoldsPolicy:
    """What budget_holds does in one cluster. `rules` narrows `mode` for single rules; it can't widen it.

    `idle_is_shared`: idle nodes are spread over the departments by bill ÷ metered; else they are shown and charged to
    nobody. `billing_lag_hours`: how far AWS's numbers are taken to be behind their own date.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    mode: Mode = Mode.DRY_RUN
    rules: Mapping[Rule, Mode] = field(default_factory=dict)
    rates: Rates | None = None
    thresholds: tuple[int, ...] = DEFAULT_THRESHOLDS
    hold_at_percent: int = 100
    release_below_percent: int = 95
    billing_lag_hours: int = 8
    idle_is_shared: bool = False
    cancel_after_hours: int | None = None
    plausibility: Plausibility = field(default_factory=Plausibility)
    guardrails: GuardrailSettings = field(default_factory=GuardrailSettings)
    most_members_told: int = 500
    appeal: str = "Write to the cluster's operators."

    def __post_init__(self) -> None:
        """Refuse what no cluster could mean."""
        check_thresholds(self.thresholds)
        _within(2, _MOST_PERCENT, "hold_at_percent", self.hold_at_percent)
        if not 0 < self.release_below_percent < self.hold_at_percent:
            message = "release_below_percent must be above 0 and below hold_at_percent, else holds would flap"
            raise ValueError(message)
        _within(0, MOST_LAG_HOURS, "billing_lag_hours", self.billing_lag_hours)
        _within(0, 100_000, "most_members_told", self.most_members_told)
        refuse_cancel(self.cancel_after_hours)

    def mode_of(self, rule: Rule, bound: Mode) -> Mode:
        """How far one rule may go: the stack's and the request's bound, the policy's mode, the rule's own."""
        return lowest(bound, self.mode, self.rules.get(rule, Mode.APPLY))

    @property
    def currency(self) -> str:
        """The currency that numbers must be in."""
        return self.rates.currency if self.rates is not None else "USD"

    def rails(self) -> Guardrails:
        """The guardrails as the executor knows them."""
        rails = self.guardrails
        return Guardrails(
            budgets={"holds": rails.holds, "releases": rails.releases, "notices": rails.notices},
            protected_subjects=frozenset(f"account#{name}" for name in rails.protected_accounts),
        )


def check_thresholds(thresholds: tuple[int, ...]) -> None:
    """Warnings come before the hold, so they lie between 1 and 99 percent. Raises ValueError."""
    if any(not 1 <= t <= 99 for t in thresholds) or len(set(thresholds)) != len(thresholds):
        message = "thresholds must be different whole percentages from 1 to 99; the hold has its own, hold_at_percent"
        raise ValueError(message)


def refuse_cancel(hours: int | None) -> None:
    """Running jobs are never touched by this release. Raises ValueError when policy asks for it."""
    if hours is not None:
        message = (
            "cancel_after_hours is not supported: running jobs are never cancelled; leave it out and end them "
            "with scancel if they must end"
        )
        raise ValueError(message)


def _within(least: int, most: int, name: str, value: int) -> None:
    if not least <= value <= most:
        message = f"{name}: {value} is not usable; give a whole number from {least} to {most}"
        raise ValueError(message)
