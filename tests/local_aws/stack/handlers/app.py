"""The function of the test stack: does to each message what its body says, and reports like Proctor's own."""

import json
import os
import time
from typing import Any

import boto3
import layered  # type: ignore[import-not-found]

_SESSION = boto3.Session()


def lambda_handler(event: dict[str, Any], _context: object) -> Any:
    """Handle a batch, or answer a direct call with what this process is."""
    if "metric" in event:
        print(json.dumps(_embedded(event["metric"])))  # noqa: T201  (Lambda reads metrics from it)
    if "Records" not in event:
        return {"pid": os.getpid(), "layered": layered.PLACE, "who": _who(), "calls": _calls(event)}
    bodies = [(record, json.loads(record["body"])) for record in event["Records"]]
    for _, body in bodies:
        if "whole" in body:
            return body["whole"]
        if body.get("do") == "raise":
            raise RuntimeError("the whole batch fails")
        if body.get("do") == "die":
            os._exit(3)
        time.sleep(float(body.get("sleep", 0)))
    return {"batchItemFailures": [{"itemIdentifier": r["messageId"]} for r, b in bodies if not _done(r, b)]}


def _done(record: dict[str, Any], body: dict[str, Any]) -> bool:
    attributes = record["attributes"]
    if int(attributes["ApproximateReceiveCount"]) <= int(body.get("fail_times", 0)):
        return False
    _SESSION.client("dynamodb").put_item(
        TableName=os.environ["PROCTOR_SEEN_TABLE"],
        Item={
            "message": {"S": record["messageId"]},
            "body": {"S": record["body"]},
            "sender": {"S": attributes["SenderId"]},
            "receives": {"N": attributes["ApproximateReceiveCount"]},
        },
    )
    return True


def _embedded(value: float) -> dict[str, Any]:
    """A line in CloudWatch's embedded metric format."""
    directive = {
        "Namespace": "Proctor",
        "Dimensions": [["service"]],
        "Metrics": [{"Name": "Ended", "Unit": "Count"}],
    }
    return {
        "_aws": {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [directive]},
        "service": "session_limits",
        "Ended": value,
    }


def _who() -> str:
    return str(_SESSION.client("sts").get_caller_identity()["UserId"])


def _calls(event: dict[str, Any]) -> list[str]:
    """Make each ``[service, operation, arguments]`` and say how it went: ``ok`` or the error's code."""
    results = []
    for service, operation, arguments in event.get("calls", []):
        client = _SESSION.client(service)
        try:
            getattr(client, operation)(**arguments)
            results.append("ok")
        except client.exceptions.ClientError as error:
            results.append(error.response["Error"]["Code"])
    return results
