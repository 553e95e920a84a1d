"""What scenarios and tests use of the local AWS: starting it, its control calls, people with credentials.

Standard library only. ``running()`` starts a launcher and ends it with the block;
``LocalAwsClient(endpoint)`` talks to one that runs already.
"""

import contextlib
import http.client
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from proctor_local.aws_client import FIRST_ERROR_STATUS, AwsClient, AwsError, Credentials


class LocalAwsError(RuntimeError):
    """The local AWS didn't start, or refused a control call; the message says what to mend."""


@dataclass(frozen=True, slots=True)
class LocalAwsClient:
    """A running local AWS: control calls, and API clients for any principal."""

    endpoint: str
    account: str
    region: str

    def aws(self, credentials: Credentials | None = None) -> AwsClient:
        """An API client, of the account's root when no credentials are given."""
        return (
            AwsClient(self.endpoint, self.region, credentials)
            if credentials
            else AwsClient(self.endpoint, self.region)
        )

    def control(self, method: str, call: str, /, **members: Any) -> Any:
        """One control call by its name under ``/_proctor/``. Raises LocalAwsError."""
        parts = urlsplit(self.endpoint)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        try:
            connection.request(method, f"/_proctor/{call}", json.dumps(members).encode() if members else b"")
            response = connection.getresponse()
            answer = json.loads(response.read())
        finally:
            connection.close()
        if response.status >= FIRST_ERROR_STATUS:
            raise LocalAwsError(f"{method} {call}: {answer.get('error')}")
        return answer

    def settings(self, **changes: Any) -> dict[str, Any]:
        """Change settings (delays, losses, throttles: ``proctor_local.settings``) and return all of them."""
        return dict(
            self.control("POST", "settings", **changes) if changes else self.control("GET", "settings")
        )

    def reset(self) -> None:
        """Wipe all state: resources, stacks, sessions, settings, clock."""
        self.control("POST", "reset")

    def advance(self, seconds: float) -> None:
        """Move the clock of sessions and their history on."""
        self.control("POST", "clock", advance_seconds=seconds)

    def sessions(self) -> list[dict[str, Any]]:
        """Every session with all it has, ended ones included."""
        return list(self.control("GET", "sessions"))

    def session(self, session_id: str) -> dict[str, Any]:
        """One session with all it has."""
        return dict(self.control("POST", "sessions/find", session_id=session_id))

    def seed_session(self, owner_arn: str, target: str, **members: Any) -> dict[str, Any]:
        """A session that is already there (``started_at``, ``status``, ...); no record is made of it."""
        return dict(self.control("POST", "sessions", owner_arn=owner_arn, target=target, **members))

    def set_status(self, session_id: str, status: str) -> dict[str, Any]:
        """Put a session into a state, such as Disconnected."""
        return dict(self.control("POST", "sessions/status", session_id=session_id, status=status))

    def exit_session(self, session_id: str) -> dict[str, Any]:
        """The person types ``exit``: the session ends without an API call, so without a record."""
        return dict(self.control("POST", "sessions/exit", session_id=session_id))

    def seed_cluster(self, name: str, groups: Mapping[str, Any], **members: Any) -> dict[str, Any]:
        """A HyperPod cluster: ``groups={"login": {"count": 2}}``; its nodes carry their ``target``."""
        return dict(self.control("POST", "clusters", name=name, groups=groups, **members))

    def change_node(self, instance_id: str, **changes: str) -> dict[str, Any]:
        """Set a node's ``status`` or ``message``."""
        return dict(self.control("POST", "nodes", instance_id=instance_id, **changes))

    def lose_node(self, instance_id: str) -> list[str]:
        """A node dies with its sessions; returns their ids."""
        return list(self.control("POST", "nodes/lose", instance_id=instance_id)["ended"])

    def has_due(self) -> bool:
        """Whether something that is due has not come yet, such as an event or a message that a call just caused."""
        return bool(self.control("GET", "health")["due_timers"])

    def emit(self, source: str, detail_type: str, detail: Mapping[str, Any]) -> None:
        """Put an event on the default bus as an AWS service does."""
        self.control("POST", "events", source=source, detail_type=detail_type, detail=detail)

    def fire(self, rule: str) -> None:
        """Fire a scheduled rule now, by its name or a part of it (its logical id)."""
        self.control("POST", "rules/fire", rule=rule)

    def trail(self) -> list[dict[str, Any]]:
        """The CloudTrail records made so far, with the number of copies sent and delivered."""
        return list(self.control("GET", "trail"))

    def mails(self) -> list[dict[str, Any]]:
        """The mails sent so far."""
        return list(self.control("GET", "mails"))

    def problems(self) -> list[dict[str, Any]]:
        """What AWS would have dropped silently, such as deliveries without permission."""
        return list(self.control("GET", "problems"))

    def denials(self) -> list[dict[str, Any]]:
        """What IAM refused: ``principal``, ``action``, ``resource``, ``count``."""
        return list(self.control("GET", "denials"))

    def clear_denials(self) -> None:
        """Forget the denials and problems seen so far."""
        self.control("POST", "denials/clear")

    def suppress(self, address: str) -> None:
        """Put an address on the mail service's suppression list, as a bounce does."""
        self.control("POST", "mails/suppress", address=address)

    def budgets(self) -> list[dict[str, Any]]:
        """AWS's budgets with their notifications' states and the messages so far."""
        return list(self.control("GET", "budgets"))

    def refresh_budget(self, name: str, **figures: Any) -> dict[str, Any]:
        """AWS refreshes a budget's data: ``actual``, ``forecast``, ``health``, ``updated_at``, ``messages``; the Budget."""
        return dict(self.control("POST", "budgets/refresh", name=name, **figures)["budget"])

    def begin_budget_period(self, name: str) -> None:
        """A new period of a budget begins: nothing spent, every notification OK, nobody told."""
        self.control("POST", "budgets/period", name=name)

    def add_target(self, target: str) -> str:
        """Let a bare ``i-`` or ``mi-`` node take sessions; its target."""
        return str(self.control("POST", "targets", target=target)["target"])

    def workers(self) -> dict[str, Any]:
        """The pids of the running function workers, and the folder of all files."""
        return dict(self.control("GET", "workers"))


