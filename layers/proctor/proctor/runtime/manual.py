"""Who asks: the request behind a trigger."""

from collections.abc import Callable

from proctor.domain.decision import Mode
from proctor.runtime.handler import Request


def manual_request(
    *,
    function: str,
    requested_by: str,
    justification: str,
    is_dry_run: bool,
    lift: str | None,
    caller_proof: str | None,
    caller: Callable[[str, str], str],
) -> Request:
    """A manual trigger's request. `requested_by` is kept as a claim; break-glass needs a proof, whose ARN becomes the actor.

    Raises DeniedError when the proof is none.
    """
    bound = Mode.DRY_RUN if is_dry_run else Mode.APPLY
    if lift is None or caller_proof is None:
        return Request(actor=f"{requested_by} (claimed)", justification=justification, bound=bound)
    arn = caller(caller_proof, function)
    return Request(actor=arn, justification=justification, bound=bound, lifted=frozenset({lift}))
