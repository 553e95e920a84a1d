"""One decision about one intent: either an outcome, or a command after which the decision is made again."""

from collections.abc import Mapping
from dataclasses import dataclass

from proctor.domain.agent_protocol import Outcome
from proctor_agent.slurm.writes import Argv
from proctor_agent.state.records import Record


@dataclass(frozen=True)
class Step:
    """`command` empty: nothing to do, `outcome` is the answer. Otherwise: keep `record`, run it, look again.

    `record` is what must be remembered before the command, or beside the outcome; None leaves it as it is.
    `undone` says what was seen in place of a hold that had been in force.
    """

    outcome: Outcome
    detail: str = ""
    command: Argv = ()
    record: Record | None = None
    field: str = ""
    previous: Mapping[str, str] | None = None
    undone: str = ""


def done(outcome: Outcome, detail: str = "", record: Record | None = None) -> Step:
    """An answer without a command."""
    previous = record.previous if record is not None else None
    field = ",".join(sorted(previous)) if previous else ""
    return Step(outcome, detail, record=record, field=field, previous=previous)


def act(command: Argv, record: Record, detail: str = "", undone: str = "") -> Step:
    """A command; the answer is unconfirmed until a second look shows that it took."""
    field = ",".join(sorted(record.previous))
    return Step(Outcome.UNCONFIRMED, detail, command, record, field, record.previous, undone)
