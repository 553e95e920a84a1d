"""Reads along what Proctor does, from where others would read it: its events, the operators' topic, the mails."""

import json
import threading
from collections.abc import Mapping
from typing import Any

from proctor_local.aws_client import AwsError
from proctor_local.control import LocalAwsError
from proctor_local.deployed import DeployedStack
from proctor_local.exam_week.book import Book, is_ended_by, seconds_to_end
from proctor_local.exam_week.log import Log

_EVERY_SECONDS = 0.15
_GIST_AT_MOST = 180


class Watcher:
    """A thread that turns events, operators' messages and mails into lines of the log and tallies of the book."""

    def __init__(self, stack: DeployedStack, log: Log, book: Book) -> None:
        self._stack, self._log, self._book = stack, log, book
        self._role_name = stack.role_arn.rsplit("/", 1)[-1]
        self._events, self._operators = stack.listen()
        self._mails_seen = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="exam-week-watcher", daemon=True)
        self.is_brief = False
        """True while so much happens that only tallies are kept."""

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Read once more and end."""
        self._over.set()
        self._thread.join(timeout=5)

    def look(self) -> None:
        """Read what has come since the last look."""
        self._read_events()
        self._read_mails()
        self._read_operators()

    def _run(self) -> None:
        while not self._over.wait(_EVERY_SECONDS):
            try:
                self.look()
            except (OSError, AwsError, LocalAwsError) as error:
                if self._over.is_set():
                    return
                self._book.wrong(f"the log's reader stopped: {error}")
                return

    def _read_events(self) -> None:
        outcomes = [json.loads(body)["detail"] for body in self._stack.take(self._events)]
        if not outcomes:
            return
        sessions = {str(s["session_id"]): s for s in self._stack.local.sessions()}
        for outcome in outcomes:
            self._book.count(f"{outcome['action']} {outcome['outcome']}")
            if not self.is_brief:
                self._tell(outcome, sessions)

    def _tell(self, outcome: Mapping[str, Any], sessions: Mapping[str, Mapping[str, Any]]) -> None:
        action, status, subject = outcome["action"], outcome["outcome"], str(outcome["subject"])
        is_told_elsewhere = action in ("NotifyPerson", "NotifyOperators") and status == "applied"
        if is_told_elsewhere or status == "already_applied":
            return
        why = self._why(outcome)
        if action == "TerminateSession":
            session_id = subject.removeprefix("session#")
            took = self._took(sessions.get(session_id)) if status == "applied" else ""
            self._log.say(
                "Proctor", f"{_ENDS.get(status, status)} {short(session_id)}{took}: {why}", "proctor"
            )
        elif action == "LabelPolicyVersion":
            self._log.say("Proctor", f"puts the policy of {outcome['cluster']} in force: {why}", "proctor")
        else:
            what = f"{_STATUSES.get(status, status)} {_RECEIVERS.get(action, action)}"
            self._log.say("Proctor", f"{what} ({subject.partition('#')[2]}): {why}", "proctor")

    def _why(self, outcome: Mapping[str, Any]) -> str:
        """The text of the verdict that the event is about; a newer verdict may stand above it already."""
        rows = self._stack.verdicts(str(outcome["subject"]))
        mine = [
            r for r in rows if (r.get("action"), r.get("outcome")) == (outcome["action"], outcome["outcome"])
        ]
        row = (mine or rows or [{}])[0]
        return ": ".join(
            filter(None, (str(row.get("text") or outcome["reason"]), str(row.get("detail") or "")))
        )

    def _took(self, session: Mapping[str, Any] | None) -> str:
        if session is None or not is_ended_by(session, self._role_name):
            return ""
        return f" after {seconds_to_end(session):.2f} s"

    def _read_mails(self) -> None:
        mails = self._stack.local.mails()
        for mail in mails[self._mails_seen :]:
            self._book.count("mails")
            if not self.is_brief:
                self._log.say("mail", f"to {', '.join(mail['to'])}: {_gist(str(mail['text']))}", "told")
        self._mails_seen = len(mails)

    def _read_operators(self) -> None:
        for body in self._stack.take(self._operators):
            envelope = json.loads(body)
            alarm = _alarm(str(envelope.get("Message", "")))
            self._book.count("alarms" if alarm else "operator messages")
            if alarm:
                self._log.say("alarm", alarm, "bad")
            elif not self.is_brief:
                self._log.say("operators", f"are told: {envelope.get('Subject')}", "told")


_STATUSES = {"dry_run": "would send", "failed": "could not send", "withheld": "does not send"}
_RECEIVERS = {"NotifyPerson": "a mail", "NotifyOperators": "a message to the operators"}
_ENDS = {
    "applied": "ends",
    "dry_run": "would end",
    "withheld": "spares",
    "unconfirmed": "asked to end, not confirmed,",
    "failed": "failed to end",
    "already_applied": "has ended already",
}


def short(session_id: str) -> str:
    """A session id as people tell it apart: the name and the first letters of the suffix."""
    name, _, suffix = session_id.rpartition("-")
    return f"{name.partition('@')[0]}-{suffix[:5]}…"


def _gist(text: str) -> str:
    """What happened and the first reason, out of a mail."""
    paragraphs = text.strip().split("\n\n")
    return " ".join(" ".join(part.split("\n")[:1]) for part in paragraphs[1:3])[:_GIST_AT_MOST]


def _alarm(message: str) -> str:
    """`<alarm>: <state>` when the message is a CloudWatch alarm's."""
    try:
        told = json.loads(message)
    except ValueError:
        return ""
    if not isinstance(told, dict) or "AlarmName" not in told:
        return ""
    return f"{told['AlarmName']} is {told.get('NewStateValue')}"
