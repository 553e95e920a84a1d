"""One budget: `/proctor/<cluster>/budget_holds/<budget>` in Parameter Store, JSON, at most 4 KB. Unknown keys are refused.

{"aws_budget": "hyperpod-alpha", "partitions": ["gpu"], "hold": {"level": "partition", "accept_collateral": true}}
{"allocation": {"limit": 5000, "time_unit": "MONTHLY", "bill": "hyperpod-alpha"}, "account": "lab1", "owner": "ada"}
"""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar

from budget_holds.policy import check_thresholds, refuse_cancel
from proctor.domain.agent_protocol import PartitionState
from proctor.domain.agent_protocol.names import ACCOUNT, PARTITION, PROTECTED_ACCOUNTS
from proctor.domain.budgets_period import CALENDAR, Period, TimeUnit, period_at
from proctor.domain.decision import Mode
from proctor.domain.money import check_amount

_STRICT = {"extra": "forbid"}
_AWS_NAME = re.compile(r"^[^:\\]{1,100}$")
_ACCOUNT_ID = re.compile(r"^\d{12}$")
_YEARS = range(2000, 2100)


class HoldLevel(StrEnum):
    """Where a hold takes hold."""

    ACCOUNT = "account"
    PARTITION = "partition"
    PARTITION_QOS = "partition_qos"
    NODES = "nodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """How work is held.

    `refuse` also refuses submissions (level account). `partition_state` is for level partition. `accept_collateral`: the
    owner of this budget knows that partition, partition_qos and nodes also stop accounts within their budgets. `is_durable`:
    the site keeps the partition's `QOS=` in its configuration (level partition_qos).
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    level: HoldLevel = HoldLevel.ACCOUNT
    refuse: bool = False
    partition_state: PartitionState = PartitionState.DOWN
    accept_collateral: bool = False
    is_durable: bool = False

    def __post_init__(self) -> None:
        """Refuse combinations that would silently do less than they say."""
        if self.refuse and self.level is not HoldLevel.ACCOUNT:
            message = "hold.refuse needs level account; for a partition set partition_state INACTIVE"
            raise ValueError(message)
        if self.partition_state is PartitionState.UP:
            message = "hold.partition_state can't be UP; use DOWN, DRAIN or INACTIVE"
            raise ValueError(message)
        if self.level is HoldLevel.PARTITION_QOS and not self.is_durable:
            message = "hold.is_durable must be true for level partition_qos: keep QOS= on the partition's line in slurm.conf"
            raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """A department's money for Slurm work, since AWS Budgets can't know it.

    `time_unit` CUSTOM needs `starts_at` and `ends_at`; else `starts_at` anchors the periods (default: calendar). `bill` names
    the AWS budget over the cluster whose ActualSpend scales settled usage. `credits` are shown, never taken off.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    limit: Decimal
    currency: str = "USD"
    time_unit: TimeUnit = TimeUnit.MONTHLY
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    bill: str | None = None
    credits: Decimal = Decimal(0)

    def __post_init__(self) -> None:
        """A limit of zero is a closed department: take its associations instead."""
        check_amount("allocation.limit", self.limit)
        check_amount("allocation.credits", self.credits, least=Decimal(0))
        for name in ("starts_at", "ends_at"):
            at = getattr(self, name)
            if at is not None and at.utcoffset() is None:
                message = f"allocation.{name} needs a time zone, e.g. 2026-09-01T00:00:00Z"
                raise ValueError(message)
            if at is not None and at.year not in _YEARS:
                message = f"allocation.{name}: {at.isoformat()} is not usable; give a time from 2000 to 2099"
                raise ValueError(message)
        if self.time_unit is TimeUnit.CUSTOM and (self.starts_at is None or self.ends_at is None):
            message = "allocation: CUSTOM needs starts_at and ends_at"
            raise ValueError(message)
        if self.starts_at and self.ends_at and self.ends_at <= self.starts_at:
            message = "allocation.ends_at must be after starts_at"
            raise ValueError(message)

    def period(self, now: datetime) -> Period | None:
        """The period that holds `now`."""
        anchor = (self.starts_at or CALENDAR).astimezone(UTC)
        return period_at(self.time_unit, now, anchor=anchor, starts_at=self.starts_at, ends_at=self.ends_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetDefinition:
    """One budget of one cluster: where its money is counted, whom it governs, how it holds, who owns it.

    Exactly one of `aws_budget` and `allocation`. Subject: `account` (with its children), or `partitions`, or neither for the
    whole cluster. An AWS budget may name one account only with `is_only_account`: its filter covers resources that only this
    department uses, which no tag can prove.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    aws_budget: str | None = None
    aws_account_id: str | None = None
    allocation: Allocation | None = None
    account: str | None = None
    is_only_account: bool = False
    partitions: tuple[str, ...] = ()
    hold: Hold = field(default_factory=Hold)
    owner: str | None = None
    thresholds: tuple[int, ...] | None = None
    mode: Mode = Mode.APPLY
    cancel_after_hours: int | None = None

    def __post_init__(self) -> None:
        """Refuse what can't be carried out as written."""
        refuse_cancel(self.cancel_after_hours)
        if self.thresholds is not None:
            check_thresholds(self.thresholds)
        for problem in (*_source_problems(self), *_subject_problems(self)):
            raise ValueError(problem)

    @property
    def is_whole_cluster(self) -> bool:
        """Whether the subject is everybody."""
        return self.account is None and not self.partitions


def _source_problems(budget: BudgetDefinition) -> list[str]:
    found: list[str] = []
    if (budget.aws_budget is None) == (budget.allocation is None):
        found.append("give exactly one of aws_budget and allocation")
    if budget.aws_budget is not None and not _AWS_NAME.match(budget.aws_budget):
        found.append("aws_budget has up to 100 characters without : and \\")
    if budget.aws_account_id is not None and not _ACCOUNT_ID.match(budget.aws_account_id):
        found.append("aws_account_id has 12 digits")
    if budget.allocation is not None and budget.account is None:
        found.append("an allocation needs account: Slurm usage is counted by account")
    if budget.aws_budget is not None and budget.account is not None and not budget.is_only_account:
        found.append(
            "an AWS budget may name an account only with is_only_account true: its filter must cover resources that "
            "only this department uses"
        )
    return found


def _subject_problems(budget: BudgetDefinition) -> list[str]:
    found: list[str] = []
    if budget.account is not None and not ACCOUNT.fullmatch(budget.account):
        found.append("account must be a Slurm account's name, in lower case")
    if budget.account in PROTECTED_ACCOUNTS:
        found.append(f"account {budget.account} is everybody; leave account out to mean the whole cluster")
    if any(not PARTITION.fullmatch(name) for name in budget.partitions):
        found.append("partitions must be names of Slurm partitions")
    if budget.partitions and budget.hold.level is HoldLevel.ACCOUNT:
        found.append(
            "hold.level account holds in every partition; for partitions use partition, partition_qos or nodes"
        )
    if not budget.partitions and budget.account is not None and budget.hold.level is not HoldLevel.ACCOUNT:
        found.append(f"hold.level {budget.hold.level.value} needs partitions")
    if budget.is_whole_cluster and budget.hold.level is HoldLevel.PARTITION_QOS:
        found.append("hold.level partition_qos needs partitions")
    return found
