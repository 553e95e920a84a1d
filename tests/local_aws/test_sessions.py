"""Session Manager's habits, each as real AWS has it."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from proctor_local.aws_client import AwsError
from proctor_local.control import LocalAwsClient, PersonClient, wait_until
from proctor_local.identities import Identities

pytestmark = pytest.mark.emulator


def status_of(local: LocalAwsClient, session_id: str) -> str:
    return next(str(s["status"]) for s in local.sessions() if s["session_id"] == session_id)


def test_a_session_is_owned_by_the_caller_and_named_after_the_role_session(
    local: LocalAwsClient, researcher: PersonClient, target: str
) -> None:
    session_id = researcher.start_session(target, Reason="a job")

    name, suffix = session_id.rsplit("-", 1)
    assert name == "a.researcher@uni.example"
    assert len(suffix) == 26
    assert suffix.isalnum()
    assert suffix == suffix.lower()
    (session,) = local.aws().call("ssm", "DescribeSessions", State="Active")["Sessions"]
    assert session["Owner"] == researcher.owner_arn
    assert ":assumed-role/AWSReservedSSO_HyperPodUser_" in session["Owner"]
    assert session["Target"] == target
    assert session["DocumentName"] == "SSM-SessionManagerRunShell"
    assert session["Reason"] == "a job"
    assert "EndDate" not in session


def test_a_session_connects_and_when_ended_passes_through_terminating_into_history(
    local: LocalAwsClient, researcher: PersonClient, target: str
) -> None:
    local.settings(connecting_seconds=0.2, terminating_seconds=0.3)
    session_id = researcher.start_session(target)
    assert status_of(local, session_id) == "Connecting"
    wait_until(lambda: status_of(local, session_id) == "Connected", what="connected")

    researcher.terminate_session(session_id)
    (active,) = researcher.describe_sessions()
    assert active["Status"] == "Terminating"
    assert researcher.describe_sessions("History") == []

    wait_until(lambda: researcher.describe_sessions() == [], what="gone from Active")
    (ended,) = researcher.describe_sessions("History")
    assert ended["Status"] == "Terminated"
    assert ended["EndDate"] >= ended["StartDate"]


def test_max_results_is_applied_before_filters(local: LocalAwsClient, target: str) -> None:
    began = datetime.now(UTC)
    for number in range(5):
        owner = (
            "arn:aws:iam::123456789012:user/wanted" if number == 0 else "arn:aws:iam::123456789012:user/other"
        )
        local.seed_session(owner, target, started_at=(began + timedelta(seconds=number)).isoformat())
    filters = [{"key": "Owner", "value": "arn:aws:iam::123456789012:user/wanted"}]

    pages, token = [], None
    while True:
        more: dict[str, str] = {"NextToken": token} if token else {}
        page = local.aws().call(
            "ssm", "DescribeSessions", State="Active", MaxResults=2, Filters=filters, **more
        )
        pages.append(len(page["Sessions"]))
        token = page.get("NextToken")
        if token is None:
            break

    assert pages == [0, 0, 1]


def test_paging_is_not_upset_by_a_session_that_starts_in_between(local: LocalAwsClient, target: str) -> None:
    began = datetime.now(UTC) - timedelta(hours=1)
    seeded = {
        local.seed_session(
            "arn:aws:iam::123456789012:user/u", target, started_at=(began + timedelta(seconds=n)).isoformat()
        )["session_id"]
        for n in range(4)
    }
    first = local.aws().call("ssm", "DescribeSessions", State="Active", MaxResults=2)
    local.seed_session("arn:aws:iam::123456789012:user/u", target)
    second = local.aws().call(
        "ssm", "DescribeSessions", State="Active", MaxResults=2, NextToken=first["NextToken"]
    )

    assert {s["SessionId"] for s in first["Sessions"] + second["Sessions"]} == seeded


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"State": "Active", "Filters": [{"key": "Idle", "value": "1"}]}, "InvalidFilterKey"),
        ({"State": "Active", "NextToken": "nonsense"}, "InvalidNextToken"),
        ({"State": "Active", "MaxResults": 201}, "ValidationException"),
        ({"State": "Sleeping"}, "ValidationException"),
    ],
)
def test_bad_questions_are_refused(local: LocalAwsClient, members: dict[str, object], code: str) -> None:
    with pytest.raises(AwsError) as refused:
        local.aws().call("ssm", "DescribeSessions", **members)
    assert refused.value.code == code


def test_terminate_says_yes_to_any_id(local: LocalAwsClient) -> None:
    answer = local.aws().call("ssm", "TerminateSession", SessionId="nobody-00000000000000000")
    assert answer == {"SessionId": "nobody-00000000000000000"}


def test_terminate_can_say_yes_and_do_nothing(
    local: LocalAwsClient, researcher: PersonClient, target: str
) -> None:
    local.settings(ignore_terminations=1, terminating_seconds=0)
    session_id = researcher.start_session(target)
    researcher.terminate_session(session_id)
    time.sleep(0.2)
    assert status_of(local, session_id) == "Connected"
    researcher.terminate_session(session_id)
    wait_until(lambda: status_of(local, session_id) == "Terminated", what="the second try ends it")


def test_starts_over_the_account_rate_are_throttled(
    local: LocalAwsClient, researcher: PersonClient, target: str
) -> None:
    local.settings(calls_per_second={"StartSession": 3.0})
    codes = []
    for _ in range(6):
        try:
            researcher.start_session(target)
        except AwsError as error:
            codes.append(error.code)
    assert codes
    assert set(codes) == {"ThrottlingException"}
    assert researcher.start_patiently(target, seconds=5)


def test_a_session_outlives_the_credentials_that_opened_it(
    local: LocalAwsClient, researcher: PersonClient, target: str
) -> None:
    session_id = researcher.start_session(target)
    role = researcher.owner_arn.split("/")[1]
    local.aws().query("iam", "DeleteRolePolicy", RoleName=role, PolicyName="inline")
    local.aws().query("iam", "DeleteRole", RoleName=role)
    time.sleep(0.1)
    with pytest.raises(AwsError):
        researcher.start_session(target)
    assert status_of(local, session_id) == "Connected"


def test_history_keeps_thirty_days(local: LocalAwsClient, researcher: PersonClient, target: str) -> None:
    session_id = researcher.start_session(target)
    local.exit_session(session_id)
    assert len(local.aws().call("ssm", "DescribeSessions", State="History")["Sessions"]) == 1
    local.advance(31 * 86400)
    assert local.aws().call("ssm", "DescribeSessions", State="History")["Sessions"] == []


def test_a_disconnected_session_can_be_resumed_and_an_ended_one_not(
    local: LocalAwsClient, researcher: PersonClient, target: str
) -> None:
    session_id = researcher.start_session(target)
    local.set_status(session_id, "Disconnected")
    assert researcher.client.call("ssm", "ResumeSession", SessionId=session_id)["SessionId"] == session_id
    assert status_of(local, session_id) == "Connected"
    local.exit_session(session_id)
    with pytest.raises(AwsError) as refused:
        researcher.client.call("ssm", "ResumeSession", SessionId=session_id)
    assert refused.value.code in ("DoesNotExistException", "AccessDeniedException")


def test_a_node_that_is_not_running_takes_no_session(
    local: LocalAwsClient, researcher: PersonClient, target: str
) -> None:
    instance_id = target.rsplit("-", 2)[-2] + "-" + target.rsplit("-", 1)[-1]
    session_id = researcher.start_session(target)
    assert local.lose_node(instance_id) == [session_id]
    assert status_of(local, session_id) == "Terminated"
    with pytest.raises(AwsError) as refused:
        researcher.start_session(target)
    assert refused.value.code == "TargetNotConnected"


def test_people_end_their_own_sessions_and_no_others(
    local: LocalAwsClient, identities: Identities, target: str
) -> None:
    role = identities.permission_set("HyperPodUser")
    anna, ben = identities.people(["anna", "ben"], role)
    carla = identities.iam_user("carla")
    of_anna, of_carla = anna.start_session(target), carla.start_session(target)

    for other, session_id in ((ben, of_anna), (ben, of_carla), (carla, of_anna), (anna, of_carla)):
        with pytest.raises(AwsError) as refused:
            other.terminate_session(session_id)
        assert refused.value.code == "AccessDeniedException"
    anna.terminate_session(of_anna)
    carla.terminate_session(of_carla)
    wait_until(lambda: {s["status"] for s in local.sessions()} == {"Terminated"}, what="both ended")
    assert of_carla.startswith("carla-")
