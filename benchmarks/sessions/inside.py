"""Runs inside the function's own environment and prints figures as JSON: `python inside.py warm N EVENT | sweep`.

Own cost is time outside AWS calls: each client method's time is taken off, so what is left is Proctor itself.
"""

import io
import json
import resource
import sys
import time
from contextlib import redirect_stdout
from typing import Any

import botocore.client

from session_limits.app import lambda_handler

_SWEEP = {
    "Records": [
        {"messageId": "1", "body": json.dumps({"source": "proctor.schedule", "detail-type": "Sweep"})}
    ]
}


_WAY_OUT = "_make_api_call"


class AwsTime:
    """Adds up the time spent in AWS calls."""

    def __init__(self) -> None:
        """Put a stop-watch around botocore's one way out."""
        self.seconds = 0.0
        inner = getattr(botocore.client.BaseClient, _WAY_OUT)

        def timed(client: Any, *args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            try:
                return inner(client, *args, **kwargs)
            finally:
                self.seconds += time.perf_counter() - began

        setattr(botocore.client.BaseClient, _WAY_OUT, timed)


def warm(count: int, event: dict[str, Any]) -> dict[str, float]:
    """Milliseconds of own cost per event: median and 95th percentile of `count` starts, each of another session."""
    aws, own = AwsTime(), []
    for number in range(count + 20):
        event["detail"]["responseElements"]["sessionId"] = f"p000000@uni.example-{number:026x}"
        records = {"Records": [{"messageId": "1", "body": json.dumps(event)}]}
        before, began = aws.seconds, time.perf_counter()
        with redirect_stdout(io.StringIO()):
            answer = lambda_handler(records, None)
        took = time.perf_counter() - began - (aws.seconds - before)
        if answer["batchItemFailures"]:
            raise SystemExit(3)
        if number >= 20:
            own.append(1000 * took)
    own.sort()
    return {"median_ms": own[len(own) // 2], "p95_ms": own[int(len(own) * 0.95)]}


def sweep() -> dict[str, float]:
    """CPU seconds of a first sweep, which writes down what it finds, and of a second one, which finds nothing new."""
    figures: dict[str, float] = {}
    for name in ("first", "steady"):
        began = time.process_time()
        with redirect_stdout(io.StringIO()):
            answer = lambda_handler(_SWEEP, None)
        if answer["batchItemFailures"]:
            raise SystemExit(3)
        figures[f"{name}_cpu_s"] = time.process_time() - began
    figures["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return figures


if __name__ == "__main__":
    is_sweep = sys.argv[1] == "sweep"
    print(json.dumps(sweep() if is_sweep else warm(int(sys.argv[2]), json.loads(sys.argv[3]))))  # noqa: T201
