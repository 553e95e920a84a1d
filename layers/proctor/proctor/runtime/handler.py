"""Where an invocation enters: a queue's batch or a manual request, on one path. The only place that reads clock and chance.

A record that can't be used is parked with its reason and is done; one that may succeed later stays in the queue (partial
batch failure); one that can't ever succeed is parked too. So no record is lost and none blocks the others.
"""

import json
import random
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from proctor.domain.decision import Mode, Outcome, RunContext, lowest
from proctor.domain.errors import InvalidInputError, ProctorError, TerminalError, TransientError
from proctor.domain.triggers import ManualTrigger
from proctor.ports import ParkingLot, Telemetry
from proctor.runtime.executor import as_summary
from proctor.runtime.reaction import Reaction, Trigger

_BY_HAND = "proctor.manual"


@dataclass(frozen=True, slots=True)
class Request:
    """Who asks, for a manual trigger; the defaults stand for Proctor itself."""

    actor: str = "proctor"
    justification: str = ""
    bound: Mode = Mode.APPLY
    lifted: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Wiring[T: Trigger, S]:
    """What `app.py` puts together for one function.

    `parse` raises InvalidInputError. `reaction` is called once per batch, so that a batch reads each list once. `caller` is
    given a break-glass request's proof and the function: the ARN proven, or DeniedError.
    """

    function: str
    parse: Callable[[Mapping[str, Any]], T]
    caller: Callable[[str, str], str]
    reaction: Callable[[], Reaction[T, S]]
    parking: ParkingLot
    telemetry: Telemetry
    bound: Mode
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    token: Callable[[], str] = lambda: secrets.token_hex(8)


def handle[T: Trigger, S](event: Mapping[str, Any], wiring: Wiring[T, S]) -> dict[str, Any]:
    """Run a batch (answer: `batchItemFailures`) or one manual request (answer: `outcomes`).

    Raises InvalidInputError, DeniedError and the like for a manual request, so that its caller sees them.
    """
    payload: Any = event
    records = payload.get("Records") if isinstance(payload, dict) else None
    if isinstance(records, list):
        return _batch(records, wiring)
    outcomes = _one(event, wiring, wiring.reaction())
    return {"outcomes": [as_summary(o) for o in outcomes]}


def pause_before(attempt: int) -> None:
    """Wait with full jitter, 0.1 s doubled per attempt, at most 2 s."""
    time.sleep(random.uniform(0, min(2.0, 0.1 * 2**attempt)))  # noqa: S311 - jitter, not a secret


def _batch[T: Trigger, S](records: list[Any], wiring: Wiring[T, S]) -> dict[str, Any]:
    reaction = wiring.reaction()
    failed: list[dict[str, str]] = []
    for record in records:
        message_id = str(record.get("messageId", "")) if isinstance(record, dict) else ""
        try:
            if not _record(record, wiring, reaction):
                failed.append({"itemIdentifier": message_id})
        except Exception as error:  # noqa: BLE001 - one bad record must not take the batch with it
            wiring.telemetry.count("RecordCrashed")
            wiring.telemetry.warn("record crashed", error=type(error).__name__, at=_where(error))
            failed.append({"itemIdentifier": message_id})
    return {"batchItemFailures": failed}


def _record[T: Trigger, S](record: Any, wiring: Wiring[T, S], reaction: Reaction[T, S]) -> bool:
    """Run one queue record; False keeps it in the queue."""
    raw: Any = record
    try:
        raw = _body(record)
        if isinstance(raw, dict) and raw.get("source") == _BY_HAND:
            raise InvalidInputError(
                "source", _BY_HAND, "invoke the function; a queue proves nobody's right to ask"
            )
        _one(raw, wiring, reaction)
    except TransientError as error:
        wiring.telemetry.count("RecordRetried")
        wiring.telemetry.warn("record will be retried", error=type(error).__name__, why=str(error))
        return False
    except (InvalidInputError, TerminalError) as error:
        return _park(raw, error, wiring)
    return True


def _park[T: Trigger, S](raw: Any, error: ProctorError, wiring: Wiring[T, S]) -> bool:
    wiring.telemetry.count("RecordParked")
    wiring.telemetry.warn("record parked", error=type(error).__name__, why=_without_value(error))
    try:
        wiring.parking.park(raw, f"{type(error).__name__}: {error}", _context(wiring, Request(), "parked"))
    except (TransientError, TerminalError) as failure:
        wiring.telemetry.warn("parking failed; the record stays in its queue", why=str(failure))
        return False
    return True


def _one[T: Trigger, S](raw: Any, wiring: Wiring[T, S], reaction: Reaction[T, S]) -> tuple[Outcome, ...]:
    if not isinstance(raw, dict):
        raise InvalidInputError("event", raw, "send one JSON object")
    trigger = wiring.parse(raw)
    request = request_behind(trigger, wiring.function, wiring.caller)
    return reaction.run(trigger, _context(wiring, request, trigger.name))


def request_behind(trigger: Trigger, function: str, caller: Callable[[str, str], str]) -> Request:
    """Who asks. `requested_by` is kept as a claim; break-glass needs a proof, whose ARN becomes the actor.

    Raises DeniedError when the proof is none.
    """
    if not isinstance(trigger, ManualTrigger):
        return Request()
    bound = Mode.DRY_RUN if trigger.is_dry_run else Mode.APPLY
    if trigger.lift is None or trigger.caller_proof is None:
        actor = f"{trigger.requested_by} (claimed)"
        return Request(actor=actor, justification=trigger.justification, bound=bound)
    return Request(
        actor=caller(trigger.caller_proof, function),
        justification=trigger.justification,
        bound=bound,
        lifted=frozenset({trigger.lift}),
    )


def _context[T: Trigger, S](wiring: Wiring[T, S], request: Request, trigger: str) -> RunContext:
    return RunContext(
        function=wiring.function,
        now=wiring.clock(),
        token=wiring.token(),
        trigger=trigger,
        actor=request.actor,
        justification=request.justification,
        bound=lowest(wiring.bound, request.bound),
        lifted=request.lifted,
    )


def _body(record: Any) -> Any:
    body = record.get("body") if isinstance(record, dict) else None
    if not isinstance(body, str):
        raise InvalidInputError("Records[].body", body, "send a queue record with a JSON body")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("Records[].body", f"{len(body)} characters", "send valid JSON") from error


def _without_value(error: ProctorError) -> str:
    """For logs: a value that could not be used may be anything, so its field and the fix have to do."""
    return f"{error.field}: {error.fix}" if isinstance(error, InvalidInputError) else str(error)


def _where(error: BaseException) -> str:
    """File and line of the innermost frame: enough to find a defect, nothing of the data."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "unknown"
    return f"{trace.tb_frame.f_code.co_filename.rsplit('/', 2)[-1]}:{trace.tb_lineno}"
