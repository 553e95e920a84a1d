"""What a scenario may change while the local AWS runs.

Delays, throttles, lost and repeated events, stuck ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any


class SettingError(ValueError):
    """A setting that doesn't exist or has a value of the wrong kind.

    The message names the field and the fix.
    """


@dataclass(slots=True)
class Settings:
    """Settings of the local AWS, changed by ``POST /_proctor/settings``. Times are seconds."""

    trail_delay_seconds: float = 0.5
    """From an API call to its CloudTrail record on the bus. Real: seconds to minutes, not promised."""
    parameter_event_delay_seconds: float = 0.2
    """From a change in Parameter Store to its event."""
    budget_message_delay_seconds: float = 0.2
    """From new figures of a budget to its message. Real: minutes, after hours of billing delay."""
    terminating_seconds: float = 0.3
    """How long an ended session is shown as Terminating before it moves to the history."""
    connecting_seconds: float = 0.1
    """How long a new session is shown as Connecting."""
    trail_loss: float = 0.0
    """Part of the CloudTrail records that never reach the bus, 0 to 1."""
    trail_duplication: float = 0.0
    """Part of the CloudTrail records that reach the bus twice, 0 to 1."""
    lose_next_records: int = 0
    """So many of the next CloudTrail records are lost, whatever ``trail_loss`` says."""
    trail_enabled: bool = True
    """False: the account has no trail; no record reaches the bus at all."""
    ignore_terminations: int = 0
    """So many of the next TerminateSession calls say yes and end nothing."""
    calls_per_second: dict[str, float] = field(default_factory=lambda: {"StartSession": 3.0})
    """Rate limit of an SSM or SageMaker action in the account; over it the call gets ThrottlingException."""
    throttle_next: dict[str, int] = field(default_factory=dict)
    """So many of the next calls of an action are throttled, whatever the rate."""
    check_targets: bool = True
    """StartSession wants a known, running node; False lets any target start."""
    missing_variable: str = "empty"
    """What an InputTransformer writes for a path the event lacks.

    ``empty`` string, or ``absent`` (nothing).
    """
    random_seed: int = 1
    """Seed of the losses and repetitions."""

    def change(self, values: Mapping[str, Any]) -> None:
        """Set some fields; nothing is changed when one of them is refused. Raises SettingError."""
        known = {item.name for item in fields(self)}
        for name, value in values.items():
            if name not in known:
                raise SettingError(f"settings.{name}: no such setting; known are {', '.join(sorted(known))}")
            _check(name, getattr(self, name), value)
        for name, value in values.items():
            setattr(self, name, dict(value) if isinstance(value, Mapping) else value)

    def reset(self) -> None:
        """Go back to the values of a fresh start."""
        fresh = Settings()
        for item in fields(self):
            setattr(self, item.name, getattr(fresh, item.name))

    def as_dict(self) -> dict[str, Any]:
        """All settings by name."""
        return {item.name: getattr(self, item.name) for item in fields(self)}


def _check(name: str, current: object, value: object) -> None:
    if isinstance(current, bool):
        fits = isinstance(value, bool)
    elif isinstance(current, float | int):
        fits = isinstance(value, float | int) and not isinstance(value, bool) and value >= 0
        fits = fits and (isinstance(current, float) or isinstance(value, int))
    else:
        fits = isinstance(value, type(current))
    if name == "missing_variable":
        fits = value in ("empty", "absent")
    if name in ("trail_loss", "trail_duplication"):
        fits = fits and isinstance(value, float | int) and value <= 1
    if isinstance(current, dict) and isinstance(value, dict):
        fits = all(
            isinstance(rate, float | int) and not isinstance(rate, bool) and rate >= 0
            for rate in value.values()
        )
    if not fits:
        raise SettingError(f"settings.{name} = {value!r}: give a value like {current!r}")
