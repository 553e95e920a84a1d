"""Carries out what agent_reports writes to Proctor's own tables, as the memory of its cases: conditional writes, no claims.

A report costs its own writes and nothing more; a lost race shows as any other (docs/decisions/0008).
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from proctor.domain.agent_writes import (
    Cause,
    ChangesWrite,
    DropWrite,
    EnrolWrite,
    RecordWrite,
    ReportWrite,
    SilenceCount,
    SilenceWrite,
)
from proctor.domain.errors import LostRaceError
from proctor.ports import Telemetry
from proctor.ports.agents import AgentRegistry, ChangeAnnouncer, ObservedStore

_PROOF_MISSING = frozenset({Cause.FORGED, Cause.CROSS_ROLE, Cause.CROSS_NODE, Cause.FOREIGN_ROW})
"""What no agent of ours sends: somebody tries."""


class AgentMemory:
    """Implements the MemorySwap port for agent_reports."""

    def __init__(
        self,
        agents: AgentRegistry,
        observed: ObservedStore,
        changes: ChangeAnnouncer,
        telemetry: Telemetry,
        clock: Callable[[], datetime],
    ) -> None:
        """Take where agents, rows, changes and counts go. `clock` spaces change events only."""
        self._agents = agents
        self._observed = observed
        self._changes = changes
        self._telemetry = telemetry
        self._clock = clock

    def swap(self, subject: str, data: object, expected_rev: int) -> None:
        """Write. Raises LostRaceError when the agent is no longer at `expected_rev`."""
        match data:
            case ReportWrite():
                self._report(data)
            case EnrolWrite():
                self._agents.enrol(data.record)
                self._telemetry.count("AgentEnrolled")
            case RecordWrite():
                self._agents.swap(replace(data.record, rev=expected_rev))
            case SilenceWrite():
                self._silence(data)
            case DropWrite():
                self._dropped(data)
            case SilenceCount() | ChangesWrite():
                self._swept(data)
            case _:
                message = f"{subject}: agent_reports keeps no {type(data).__name__}"
                raise TypeError(message)

    def _swept(self, data: SilenceCount | ChangesWrite) -> None:
        if isinstance(data, ChangesWrite):
            self._changes.announce(data.cluster, None, self._clock())
            return
        self._telemetry.count("ControllerSilent", data.controllers)
        self._telemetry.count("AgentSilent", data.controllers + data.nodes)

    def _report(self, write: ReportWrite) -> None:
        self._observed.apply(write)
        self._telemetry.count("ReportApplied")
        for cause, count in write.rows.refused.items():
            self._count(Cause.FOREIGN_ROW if cause == Cause.FOREIGN_ROW.value else Cause.ODD_ROW, count)
        if write.rows.kinds:
            self._changes.announce(write.record.cluster, sorted(write.rows.kinds), self._clock())

    def _silence(self, write: SilenceWrite) -> None:
        """An agent heard of since, or changed by another sweep, is left alone: the next sweep looks again."""
        record = self._agents.get(write.seen.cluster, write.seen.instance_id)
        if record is None or record.rev != write.seen.rev:
            return
        try:
            self._agents.swap(replace(record, state=write.state, silent_since=write.since))
        except LostRaceError:
            return

    def _dropped(self, write: DropWrite) -> None:
        for cause, count in write.causes.items():
            self._count(cause, count)

    def _count(self, cause: Cause, count: int) -> None:
        self._telemetry.count("ReportDropped", count)
        self._telemetry.count("ReportDropped" + cause.value.title().replace("_", ""), count)
        if cause in _PROOF_MISSING:
            self._telemetry.count("ReportForged", count)
