"""Reads along what Proctor does about budgets: its events, the operators' topic, the mails."""

import json
import threading
from collections.abc import Mapping
from typing import Any

from proctor_local.aws_client import AwsError
from proctor_local.budget_week.book import Book
from proctor_local.control import LocalAwsError
from proctor_local.deployed import DeployedStack
from proctor_local.exam_week.log import Log

_EVERY_SECONDS = 0.2
_GIST_AT_MOST = 230
_DOES = {
    ("WriteIntent", "applied"): "writes the hold",
    ("WithdrawIntent", "applied"): "lets go",
    ("LabelPolicyVersion", "applied"): "puts in force",
    ("AlarmOperators", "applied"): "alarms the operators",
}
_TOLD_ELSEWHERE = frozenset({"NotifyPerson", "NotifyOperators"})


class Watcher:
    """A thread that turns events, operators' messages and mails into lines of the log and tallies of the book."""

    def __init__(self, stack: DeployedStack, log: Log, book: Book) -> None:
        self._stack, self._log, self._book = stack, log, book
        self._events, self._operators = stack.listen()
        self._mails_seen = 0
        self._over = threading.Event()
        self._reading = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="budget-week-watcher", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Read once more and end."""
        self._over.set()
        self._thread.join(timeout=5)

    def look(self) -> None:
        """Read what has come since the last look."""
        with self._reading:
            self._read_events()
            self._read_mails()
            self._read_operators()

    def _run(self) -> None:
        while not self._over.wait(_EVERY_SECONDS):
            try:
                self.look()
            except (OSError, AwsError, LocalAwsError) as error:
                if not self._over.is_set():
                    self._book.wrong(f"the log's reader stopped: {error}")
                return

    def _read_events(self) -> None:
        for body in self._stack.take(self._events):
            event = json.loads(body)
            outcome = event["detail"]
            if "action" in outcome:
                self._book.count(f"{outcome['action']} {outcome['outcome']}")
                self._tell(outcome, str(event["source"]).removeprefix("proctor."))

    def _tell(self, outcome: Mapping[str, Any], function: str) -> None:
        action, status = str(outcome["action"]), str(outcome["outcome"])
        if status in ("already_applied", "dry_run") or (action in _TOLD_ELSEWHERE and status == "applied"):
            return
        what = _DOES.get((action, status), f"{action} {status}")
        kind = "proctor" if status == "applied" else "bad"
        self._log.say("Proctor", f"{function} {what}: {self._why(outcome)}", kind)

    def _why(self, outcome: Mapping[str, Any]) -> str:
        """The text of the verdict that the event is about."""
        rows = self._stack.verdicts(str(outcome["subject"]))
        mine = [
            r for r in rows if (r.get("action"), r.get("outcome")) == (outcome["action"], outcome["outcome"])
        ]
        row = (mine or rows or [{}])[0]
        return ": ".join(
            filter(None, (str(row.get("text") or outcome["reason"]), str(row.get("detail") or "")))
        )

    def _read_mails(self) -> None:
        mails = self._stack.local.mails()
        for mail in mails[self._mails_seen :]:
            self._book.count("mails")
            self._log.say("mail", f"to {', '.join(mail['to'])}: {_gist(mail)}", "told")
        self._mails_seen = len(mails)

    def _read_operators(self) -> None:
        for body in self._stack.take(self._operators):
            envelope = json.loads(body)
            alarm = _alarm(str(envelope.get("Message", "")))
            self._book.count("alarms" if alarm else "operator messages")
            if alarm:
                self._log.say("alarm", alarm, "bad")
            else:
                self._log.say("operators", f"are told: {envelope.get('Subject')}", "told")


def _gist(mail: Mapping[str, Any]) -> str:
    """The subject, and what the text says after its greeting."""
    paragraphs = [part for part in str(mail["text"]).strip().split("\n\n") if not part.startswith("Hello ")]
    return f"{mail['subject']}. {' '.join(' '.join(paragraphs).split())}"[:_GIST_AT_MOST]


def _alarm(message: str) -> str:
    """`<alarm>: <state>` when the message is a CloudWatch alarm's."""
    try:
        told = json.loads(message)
    except ValueError:
        return ""
    if not isinstance(told, dict) or "AlarmName" not in told:
        return ""
    return f"{told['AlarmName']} is {told.get('NewStateValue')}: {told.get('AlarmDescription', '')}"
