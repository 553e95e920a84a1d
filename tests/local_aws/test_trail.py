"""CloudTrail records of session calls, as EventBridge delivers them."""

import re
import time
from typing import Any

import pytest

from proctor_local.aws_client import AwsError
from proctor_local.control import LocalAwsClient, PersonClient, wait_until
from proctor_local.identities import Identities
from tests.local_aws.watching import Watch

pytestmark = pytest.mark.emulator

SESSIONS = {"source": ["aws.ssm"], "detail-type": ["AWS API Call via CloudTrail"]}


def one(watch: Watch) -> dict[str, Any]:
    (event,) = watch.wait_for(1)
    return event


def test_a_start_is_recorded_with_who_what_and_a_hidden_token(
    local: LocalAwsClient, researcher: PersonClient, target: str
) -> None:
    watch = Watch(local, SESSIONS)
    session_id = researcher.start_session(target, Reason="work")
    event = one(watch)
    detail = event["detail"]

    assert (event["source"], event["detail-type"]) == ("aws.ssm", "AWS API Call via CloudTrail")
    assert (event["account"], event["region"]) == (local.account, local.region)
    assert detail["eventSource"] == "ssm.amazonaws.com"
    assert detail["requestParameters"] == {"target": target, "reason": "work"}
    assert detail["responseElements"]["sessionId"] == session_id
    assert detail["responseElements"]["tokenValue"] == "Value hidden due to security reasons."
    assert (
        f"/data-channel/{session_id}?role=publish_subscribe&cell-number="
        in detail["responseElements"]["streamUrl"]
    )
    assert detail["readOnly"] is False
    assert "errorCode" not in detail
    identity = detail["userIdentity"]
    assert identity["type"] == "AssumedRole"
    assert identity["arn"] == researcher.owner_arn
    assert re.fullmatch(r"AROA[A-Z0-9]{17}:a\.researcher@uni\.example", identity["principalId"])
    issuer = identity["sessionContext"]["sessionIssuer"]
    assert issuer["arn"].startswith(f"arn:aws:iam::{local.account}:role/aws-reserved/sso.amazonaws.com/")
    assert identity["principalId"].startswith(issuer["principalId"])


def test_an_iam_user_is_recorded_as_one(local: LocalAwsClient, identities: Identities, target: str) -> None:
    watch = Watch(local, SESSIONS)
    identities.iam_user("b.user").start_session(target)
    identity = one(watch)["detail"]["userIdentity"]
    assert (identity["type"], identity["userName"]) == ("IAMUser", "b.user")
    assert identity["principalId"].startswith("AIDA")
    assert "sessionContext" not in identity


def test_a_refused_call_is_recorded_with_null_parameters(
    local: LocalAwsClient, identities: Identities, target: str
) -> None:
    watch = Watch(local, SESSIONS)
    nobody = identities.iam_user(
        "nobody",
        policy={
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Deny", "Action": "ssm:StartSession", "Resource": "*"}],
        },
    )
    with pytest.raises(AwsError):
        nobody.start_session(target)
    detail = one(watch)["detail"]
    assert detail["errorCode"] == "AccessDenied"
    assert "not authorized to perform: ssm:StartSession" in detail["errorMessage"]
    assert detail["requestParameters"] is None
    assert detail["responseElements"] is None


def test_a_failed_call_keeps_its_parameters(local: LocalAwsClient, researcher: PersonClient) -> None:
    watch = Watch(local, SESSIONS)
    with pytest.raises(AwsError):
        researcher.start_session("i-0123456789abcdef0")
    detail = one(watch)["detail"]
    assert detail["errorCode"] == "TargetNotConnected"
    assert detail["requestParameters"] == {"target": "i-0123456789abcdef0"}
    assert detail["responseElements"] is None


def test_an_exit_is_not_recorded_and_an_end_by_call_is(
    local: LocalAwsClient, researcher: PersonClient, target: str
) -> None:
    watch = Watch(local, {**SESSIONS, "detail": {"eventName": ["TerminateSession"]}})
    local.exit_session(researcher.start_session(target))
    ended = researcher.start_session(target)
    researcher.terminate_session(ended)
    detail = one(watch)["detail"]
    assert detail["requestParameters"] == {"sessionId": ended}
    assert detail["responseElements"] == {"sessionId": ended}


def test_records_come_after_their_delay(local: LocalAwsClient, researcher: PersonClient, target: str) -> None:
    local.settings(trail_delay_seconds=0.4)
    watch = Watch(local, SESSIONS)
    researcher.start_session(target)
    time.sleep(0.15)
    assert watch.bodies() == []
    watch.wait_for(1)


def test_records_can_be_lost_and_repeated(
    local: LocalAwsClient, researcher: PersonClient, target: str
) -> None:
    watch = Watch(local, SESSIONS)
    local.settings(lose_next_records=1)
    lost = researcher.start_session(target)
    local.settings(trail_duplication=1.0)
    repeated = researcher.start_session(target)
    first, second = watch.wait_for(2)
    assert first["detail"] == second["detail"]
    assert first["id"] != second["id"]
    copies = {entry["sessionId"]: entry["copies"] for entry in local.trail()}
    assert copies == {lost: 0, repeated: 2}


def test_without_a_trail_nothing_comes(local: LocalAwsClient, researcher: PersonClient, target: str) -> None:
    local.settings(trail_enabled=False)
    watch = Watch(local, SESSIONS)
    researcher.start_session(target)
    wait_until(local.trail, what="the call was seen")
    time.sleep(0.1)
    assert watch.bodies() == []
