"""What budget_holds must remember of one budget, and where it stands in the present period.

    OK → WARNED → HELD → RELEASED        and NEEDS_HUMAN beside it: a doubt, during which the level stays what it was

One item per budget: it names its period, so two evaluators on both sides of a border meet in one compare-and-swap.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from proctor.domain.budgets_period import Period
from proctor.domain.money import Money


class Level(StrEnum):
    """Where a budget stands. RELEASED: was held in this period and is let go."""

    OK = "ok"
    WARNED = "warned"
    HELD = "held"
    RELEASED = "released"


class Doubt(StrEnum):
    """Why the numbers can't be acted on; a person answers with `proctor approve`."""

    JUMP = "jump"
    SHRINK = "shrink"
    UNHEALTHY = "unhealthy"
    STALE = "stale"
    CURRENCY = "currency"
    LIMIT = "limit"


class Why(StrEnum):
    """Why the level last changed."""

    LIMIT_REACHED = "limit_reached"
    FELL_BELOW = "fell_below"
    LIMIT_RAISED = "limit_raised"
    NEW_PERIOD = "new_period"
    BY_HAND = "by_hand"
    ORDER_LAPSED = "order_lapsed"
    ENDED = "ended"


class HandKind(StrEnum):
    """What an operator ordered."""

    HOLD = "hold"
    RELEASE = "release"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOrder:
    """An operator's order. `until_at` None: a release ends with the period or a changed limit, a hold with a release."""

    kind: HandKind
    by: str
    at: datetime
    until_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Fired:
    """When a threshold fired; `is_told` is false while notices are only recorded (dry-run), so it is told once later."""

    at: datetime
    is_told: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetMemory:
    """Everything remembered.

    `trusted` is the last figure that passed every guard, as of `trusted_at`. `most_nodes` is the largest cluster seen in the
    period. `fired` maps a threshold (`50`, `forecast`, ...) to when it fired. `approved` maps a doubt to who accepted it, for
    this period. `level_at` and `why` are of the last beginning or end of a hold. `held_in` is the period in which the hold was
    decided. `is_holding` is what other evaluators need: whether work is to be held now.
    """

    rev: int = 0
    period: Period | None = None
    level: Level = Level.OK
    level_at: datetime | None = None
    why: Why | None = None
    held_in: str | None = None
    is_holding: bool = False
    doubt: Doubt | None = None
    limit: Money | None = None
    trusted: Money | None = None
    trusted_at: datetime | None = None
    most_nodes: int = 0
    fired: Mapping[str, Fired] = field(default_factory=dict)
    hand: HandOrder | None = None
    approved: Mapping[Doubt, str] = field(default_factory=dict)

    @property
    def state(self) -> str:
        """The state as shown to people."""
        return "needs_human" if self.doubt is not None else self.level.value


def memory_subject(cluster: str, budget: str) -> str:
    """Key of one budget's memory."""
    return f"{cluster}#{budget}"


def to_record(memory: BudgetMemory) -> dict[str, Any]:
    """As plain JSON values; the revision is the store's."""
    return {
        "period": [memory.period.start_at.isoformat(), memory.period.end_at.isoformat()]
        if memory.period
        else None,
        "level": memory.level.value,
        "level_at": _text(memory.level_at),
        "why": memory.why.value if memory.why else None,
        "held_in": memory.held_in,
        "is_holding": memory.is_holding,
        "doubt": memory.doubt.value if memory.doubt else None,
        "limit": _money(memory.limit),
        "trusted": _money(memory.trusted),
        "trusted_at": _text(memory.trusted_at),
        "most_nodes": memory.most_nodes,
        "fired": {name: [f.at.isoformat(), f.is_told] for name, f in sorted(memory.fired.items())},
        "hand": {
            "kind": memory.hand.kind.value,
            "by": memory.hand.by,
            "at": memory.hand.at.isoformat(),
            "until_at": _text(memory.hand.until_at),
        }
        if memory.hand
        else None,
        "approved": {doubt.value: by for doubt, by in sorted(memory.approved.items())},
    }


def from_record(record: Mapping[str, Any], rev: int) -> BudgetMemory:
    """Back from a record of ours. Raises KeyError or ValueError for one that is none."""
    period, hand = record["period"], record["hand"]
    return BudgetMemory(
        rev=rev,
        period=Period(datetime.fromisoformat(period[0]), datetime.fromisoformat(period[1]))
        if period
        else None,
        level=Level(record["level"]),
        level_at=_time(record["level_at"]),
        why=Why(record["why"]) if record["why"] else None,
        held_in=record["held_in"],
        is_holding=record["is_holding"],
        doubt=Doubt(record["doubt"]) if record["doubt"] else None,
        limit=_as_money(record["limit"]),
        trusted=_as_money(record["trusted"]),
        trusted_at=_time(record["trusted_at"]),
        most_nodes=record["most_nodes"],
        fired={name: Fired(datetime.fromisoformat(at), told) for name, (at, told) in record["fired"].items()},
        hand=HandOrder(
            kind=HandKind(hand["kind"]),
            by=hand["by"],
            at=datetime.fromisoformat(hand["at"]),
            until_at=_time(hand["until_at"]),
        )
        if hand
        else None,
        approved={Doubt(doubt): by for doubt, by in record["approved"].items()},
    )


def _text(at: datetime | None) -> str | None:
    return at.isoformat() if at is not None else None


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text is not None else None


def _money(money: Money | None) -> list[str] | None:
    return [str(money.amount), money.currency] if money is not None else None


def _as_money(record: list[str] | None) -> Money | None:
    return Money(Decimal(record[0]), record[1]) if record is not None else None
