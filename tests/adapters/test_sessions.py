from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from proctor.adapters.session_manager import SsmSessionManager
from proctor.domain.errors import TerminalError, ThrottledError, TransientError
from proctor.domain.sessions import DEFAULT_DOCUMENT, Session, SessionStatus
from proctor.ports import SessionManager
from tests.adapters.aws import ScriptedClients, json_error
from tests.fakes.sessions import FakeSessionManager
from tests.fakes.values import NOW, cluster_target, role_arn, session


@dataclass
class Ssm:
    """Sessions of one account. Pages are cut before the ended ones are taken out, as the service does."""

    page_size: int = 200
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    terminated: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.aws = ScriptedClients(DescribeSessions=self._describe, TerminateSession=self._terminate)

    def open(self, given: Session) -> None:
        assert given.target is not None
        assert given.started_at is not None
        self.rows[given.session_id] = {
            "SessionId": given.session_id,
            "Target": given.target.raw,
            "Status": given.status.value,
            "StartDate": given.started_at.timestamp(),
            "DocumentName": given.document_name,
            "Owner": given.owner_arn,
            "MaxSessionDuration": "480",
            "AccessType": "Standard",
        }

    def set_status(self, session_id: str, status: SessionStatus) -> None:
        self.rows[session_id]["Status"] = status.value

    def _describe(self, request: Mapping[str, Any]) -> Any:
        assert request["State"] == "Active"
        assert request["MaxResults"] == 200
        start = int(request.get("NextToken", 0))
        rows = [self.rows[sid] for sid in sorted(self.rows)]
        page = [
            row
            for row in rows[start : start + self.page_size]
            if row.get("Status") not in ("Terminated", "Failed")
        ]
        more = {"NextToken": str(start + self.page_size)} if start + self.page_size < len(rows) else {}
        return {"Sessions": page, **more}

    def _terminate(self, request: Mapping[str, Any]) -> Any:
        session_id = request["SessionId"]
        self.terminated.append(session_id)
        if session_id in self.rows:
            self.rows[session_id]["Status"] = "Terminating"
        return {"SessionId": session_id}


@dataclass
class Setting:
    """The port, and who opens sessions behind it."""

    manager: SessionManager
    service: FakeSessionManager | Ssm

    @property
    def pages(self) -> int:
        return (
            self.service.pages_read
            if isinstance(self.service, FakeSessionManager)
            else self.service.aws.count("DescribeSessions")
        )


@pytest.fixture(params=["fake", "ssm"])
def here(request: pytest.FixtureRequest) -> Setting:
    if request.param == "fake":
        fake = FakeSessionManager(page_size=2)
        return Setting(fake, fake)
    ssm = Ssm(page_size=2)
    return Setting(SsmSessionManager(ssm.aws), ssm)


def open_five(here: Setting) -> list[Session]:
    rows = [session(f"ada@uni.example-{n:02}") for n in range(5)]
    for row in rows:
        here.service.open(row)
    return rows


def test_no_session_is_an_empty_list(here: Setting) -> None:
    assert list(here.manager.active_sessions()) == []
    assert here.pages == 1


def test_sessions_of_all_pages_come_back_whole(here: Setting) -> None:
    rows = open_five(here)

    assert list(here.manager.active_sessions()) == rows
    assert here.pages == 3


def test_a_page_without_active_sessions_is_not_the_end(here: Setting) -> None:
    rows = open_five(here)
    for row in rows[:4]:
        here.service.set_status(row.session_id, SessionStatus.TERMINATED)

    assert list(here.manager.active_sessions()) == rows[4:]


@pytest.mark.parametrize(
    "status",
    [
        SessionStatus.CONNECTED,
        SessionStatus.CONNECTING,
        SessionStatus.DISCONNECTED,
        SessionStatus.TERMINATING,
    ],
)
def test_active_sessions_may_have_any_of_these_states(here: Setting, status: SessionStatus) -> None:
    here.service.open(session(status=status))

    assert [s.status for s in here.manager.active_sessions()] == [status]


def test_find_active_stops_when_all_are_found(here: Setting) -> None:
    rows = open_five(here)

    found = here.manager.find_active([rows[0].session_id, rows[1].session_id])

    assert dict(found) == {row.session_id: row for row in rows[:2]}
    assert here.pages == 1


def test_find_active_reads_on_for_a_missing_one(here: Setting) -> None:
    rows = open_five(here)
    here.service.set_status(rows[0].session_id, SessionStatus.TERMINATED)

    found = here.manager.find_active([rows[0].session_id, rows[4].session_id])

    assert set(found) == {rows[4].session_id}
    assert here.pages == 3