@dataclass(frozen=True, slots=True)
class PersonClient:
    """A person with credentials of their own. ``owner_arn`` is what DescribeSessions shows as Owner."""

    login_name: str
    owner_arn: str
    client: AwsClient

    def start_session(self, target: str, **members: Any) -> str:
        """StartSession as this person; the session id. Raises AwsError."""
        return str(self.client.call("ssm", "StartSession", Target=target, **members)["SessionId"])

    def start_patiently(self, target: str, seconds: float = 30.0, **members: Any) -> str:
        """StartSession, trying again while it is throttled, for at most ``seconds``. Raises AwsError."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self.start_session(target, **members)
            except AwsError as error:
                if error.code != "ThrottlingException" or time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def terminate_session(self, session_id: str) -> None:
        """TerminateSession as this person. Raises AwsError."""
        self.client.call("ssm", "TerminateSession", SessionId=session_id)

    def describe_sessions(self, state: str = "Active", **members: Any) -> list[dict[str, Any]]:
        """DescribeSessions through all pages. Raises AwsError."""
        found, token = [], ""
        while True:
            page = {"NextToken": token} if token else {}
            answer = self.client.call("ssm", "DescribeSessions", State=state, **members, **page)
            found += answer["Sessions"]
            token = answer.get("NextToken", "")
            if not token:
                return found


def wait_until[T](
    probe: Callable[[], T], seconds: float = 10.0, every: float = 0.05, what: str = "condition"
) -> T:
    """Call ``probe`` until it gives something true, and return that. Raises TimeoutError naming ``what``."""
    deadline = time.monotonic() + seconds
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not so after {seconds} s; last seen {value!r}")
        time.sleep(every)


@contextlib.contextmanager
def running(python: str | Path, port: int = 0, arguments: tuple[str, ...] = ()) -> Iterator[LocalAwsClient]:
    """Start a launcher with the emulator's interpreter and end it with the block. Raises LocalAwsError.

    The launcher follows this process: when it dies, so does the local AWS.
    """
    command = [str(python), "-m", "proctor_local.launcher", "--lifeline", "--port", str(port), *arguments]
    place = str(Path(__file__).resolve().parent.parent)
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": place},
        start_new_session=True,  # Ctrl-C reaches this process only, which then ends the launcher in order
    )
    try:
        yield _ready(process)
    finally:
        if process.stdin is not None:
            process.stdin.close()
        if process.stdout is not None:
            process.stdout.close()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=5)


def _ready(process: "subprocess.Popen[bytes]") -> LocalAwsClient:
    line = process.stdout.readline() if process.stdout is not None else b""
    try:
        answer = json.loads(line)
    except ValueError:
        raise LocalAwsError(
            f"the local AWS didn't start (exit code {process.poll()}); its error output says why"
        ) from None
    return LocalAwsClient(answer["endpoint"], answer["account"], answer["region"])
