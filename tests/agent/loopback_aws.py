"""DynamoDB's Query and SQS on loopback, in the wire shapes of the JSON protocols; typed, in this process."""

import base64
import json
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from proctor.domain.agent_protocol import Envelope, Intent, Report, open_enrolment, open_envelope

_PAGE = 25


def attribute(value: Any) -> dict[str, Any]:
    """A plain value as DynamoDB writes it."""
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int):
        return {"N": str(value)}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, list):
        return {"L": [attribute(item) for item in value]}
    return {"M": {key: attribute(item) for key, item in value.items()}}


@dataclass
class LoopbackAws:
    """What the fake services hold. `is_down` answers 503; `requests` lists what was asked, in order."""

    items: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    requests: list[tuple[str, dict[str, Any], dict[str, str]]] = field(default_factory=list)
    is_down: bool = False
    url: str = ""
    _wakeups: int = 0
    _condition: threading.Condition = field(default_factory=threading.Condition)

    def put(self, intent: Intent) -> None:
        """Write an intent and wake its agent."""
        self.put_raw(intent.to_item())

    def put_raw(self, item: dict[str, Any]) -> None:
        """Write any item and wake the agent."""
        with self._condition:
            self.items[item["pk"], item["sk"]] = item
        self.wake()

    def delete(self, pk: str, sk: str) -> None:
        """Remove an item."""
        with self._condition:
            self.items.pop((pk, sk), None)
        self.wake()

    def wake(self) -> None:
        """One message into the wake-up queue."""
        with self._condition:
            self._wakeups += 1
            self._condition.notify_all()

    def reports(self) -> list[Report]:
        """Bodies of every report so far, in order of arrival."""
        return [envelope.report() for envelope in self.envelopes()]

    def envelopes(self) -> list[Envelope]:
        """Reports with their envelopes."""
        return [open_envelope(text) for text in list(self.messages) if '"type":"report"' in text]

    def enrolled_keys(self) -> list[bytes]:
        """Keys of all enrolments."""
        return [open_enrolment(text).key for text in list(self.messages) if '"enrolment"' in text]

    def outcomes(self, sk: str) -> list[str]:
        """Outcomes reported for one intent, oldest first."""
        return [
            result.outcome.value for report in self.reports() for result in report.results if result.sk == sk
        ]

    def answer(self, target: str, body: dict[str, Any]) -> dict[str, Any]:
        """One call."""
        action = target.partition(".")[2]
        actions: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "Query": self._query,
            "ReceiveMessage": self._receive,
            "DeleteMessageBatch": lambda _body: {"Successful": [], "Failed": []},
            "SendMessage": self._send,
        }
        return actions[action](body)

    def _query(self, body: dict[str, Any]) -> dict[str, Any]:
        pk = body["ExpressionAttributeValues"][":pk"]["S"]
        after = body.get("ExclusiveStartKey", {}).get("sk", {}).get("S", "")
        with self._condition:
            found = [item for key, item in sorted(self.items.items()) if key[0] == pk and key[1] > after]
        page = found[:_PAGE]
        answer: dict[str, Any] = {"Items": [attribute(item)["M"] for item in page], "Count": len(page)}
        if len(found) > _PAGE:
            answer["LastEvaluatedKey"] = {"pk": {"S": pk}, "sk": {"S": page[-1]["sk"]}}
        return answer

    def _receive(self, body: dict[str, Any]) -> dict[str, Any]:
        with self._condition:
            self._condition.wait_for(lambda: self._wakeups > 0, timeout=body.get("WaitTimeSeconds", 0))
            if not self._wakeups:
                return {}
            self._wakeups = 0
        handle = base64.b64encode(uuid.uuid4().bytes).decode()
        return {"Messages": [{"MessageId": str(uuid.uuid4()), "ReceiptHandle": handle, "Body": "{}"}]}

    def _send(self, body: dict[str, Any]) -> dict[str, Any]:
        self.messages.append(body["MessageBody"])
        return {"MessageId": str(uuid.uuid4())}


@contextmanager
def loopback_aws() -> Iterator[LoopbackAws]:
    """The fake on a free port of 127.0.0.1, for the length of the block."""
    state = LoopbackAws()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            target = self.headers["X-Amz-Target"]
            state.requests.append((target, body, {key.lower(): value for key, value in self.headers.items()}))
            status, answer = 200, {}
            if state.is_down:
                status, answer = 503, {"__type": "com.amazonaws#ServiceUnavailable", "message": "down"}
            else:
                answer = state.answer(target, body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with suppress(BrokenPipeError):
                self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield state
    finally:
        state.wake()
        server.shutdown()
        server.server_close()
        thread.join(5)
