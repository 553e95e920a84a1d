"""Amounts of money as text. Whatever a definition or AWS says can be written: one odd number must not hide the others."""

from decimal import Decimal, InvalidOperation

_DIGITS_AT_MOST = 15
_CENT = Decimal("0.01")
_WHOLE_FROM = Decimal(100)


def exact(amount: Decimal) -> str:
    """To the cent; from 10^15 on in powers of ten, since nobody reads more digits.

    >>> exact(Decimal("4100.5")), exact(Decimal("1e30"))
    ('4100.50', '1.00e+30')
    """
    return f"{amount:.2e}" if _is_vast(amount) else f"{amount:.2f}"


def whole(amount: Decimal) -> str:
    """For a table: without cents, but for amounts under 100 that have some, since 0.10 is not 0.

    >>> whole(Decimal("4100.5")), whole(Decimal("0.1")), whole(Decimal("0.001"))
    ('4,100', '0.10', '<0.01')
    """
    if _is_vast(amount):
        return exact(amount)
    size = amount.copy_abs()
    if size >= _WHOLE_FROM or amount == amount.to_integral_value():
        return f"{amount:,.0f}"
    return "<0.01" if size < _CENT else f"{amount:.2f}"


def parsed(text: str) -> Decimal | None:
    """A finite amount, or None for text that is none."""
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return None
    return amount if amount.is_finite() else None


def _is_vast(amount: Decimal) -> bool:
    return amount != 0 and amount.adjusted() >= _DIGITS_AT_MOST
