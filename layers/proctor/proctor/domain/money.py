"""Money: a decimal amount with its currency (ISO 4217). Never a float, and two currencies never meet."""

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from proctor.domain.errors import InvalidInputError

_CURRENCY = re.compile(r"^[A-Z]{3}$")
_HUNDRED = Decimal(100)
MOST_AMOUNT = Decimal(10**12)
"""No limit, price or credit is meant to be higher, in any currency; sums of such amounts stay exact and can be shown."""

LEAST_AMOUNT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in one currency."""

    amount: Decimal
    currency: str = "USD"

    def __post_init__(self) -> None:
        """Refuse NaN, infinity and odd currencies. Raises InvalidInputError."""
        if not self.amount.is_finite():
            raise InvalidInputError("amount", str(self.amount), "give a finite decimal number")
        if not _CURRENCY.match(self.currency):
            raise InvalidInputError("currency", self.currency, "give an ISO 4217 code such as USD")

    @classmethod
    def parse(cls, amount: str, currency: str) -> "Money":
        """From the two texts that AWS Budgets gives as Amount and Unit. Raises InvalidInputError."""
        try:
            return cls(Decimal(amount), currency)
        except InvalidOperation:
            raise InvalidInputError("amount", amount, "give a plain decimal number") from None

    def __add__(self, other: "Money") -> "Money":
        return Money(self.amount + self._same(other), self.currency)

    def __sub__(self, other: "Money") -> "Money":
        return Money(self.amount - self._same(other), self.currency)

    def __gt__(self, other: "Money") -> bool:
        return self.amount > self._same(other)

    def times(self, factor: Decimal) -> "Money":
        """The amount multiplied."""
        return Money(self.amount * factor, self.currency)

    def percent_of(self, whole: "Money") -> Decimal:
        """Exact share of `whole` in percent; `whole` must be above zero."""
        return self.amount * _HUNDRED / self._same(whole)

    def _same(self, other: "Money") -> Decimal:
        if other.currency != self.currency:
            raise InvalidInputError("currency", other.currency, f"use {self.currency} throughout")
        return other.amount

    def __str__(self) -> str:
        return f"{self.amount:,.2f} {self.currency}"


def zero(currency: str = "USD") -> Money:
    """Nothing, in a currency."""
    return Money(Decimal(0), currency)


def check_amount(name: str, amount: Decimal, *, least: Decimal = LEAST_AMOUNT) -> None:
    """An amount that somebody wrote: finite, and from `least` to MOST_AMOUNT. Raises ValueError with field, value and fix."""
    if not amount.is_finite() or not least <= amount <= MOST_AMOUNT:
        message = f"{name}: {amount} is not usable; give an amount from {least} to {MOST_AMOUNT:,}"
        raise ValueError(message)
