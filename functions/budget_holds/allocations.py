"""The numbers of an allocation: an account's usage by rates, scaled by bill / metered up to the bill's cut-off, and since."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from budget_holds.aws_numbers import actual, cut_off, readable, reading_doubt
from budget_holds.definition import Allocation
from budget_holds.facts import ONE, Ended, Facts, Finding, Found, Unknown, accepted
from budget_holds.policy import BudgetHoldsPolicy
from budget_holds.snapshot import ClusterView, Situation
from proctor.domain.budgets_memory import Doubt
from proctor.domain.budgets_period import Period
from proctor.domain.budgets_reading import BudgetReading
from proctor.domain.money import Money, zero
from proctor.domain.spend import Books, Rates, committed

_FACTOR_AT_MOST = Decimal(3)


def allocation_numbers(
    situation: Situation, allocation: Allocation, view: ClusterView, books: Books, now: datetime
) -> Finding:
    """What Slurm's usage comes to. Unknown while Slurm or the bill is: the last state stays."""
    policy, account = view.policy.policy, situation.budget.account or ""
    period = allocation.period(now)
    if period is None:
        return Ended("the allocation is not in force now")
    if policy.rates is None:
        return Unknown("no_rates", "the policy has no rates, so the spend of Slurm accounts can't be counted")
    if not view.slurm.is_fresh(now):
        return Unknown("slurm_unknown", _silent(view))
    if account not in books.tree.names:
        return Unknown("no_such_account", f"Slurm has no account {account}")
    if allocation.currency != policy.rates.currency:
        text = f"the allocation is in {allocation.currency}, the rates are in {policy.rates.currency}"
        return Found(period=period, doubt=Doubt.CURRENCY, text=text)
    bill = _bill(situation, allocation, period, policy, now)
    if isinstance(bill, Unknown | Found):
        return bill
    scale = _scale(bill, period, books, policy, now)
    facts = _facts(account, allocation, policy.rates, books, scale, period, now)
    return Found(period=period, facts=facts)


def _bill(
    situation: Situation, allocation: Allocation, period: Period, policy: BudgetHoldsPolicy, now: datetime
) -> BudgetReading | Found | Unknown | None:
    """The bill to scale by; None when the allocation names none."""
    if allocation.bill is None:
        return None
    read = readable(situation.bill, allocation.bill)
    if isinstance(read, Unknown):
        return read
    doubted = reading_doubt(read, zero(policy.currency), period, policy, now)
    return doubted if doubted is not None and doubted.doubt not in accepted(situation, period) else read


@dataclass(frozen=True, slots=True)
class _Scale:
    """bill ÷ metered up to the cut-off."""

    cut_off_at: datetime
    as_of_at: datetime
    factor: Decimal = ONE
    idle: Money | None = None


def _scale(
    bill: BudgetReading | None, period: Period, books: Books, policy: BudgetHoldsPolicy, now: datetime
) -> _Scale:
    """How the bill compares with what was metered; 1 without a bill of the same period, or before its first numbers."""
    if bill is None or bill.period(now) != period:
        return _Scale(period.start_at, now)
    billed, as_of_at = actual(bill, period, policy.currency)
    cut_off_at = cut_off(as_of_at, period, policy)
    total = books.usage.of_all(period.start_at, cut_off_at)
    if billed.amount <= 0 or total.amount <= 0 or total.unpriced:
        return _Scale(cut_off_at, now)
    most = _FACTOR_AT_MOST if policy.idle_is_shared else ONE
    factor = min(max(billed.amount / total.amount, policy.plausibility.factor_floor), most)
    idle = max(billed.amount - total.amount * factor, Decimal(0))
    return _Scale(cut_off_at, now, factor, Money(idle, billed.currency))


def _facts(
    account: str,
    allocation: Allocation,
    rates: Rates,
    books: Books,
    scale: _Scale,
    period: Period,
    now: datetime,
) -> Facts:
    accounts = books.tree.below(account)
    settled = books.usage.of_accounts(accounts, period.start_at, scale.cut_off_at)
    since = books.usage.of_accounts(accounts, scale.cut_off_at, now + timedelta(hours=1))
    ceiling = committed(books.jobs.of_accounts(accounts), rates, now, period.end_at)
    unpriced = sorted(settled.unpriced | since.unpriced)
    currency = rates.currency
    return Facts(
        limit=Money(allocation.limit, currency),
        settled=Money(settled.amount * scale.factor, currency),
        in_flight=Money(since.amount, currency),
        committed=None if ceiling.unpriced else Money(ceiling.amount, currency),
        guarded=Money(settled.amount + since.amount, currency),
        settled_to_at=scale.cut_off_at,
        as_of_at=scale.as_of_at,
        credits=Money(allocation.credits, currency) if allocation.credits else None,
        factor=scale.factor,
        idle=scale.idle,
        can_hold=not unpriced,
        can_release=not unpriced,
        lacks=f"no rate for partition {', '.join(unpriced)}" if unpriced else "",
    )


def _silent(view: ClusterView) -> str:
    seen = view.slurm.seen_at
    since = f"since {seen:%Y-%m-%d %H:%M:%S} UTC" if seen is not None else "and never spoke"
    return f"the controller's agent of {view.cluster} is silent {since}, so Slurm's state is unknown"
