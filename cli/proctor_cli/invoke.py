"""`proctor invoke`: one manual request to a function, on the same path as any event. A dry run unless --apply is given."""

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from proctor.adapters.aws_errors import translated
from proctor.domain.errors import (
    DeniedError,
    InvalidInputError,
    NotFoundError,
    ProctorError,
    TerminalError,
    ThrottledError,
    TransientError,
)
from proctor_cli.caller import caller_proof, shortened
from proctor_cli.console import clean, table
from proctor_cli.exits import Exit, UsageError
from proctor_cli.findings import read_json
from proctor_cli.governed import Governed, governed
from proctor_cli.people_commands import read_file
from proctor_cli.world import World

if TYPE_CHECKING:
    from mypy_boto3_lambda.type_defs import InvocationResponseTypeDef

_REFUSALS: Mapping[str, type[ProctorError]] = {
    "DeniedError": DeniedError,
    "NotFoundError": NotFoundError,
    "ContendedError": TransientError,
    "ThrottledError": ThrottledError,
    "TransientError": TransientError,
}
"""Errors of a function, by the name that Lambda gives, that have an exit code of their own."""

_NOT_THERE = frozenset({"not_ours", "unknown"})
"""Reasons by which a function says that what was named does not exist for it."""

_EXITS = {
    "failed": Exit.FAILED,
    "unconfirmed": Exit.FAILED,
    "withheld": Exit.REFUSED,
    "contended": Exit.TRY_LATER,
}


def run(args: argparse.Namespace, world: World) -> Exit:
    """Build the request, check it as the function would, send it, print the outcomes."""
    function = governed(args.function)
    if args.break_glass is not None and args.break_glass not in function.limits:
        raise UsageError("--break-glass", args.break_glass, f"name one of {', '.join(function.limits)}")
    request = _wanted(args)
    outcomes = ask(world, function, request, lift=args.break_glass)
    data = {"function": function.name, "dry_run": request["dry_run"], "outcomes": outcomes}
    world.console.answer(data, text_of(outcomes, is_dry_run=bool(request["dry_run"])))
    code = exit_of_outcomes(outcomes)
    if code is Exit.NOT_FOUND:
        missing = [o for o in outcomes if o.get("reason") in _NOT_THERE]
        told = "; ".join(f"{str(o.get('subject')).replace('#', ' ')}: {o.get('text')}" for o in missing)
        world.console.error(told, code)
    return code


def ask(
    world: World, function: Governed, request: dict[str, Any], *, lift: str | None = None
) -> list[dict[str, Any]]:
    """Check a request as the function would, add the caller's name, send it, and return the outcomes."""
    _check(function, {**request, "requested_by": "caller"})
    request["requested_by"] = shortened(world.caller, function.longest_requester)
    if lift is not None:
        request["break_glass"] = {"lift": lift, "caller_proof": caller_proof(world.clients, function.name)}
    _check(function, request)
    outcomes = _send(world, function, request).get("outcomes")
    if not isinstance(outcomes, list):
        raise TerminalError(f"{function.name}: the answer holds no outcomes; is this its current version?")
    return outcomes


def exit_of_outcomes(outcomes: Sequence[Mapping[str, Any]]) -> Exit:
    """The worst outcome decides: failed, then withheld, then contended; what the function does not know is not found."""
    exits = {_EXITS.get(str(o.get("outcome")), Exit.OK) for o in outcomes}
    if any(o.get("reason") in _NOT_THERE for o in outcomes):
        exits.add(Exit.NOT_FOUND)
    for code in (Exit.FAILED, Exit.REFUSED, Exit.TRY_LATER, Exit.NOT_FOUND):
        if code in exits:
            return code
    return Exit.OK


def _wanted(args: argparse.Namespace) -> dict[str, Any]:
    """The request without its requester. The flags, not the file, decide about dry-run and justification."""
    request: dict[str, Any] = _from_file(args.event_file) if args.event_file else {"source": "proctor.manual"}
    if args.scope is not None:
        kind, _, scope_id = args.scope.partition(":")
        request["scope"] = {"kind": kind, **({"id": scope_id} if scope_id else {})}
        if kind != "all" and not scope_id:
            raise UsageError("--scope", args.scope, "write kind:id, e.g. person:ada, or all")
    if args.end:
        request["actions"] = [{"action": "TerminateSession", "session_id": sid} for sid in args.end]
    request.pop("break_glass", None)
    return request | {"justification": args.justification, "dry_run": not args.apply}


def _from_file(name: str) -> dict[str, Any]:
    try:
        request = read_json(read_file(name).decode("utf-8-sig"))
    except ValueError as error:
        raise UsageError("--event-file", name, f"write one JSON object ({error})") from None
    if not isinstance(request, dict) or request.get("source") != "proctor.manual":
        source = request.get("source") if isinstance(request, dict) else request
        raise UsageError(
            "--event-file source",
            source,
            'use "proctor.manual"; only manual requests are dry runs by default',
        )
    return request


def _check(function: Governed, request: Mapping[str, Any]) -> None:
    try:
        function.parse(request)
    except InvalidInputError as error:
        raise UsageError.of(error) from None


def _send(world: World, function: Governed, request: Mapping[str, Any]) -> dict[str, Any]:
    world.console.progress(f"{function.name} is deciding …")
    try:
        with translated("lambda:InvokeFunction"):
            answer = world.clients.functions().invoke(
                FunctionName=world.stack.function_output(function.name, "FunctionName"),
                InvocationType="RequestResponse",
                Payload=json.dumps(request).encode(),
            )
            payload = _payload(answer)
    finally:
        world.console.progress_over()
    if "FunctionError" in answer:
        _raise(function.name, payload)
    return payload


def _payload(answer: "InvocationResponseTypeDef") -> dict[str, Any]:
    try:
        payload = json.loads(answer["Payload"].read() or b"{}")
    except ValueError:
        return {}
    return payload if isinstance(payload, dict) else {}


def _raise(function: str, payload: Mapping[str, Any]) -> None:
    kind = str(payload.get("errorType", "unknown error"))
    text = clean(payload.get("errorMessage"))
    raise _REFUSALS.get(kind, TerminalError)(f"{function} refused: {kind}: {text}")


def text_of(
    outcomes: Sequence[Mapping[str, Any]], *, is_dry_run: bool, nothing: str = "Nothing in this scope."
) -> str:
    """Outcomes for people."""
    rows = [(o.get("outcome"), o.get("action") or "none", o.get("subject"), o.get("text")) for o in outcomes]
    shown = table(("OUTCOME", "ACTION", "SUBJECT", "WHY"), rows) if rows else nothing
    details = [f"{o['subject']}: {clean(o['detail'])}" for o in outcomes if o.get("detail")]
    note = ["This was a dry run; add --apply to act as far as stack and policy allow."] if is_dry_run else []
    return "\n".join([shown, *details, *note])
