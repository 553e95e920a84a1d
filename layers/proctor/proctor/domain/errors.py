"""Every error Proctor raises on purpose.

ProctorError
├── InvalidInputError      the input can't be used; parked with its reason, never retried
├── LostRaceError          a conditional write lost; observe and decide again
├── TransientError         try again later; the queue redelivers
│   ├── ThrottledError     the service said "slow down"; never read as "not found" or "none"
│   ├── ContendedError     another evaluator holds the claim or keeps winning the ledger
│   └── NotYetError        what it needs is on its way: looked for again at once, then by the queue
└── TerminalError          retrying can't help; recorded and alarmed
    ├── DeniedError        the role lacks a permission
    └── NotFoundError      the thing named does not exist
"""


class ProctorError(Exception):
    """Root of the tree above."""


class InvalidInputError(ProctorError):
    """Bad input: names the field, the value and the fix."""

    def __init__(self, field: str, value: object, fix: str) -> None:
        """Build the one-line message from `field`, `value` (cut at 80 characters) and `fix`."""
        self.field = field
        self.fix = fix
        shown = repr(value)
        self.value = shown if len(shown) <= 80 else shown[:77] + "..."
        super().__init__(f"{field}: {self.value} is not usable; {fix}")


class LostRaceError(ProctorError):
    """A compare-and-swap failed: somebody else wrote in between."""


class TransientError(ProctorError):
    """Retrying later may help."""


class ThrottledError(TransientError):
    """The service refused because of its rate."""


class ContendedError(TransientError):
    """Another evaluator is deciding about the same subject right now."""


class NotYetError(TransientError):
    """What this needs is on its way: another evaluator has it in hand, or the next message of the queue brings it."""


class TerminalError(ProctorError):
    """Retrying can't help."""


class DeniedError(TerminalError):
    """IAM refused the call."""


class NotFoundError(TerminalError):
    """The named thing does not exist; never raised for a throttle."""
