"""What the simulation knows of one evaluation: who it is, what it saw and when, and what it is about to do."""

from dataclasses import dataclass, field
from datetime import datetime

from proctor.domain.actions import Action
from proctor.domain.decision import Verdict
from session_limits.snapshot import Snapshot


@dataclass(eq=False)
class Evaluation:
    """One record's way through Proctor. `now` is its wall clock, `started` and `decided_at` are true time."""

    name: str
    started: float
    token: str = ""
    now: datetime | None = None
    listed: tuple[float, float] | None = None
    reread_at: float | None = None
    acting: Action | None = None
    snapshot: Snapshot | None = None
    verdicts: dict[tuple[str, str], Verdict] = field(default_factory=dict)
    decided_at: float = 0.0
    is_over: bool = False