def test_find_active_of_nothing_asks_nothing(here: Setting) -> None:
    open_five(here)

    assert here.manager.find_active([]) == {}
    assert here.pages == 0


def test_an_ended_session_no_longer_counts(here: Setting) -> None:
    here.service.open(session("ada@uni.example-0a"))

    here.manager.terminate("ada@uni.example-0a")

    assert [s.is_counted for s in here.manager.active_sessions()] == [False]


def test_the_end_of_an_unknown_session_is_no_error(here: Setting) -> None:
    here.manager.terminate("nobody-0a")

    assert list(here.manager.active_sessions()) == []


# Systems Manager


def _listing(*rows: Mapping[str, Any]) -> SsmSessionManager:
    return SsmSessionManager(ScriptedClients(DescribeSessions={"Sessions": list(rows)}))


def test_missing_fields_are_unknown_not_an_error() -> None:
    (found,) = _listing({"SessionId": "s-1"}).active_sessions()

    assert found == Session(
        session_id="s-1",
        owner_arn="",
        owner=None,
        target=None,
        status=SessionStatus.UNRECOGNISED,
        started_at=None,
        document_name=DEFAULT_DOCUMENT,
    )
    assert not found.is_counted


def test_a_row_without_an_id_is_left_out() -> None:
    assert list(_listing({"Owner": role_arn("ada")}, {"SessionId": ""}).active_sessions()) == []


def test_a_status_of_tomorrow_is_not_counted() -> None:
    (found,) = _listing({"SessionId": "s-1", "Status": "Hibernated"}).active_sessions()

    assert (found.status, found.is_counted) == (SessionStatus.UNRECOGNISED, False)


@pytest.mark.parametrize(
    "owner", ["ada", "arn:aws:iam::123456789012:root", "arn:aws:sts::123456789012:federated-user/ada"]
)
def test_an_owner_that_is_no_person_is_kept_as_it_stands(owner: str) -> None:
    (found,) = _listing({"SessionId": "s-1", "Owner": owner}).active_sessions()

    assert (found.owner_arn, found.owner) == (owner, None)


def test_start_times_are_utc() -> None:
    (found,) = _listing({"SessionId": "s-1", "StartDate": NOW.timestamp()}).active_sessions()

    assert found.started_at == datetime(2026, 9, 1, 10, 0, tzinfo=UTC)
    assert found.started_at.tzinfo is UTC


def test_a_session_on_two_pages_counts_once_by_its_later_row() -> None:
    row = {"SessionId": "s-1", "Status": "Connected"}
    pages = [{"Sessions": [row], "NextToken": "2"}, {"Sessions": [{**row, "Status": "Terminating"}]}]
    found = SsmSessionManager(ScriptedClients(DescribeSessions=pages)).active_sessions()

    assert [s.status for s in found] == [SessionStatus.TERMINATING]


def test_a_throttle_on_a_later_page_is_no_shorter_list() -> None:
    pages = [{"Sessions": [{"SessionId": "s-1"}], "NextToken": "2"}, json_error("ThrottlingException")]
    manager = SsmSessionManager(ScriptedClients(DescribeSessions=pages))

    with pytest.raises(ThrottledError):
        manager.active_sessions()


def test_a_page_that_names_itself_ends_the_reading() -> None:
    aws = ScriptedClients(DescribeSessions={"Sessions": [], "NextToken": "again"})

    with pytest.raises(TransientError):
        SsmSessionManager(aws).active_sessions()
    assert len(aws.calls) == 2


def test_an_end_that_the_service_does_not_know_is_no_error() -> None:
    SsmSessionManager(ScriptedClients(TerminateSession=json_error("DoesNotExistException"))).terminate("s-1")


def test_a_throttled_end_is_one() -> None:
    with pytest.raises(ThrottledError):
        SsmSessionManager(ScriptedClients(TerminateSession=json_error("ThrottlingException"))).terminate(
            "s-1"
        )


def test_a_request_that_botocore_refuses_is_not_retried_for_ever() -> None:
    with pytest.raises(TerminalError):
        SsmSessionManager(ScriptedClients(TerminateSession={})).terminate("")


@pytest.mark.parametrize(("sessions", "calls"), [(200, 1), (201, 2), (10_000, 50)])
def test_a_listing_costs_one_call_per_200_sessions(sessions: int, calls: int) -> None:
    ssm = Ssm()
    for n in range(sessions):
        ssm.open(session(f"p{n % 500}@uni.example-{n:05x}", target=cluster_target()))

    assert len(SsmSessionManager(ssm.aws).active_sessions()) == sessions
    assert ssm.aws.count("DescribeSessions") == calls
