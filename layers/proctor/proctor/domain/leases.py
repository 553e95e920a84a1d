"""Leases: a right that ends by itself, so that a crashed evaluator blocks nobody for ever.

Compared in code, never by a table's TTL (DynamoDB deletes expired items within days, not seconds).
"""

from datetime import datetime, timedelta

LEASE = timedelta(minutes=2)
"""Longer than any function's time-out, so that no lease of a running evaluator expires."""

_SKEW = timedelta(seconds=65)
"""An evaluation reads the clock once and may run for 60 s, so others write leases that much later; 5 s between clocks."""


def is_live(lease_until: datetime | None, now: datetime, length: timedelta = LEASE) -> bool:
    """Whether a lease still holds at `now`.

    `now` is when the asking evaluation began. A lease that ends later than one written while it may run was written by a
    clock that has since been set back; it is over, else the step would extend it.
    """
    return lease_until is not None and now < lease_until <= now + length + _SKEW
