"""What wakes session_limits, as the rules and the schedule pass it on."""

from collections.abc import Iterable, Mapping
from typing import Any

from proctor.domain.sessions import Session
from session_limits import FUNCTION
from tests.fakes import values

SWEEP_EVENT: Mapping[str, Any] = {"source": "proctor.schedule", "detail-type": "Sweep"}


def event_of(started: Session, name: str = "StartSession", **detail: Any) -> dict[str, Any]:
    """The record that the rule passes on for a session; a resume names only the session."""
    is_start = name == "StartSession"
    request = (
        {"target": started.target.raw if started.target else "", "documentName": started.document_name}
        if is_start
        else {"sessionId": started.session_id}
    )
    at = started.started_at or values.NOW
    return {
        "id": f"record-{started.session_id}",
        "detail-type": "AWS API Call via CloudTrail",
        "source": "aws.ssm",
        "time": at.isoformat(),
        "detail": {
            "eventName": name,
            "eventTime": at.isoformat(),
            "errorCode": "",
            "userIdentity": {"arn": started.owner_arn},
            "requestParameters": request,
            "responseElements": {"sessionId": started.session_id},
            **detail,
        },
    }


def policy_event(cluster: str = values.CLUSTER, operation: str = "Update") -> dict[str, Any]:
    """A Parameter Store Change of this function's policy."""
    return {
        "detail-type": "Parameter Store Change",
        "source": "aws.ssm",
        "detail": {"operation": operation, "name": f"/proctor/{cluster}/{FUNCTION}", "type": "String"},
    }


def ids(sessions: Iterable[Session]) -> set[str]:
    """Their ids."""
    return {s.session_id for s in sessions}
