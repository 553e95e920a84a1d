"""Runs inside the function's own environment and prints figures as JSON: `python inside.py sweep | message | usage`.

CPU is this process's own; AWS is a loopback stub in another process. Every kind runs in a process of its own, so that its
peak of memory is its own too.
"""

import io
import json
import os
import resource
import sys
import time
import urllib.request
from contextlib import redirect_stdout
from typing import Any

from budget_holds import app
from budget_holds.app import lambda_handler

_MESSAGES = 5


class Pure:
    """Adds up the CPU time of the pure decision."""

    def __init__(self) -> None:
        """Put a stop-watch around `decide`."""
        self.seconds = 0.0
        inner = vars(app)["decide"]

        def timed(snapshot: Any) -> Any:
            began = time.process_time()
            try:
                return inner(snapshot)
            finally:
                self.seconds += time.process_time() - began

        setattr(app, "decide", timed)  # noqa: B010 - the module's own name, swapped for the measurement


def sweep() -> dict[str, float]:
    """A first sweep, which holds and tells; a second one, which finds nothing new."""
    figures: dict[str, float] = {}
    event = {"source": "proctor.schedule", "detail-type": "Sweep"}
    pure = Pure()
    for name in ("first", "steady"):
        pure.seconds = 0.0
        figures |= {f"{name}_{key}": value for key, value in _measured(event, 1).items()}
        figures[f"{name}_decide_cpu_s"] = pure.seconds
    return figures


def message() -> dict[str, float]:
    """AWS Budgets says that one budget passed a threshold; one message before warms the process."""
    text = "AWS Budget Notification\nAWS Account 123456789012\n\nBudget Name: aws-lab-9\n"
    event = {"Type": "Notification", "Message": text}
    _measured(event, 1)
    return _measured(event, _MESSAGES)


def usage() -> dict[str, float]:
    """The agent saw use change: every budget is judged."""
    event = {"source": "proctor.observed", "detail": {"cluster": "bench", "kind": "usage"}}
    _measured(event, 1)
    return _measured(event, _MESSAGES)


def _measured(event: dict[str, Any], count: int) -> dict[str, float]:
    _calls()
    began, wall = time.process_time(), time.perf_counter()
    for number in range(count):
        records = {"Records": [{"messageId": str(number), "body": json.dumps(event)}]}
        with redirect_stdout(io.StringIO()) as said:
            answer = lambda_handler(records, None)
        if answer["batchItemFailures"]:
            raise SystemExit(said.getvalue()[-2000:])
    return {
        "cpu_s": (time.process_time() - began) / count,
        "wall_s": (time.perf_counter() - wall) / count,
        "calls": sum(_calls().values()) / count,
    }


def _calls() -> dict[str, int]:
    with urllib.request.urlopen(os.environ["AWS_ENDPOINT_URL"], timeout=10) as answer:  # noqa: S310 - loopback
        found: dict[str, int] = json.loads(answer.read())
    return found


if __name__ == "__main__":
    found = {"sweep": sweep, "message": message, "usage": usage}[sys.argv[1]]()
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found))  # noqa: T201
