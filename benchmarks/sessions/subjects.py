"""What the cold-start benchmark starts as whole processes. Each does one invocation and ends.

`python subjects.py boto3 | proctor | custodian`, with AWS_ENDPOINT_URL on the stub. Reads its packages from PYTHONPATH, as
Lambda does from /opt and /var/task.
"""

import json
import os
import sys
from copy import deepcopy
from typing import Any

_EVENT: dict[str, Any] = {
    "id": "5c1f9d1e-7a57-4f4b-9d35-2f1c6a1f0b11",
    "detail-type": "AWS API Call via CloudTrail",
    "source": "aws.ssm",
    "time": "2026-09-01T10:00:05Z",
    "detail": {
        "eventName": "StartSession",
        "eventSource": "ssm.amazonaws.com",
        "eventTime": "2026-09-01T10:00:00Z",
        "userIdentity": {
            "arn": "arn:aws:sts::123456789012:assumed-role/AWSReservedSSO_HyperPod_0123456789abcdef/p000000@uni.example"
        },
        "requestParameters": {
            "target": "sagemaker-cluster:abcdef012345_login-i-00000000000000001",
            "documentName": "",
        },
        "responseElements": {"sessionId": "p000000@uni.example-00000000000000000000000001"},
    },
}


def start_event() -> dict[str, Any]:
    """A StartSession as the rule passes it on."""
    return deepcopy(_EVENT)


def boto3_one_client() -> None:
    """The floor: boto3, one client, one call."""
    import boto3  # noqa: PLC0415

    boto3.Session().client("ssm").describe_sessions(State="Active", MaxResults=200)


def proctor() -> None:
    """session_limits: a session within the cap."""
    from session_limits.entry import lambda_handler  # noqa: PLC0415

    answer = lambda_handler({"Records": [{"messageId": "1", "body": json.dumps(_EVENT)}]}, None)
    if answer["batchItemFailures"]:
        raise SystemExit(3)


def custodian() -> None:
    """A Cloud Custodian policy of the same purpose: read the active sessions, end those a filter names; it names none.

    Periodic, since in CloudTrail mode its session resource asks DescribeSessions without the required State and fails.
    """
    from c7n import handler  # type: ignore[import-not-found]  # noqa: PLC0415 - lives in its own environment

    policy = {
        "name": "session-limits",
        "resource": "ssm-session-manager",
        "mode": {
            "type": "periodic",
            "role": "arn:aws:iam::123456789012:role/c7n",
            "schedule": "rate(2 minutes)",
        },
        "filters": [{"Status": "Disconnected"}],
        "actions": [{"type": "terminate"}],
    }
    config = {
        "execution-options": {"region": "us-east-1", "account_id": "123456789012"},
        "policies": [policy],
    }
    with open("config.json", "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(config, file)
    handler.dispatch_event({**_EVENT, "region": "us-east-1", "account": "123456789012"}, None)


if __name__ == "__main__":
    os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
    {"boto3": boto3_one_client, "proctor": proctor, "custodian": custodian}[sys.argv[1]]()
