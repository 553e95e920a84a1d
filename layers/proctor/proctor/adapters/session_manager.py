"""Session Manager through ssm DescribeSessions and TerminateSession.

`MaxResults` is applied before filters, so a page may be empty and still have a next one: paging ends with the token only.
No filter is used, since even a filtered query pages through everything. Sessions come and go while pages are read, so that
one may stand on two pages: the later row counts, once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from typing import TYPE_CHECKING

from proctor.adapters.aws_errors import translated
from proctor.domain.errors import NotFoundError, TransientError
from proctor.domain.identity import parse_owner
from proctor.domain.sessions import DEFAULT_DOCUMENT, Session, parse_status, parse_target

if TYPE_CHECKING:
    from mypy_boto3_ssm.type_defs import SessionTypeDef

    from proctor.adapters.aws_clients import AwsClients

_PAGE_SIZE = 200


class SsmSessionManager:
    """Implements the SessionManager port."""

    def __init__(self, clients: "AwsClients") -> None:
        """Take the clients."""
        self._clients = clients

    def active_sessions(self) -> Sequence[Session]:
        """All pages of active sessions."""
        return list({session.session_id: session for page in self._pages() for session in page}.values())

    def find_active(self, session_ids: Iterable[str]) -> Mapping[str, Session]:
        """Those of the given ids that are active; reads pages until all are found."""
        wanted, found = set(session_ids), dict[str, Session]()
        if not wanted:
            return found
        for page in self._pages():
            found.update((s.session_id, s) for s in page if s.session_id in wanted)
            if len(found) == len(wanted):
                break
        return found

    def terminate(self, session_id: str) -> None:
        """Ask for the end; an unknown id is no error, as the API itself says yes to any."""
        try:
            with translated("ssm:TerminateSession"):
                self._clients.ssm().terminate_session(SessionId=session_id)
        except NotFoundError:
            return

    def _pages(self) -> Iterator[list[Session]]:
        """Raises TransientError when the service names the same next page twice: half a listing is no listing."""
        token = ""
        while True:
            with translated("ssm:DescribeSessions"):
                if token:
                    page = self._clients.ssm().describe_sessions(
                        State="Active", MaxResults=_PAGE_SIZE, NextToken=token
                    )
                else:
                    page = self._clients.ssm().describe_sessions(State="Active", MaxResults=_PAGE_SIZE)
            yield [s for s in map(_session, page.get("Sessions", [])) if s is not None]
            previous, token = token, page.get("NextToken", "")
            if not token:
                return
            if token == previous:
                raise TransientError("ssm:DescribeSessions: the same page comes again and again")


def _session(row: "SessionTypeDef") -> Session | None:
    session_id = row.get("SessionId")
    if not session_id:
        return None
    owner, started_at = row.get("Owner", ""), row.get("StartDate")
    return Session(
        session_id=session_id,
        owner_arn=owner,
        owner=parse_owner(owner),
        target=parse_target(row.get("Target")),
        status=parse_status(row.get("Status")),
        started_at=started_at.astimezone(UTC) if started_at else None,
        document_name=row.get("DocumentName") or DEFAULT_DOCUMENT,
    )
