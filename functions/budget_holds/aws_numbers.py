"""The numbers of an AWS budget: settled is ActualSpend, in flight the cluster's Slurm usage by rates since those end."""

from datetime import datetime, timedelta
from decimal import Decimal

from budget_holds.facts import Ended, Facts, Finding, Found, Unknown, accepted
from budget_holds.policy import BudgetHoldsPolicy
from budget_holds.snapshot import ClusterView, Situation
from proctor.domain.budgets_memory import Doubt
from proctor.domain.budgets_period import Period
from proctor.domain.budgets_reading import BudgetAnswer, BudgetReading, BudgetUnread
from proctor.domain.money import Money, zero
from proctor.domain.spend import Books, committed


def aws_budget(situation: Situation, view: ClusterView, books: Books, now: datetime) -> Finding:
    """What AWS says, judged; what Slurm has used since."""
    policy = view.policy.policy
    reading = readable(situation.answer, situation.budget.aws_budget)
    if isinstance(reading, Unknown):
        return reading
    period = reading.period(now)
    if period is None:
        return Ended(f"the AWS budget {reading.name} is not in force now")
    limit = reading.limit_in(period)
    if limit is None or limit.amount <= 0:
        return Found(period=period, doubt=Doubt.LIMIT, text=f"{reading.name} has no limit above 0")
    doubted = reading_doubt(reading, limit, period, policy, now)
    if doubted is not None and doubted.doubt not in accepted(situation, period):
        return doubted
    settled, as_of_at = actual(reading, period, limit.currency)
    cut_off_at = cut_off(as_of_at, period, policy)
    in_flight, ceiling = _slurm_side(situation, view, books, now, cut_off_at, period)
    return Found(
        period=period,
        facts=Facts(
            limit=limit,
            settled=settled,
            in_flight=in_flight,
            committed=ceiling,
            guarded=settled,
            settled_to_at=cut_off_at,
            as_of_at=as_of_at,
            forecast=reading.forecast
            if reading.forecast and reading.forecast.currency == limit.currency
            else None,
            alert_percent=reading.alert_percent if as_of_at > period.start_at else Decimal(0),
            can_hold=policy.rates is not None,
            can_release=in_flight is not None and reading.actual is not None,
            lacks=_lacks(policy, in_flight),
            is_net=reading.is_net,
        ),
    )


def _lacks(policy: BudgetHoldsPolicy, in_flight: Money | None) -> str:
    if policy.rates is None:
        return "the policy has no rates"
    return "" if in_flight is not None else "what is in flight is unknown: the controller's agent is silent"


def readable(answer: BudgetAnswer | None, name: str | None) -> BudgetReading | Unknown:
    """The reading of a cost budget, or why there is none."""
    if answer is None:
        return Unknown("unreadable", f"the AWS budget {name} was not read")
    if isinstance(answer, BudgetUnread):
        reason = "no_such_budget" if answer.is_missing else "unreadable"
        return Unknown(reason, f"the AWS budget {answer.name} can't be read: {answer.error}")
    if not answer.is_cost:
        return Unknown("not_cost", f"the AWS budget {answer.name} does not count cost; name one of type COST")
    return answer


def reading_doubt(
    reading: BudgetReading, limit: Money, period: Period, policy: BudgetHoldsPolicy, now: datetime
) -> Found | None:
    """Why AWS's numbers can't be used as they are, if so."""
    for money in (limit, reading.actual):
        if money is not None and money.currency != policy.currency:
            text = f"{reading.name} is in {money.currency}, the policy's rates are in {policy.currency}"
            return Found(period=period, doubt=Doubt.CURRENCY, text=text)
    if not reading.is_healthy:
        text = f"AWS says that {reading.name} is not healthy: {reading.health}"
        return Found(period=period, doubt=Doubt.UNHEALTHY, text=text)
    oldest_at = now - timedelta(hours=policy.plausibility.stale_after_hours)
    if reading.updated_at is None or reading.updated_at < oldest_at:
        text = f"the numbers of {reading.name} are of {reading.updated_at or 'no known time'}"
        return Found(period=period, doubt=Doubt.STALE, text=text)
    return None


def actual(reading: BudgetReading, period: Period, currency: str) -> tuple[Money, datetime]:
    """The period's spend so far and as of when. Numbers from before the period's start speak of the one before it."""
    if reading.updated_at is None or reading.updated_at <= period.start_at or reading.actual is None:
        return zero(currency), period.start_at
    return reading.actual, reading.updated_at


def cut_off(as_of_at: datetime, period: Period, policy: BudgetHoldsPolicy) -> datetime:
    """The hour up to which the bill is taken to be complete."""
    at = max(as_of_at - timedelta(hours=policy.billing_lag_hours), period.start_at)
    return at.replace(minute=0, second=0, microsecond=0)


def _slurm_side(
    situation: Situation, view: ClusterView, books: Books, now: datetime, since: datetime, period: Period
) -> tuple[Money | None, Money | None]:
    """In flight and committed of an AWS budget; None when Slurm is unknown or unpriced."""
    rates = view.policy.policy.rates
    if rates is None or not view.slurm.is_fresh(now):
        return None, None
    account = situation.budget.account
    until = now + timedelta(hours=1)
    used = (
        books.usage.of_all(since, until)
        if account is None
        else books.usage.of_accounts(books.tree.below(account), since, until)
    )
    jobs = books.jobs.all() if account is None else books.jobs.of_accounts(books.tree.below(account))
    ceiling = committed(jobs, rates, now, period.end_at)
    in_flight = None if used.unpriced else Money(used.amount, rates.currency)
    return in_flight, None if ceiling.unpriced else Money(ceiling.amount, rates.currency)
