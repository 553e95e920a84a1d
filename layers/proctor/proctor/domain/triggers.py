"""What may wake any function: the sweep, a written policy, a manual request, or an event that asks for nothing.

A function adds the triggers of its own, and unites in its `Trigger` those that it knows.
"""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Sweep:
    """Look at everything."""

    name: str = "Sweep"
    is_sweep: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class NoEvent:
    """An event that asks for nothing: a call that failed, a parameter that was labelled or deleted."""

    name: str
    is_sweep: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class PolicyChanged:
    """A parameter was written: `/proctor/<cluster>/<function>`, or a definition one level below."""

    parameter_name: str
    name: str = "ParameterStoreChange"
    is_sweep: ClassVar[bool] = False

    @property
    def cluster(self) -> str:
        """The cluster whose it is."""
        return self.parameter_name.split("/")[2]

    @property
    def definition(self) -> str | None:
        """What is defined one level below, e.g. a budget's name; None for the function's policy."""
        parts = self.parameter_name.split("/")
        return parts[4] if len(parts) == 5 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualTrigger:
    """An operator's request; each function adds what may be asked of it. Break-glass: `lift` a limit, with a `caller_proof`."""

    requested_by: str
    justification: str
    is_dry_run: bool
    lift: str | None = None
    caller_proof: str | None = None
    name: str = "Manual"
    is_sweep: ClassVar[bool] = False
