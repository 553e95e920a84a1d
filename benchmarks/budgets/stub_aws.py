"""A loopback AWS with the tables of a busy cluster, in memory, so that what is measured is Proctor and botocore.

`python -m benchmarks.budgets.stub_aws BUDGETS` prints its port. GET answers the calls by operation since the last look.
Conditions are judged as DynamoDB does, so that claims, memories and intents are written as on AWS.
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from benchmarks.budgets.campus import Campus, clock
from proctor.adapters.items import to_item
from tests.simulation.core.expressions import condition, update

_KEYS: Mapping[str, tuple[str, ...]] = {
    "Claims": ("claim",),
    "Verdicts": ("subject", "at"),
    "Memory": ("scope", "subject"),
    "People": ("key",),
    "Exemptions": ("function", "id"),
    "Intents": ("pk", "sk"),
    "Observed": ("scope", "key"),
}
_PAGE_BYTES = 1_000_000
_SEND_EMAIL = "/v2/email/outbound-emails"
type Item = dict[str, Any]
type Rows = dict[tuple[str, ...], Item]


class RefusedError(Exception):
    """A call that the service refuses."""

    def __init__(self, code: str, item: "Item | None") -> None:
        """Take the error's code and the item that it shows."""
        super().__init__(code)
        self.body = {"__type": code, "message": code, **({"Item": item} if item is not None else {})}


class Stub:
    """Answers by operation name."""

    def __init__(self, budgets: int) -> None:
        """Build the tables."""
        self.campus = Campus(budgets, clock())
        self.parameters = self.campus.parameters()
        self.calls: Counter[str] = Counter()
        self.tables: dict[str, dict[str, Rows]] = {name: defaultdict(dict) for name in _KEYS}
        for row in self.campus.people():
            self._store("People", to_item(row))
        for row in self.campus.observed():
            self._store("Observed", to_item(row))

    def answer(self, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        """The reply to one call. Raises RefusedError."""
        self.calls[operation] += 1
        handler = getattr(self, f"on_{operation}", None)
        return handler(body) if handler else {}

    def on_GetParameters(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """Every version is in force."""
        names = [name.partition(":")[0] for name in body["Names"]]
        return {"Parameters": [self._parameter(n) for n in names if n in self.parameters]}

    def on_GetParametersByPath(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """Ten a page, as the service does."""
        names = sorted(n for n in self.parameters if n.startswith(f"{body['Path']}/"))
        start = int(body.get("NextToken") or 0)
        page: dict[str, Any] = {"Parameters": [self._parameter(n) for n in names[start : start + 10]]}
        return page | ({"NextToken": str(start + 10)} if start + 10 < len(names) else {})

    def on_DescribeBudget(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """One budget."""
        return {"Budget": self.campus.aws_budget(body["BudgetName"])}

    def on_DescribeNotificationsForBudget(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """Without notifications."""
        del body
        return {"Notifications": []}

    def on_PutEvents(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """All taken."""
        return {"FailedEntryCount": 0, "Entries": [{"EventId": "0"} for _ in body["Entries"]]}

    def on_GetItem(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """One item."""
        found = self._stored(body["TableName"], body["Key"])
        return {"Item": found} if found is not None else {}

    def on_BatchGetItem(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """Items of one table."""
        ((table, request),) = body["RequestItems"].items()
        rows = [self._stored(table, key) for key in request["Keys"]]
        return {"Responses": {table: [row for row in rows if row is not None]}, "UnprocessedKeys": {}}

    def on_PutItem(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """One item, under its condition."""
        self._require(body["TableName"], body["Item"], body)
        self._store(body["TableName"], body["Item"])
        return {}

    def on_UpdateItem(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """One item, under its condition."""
        table, key = body["TableName"], body["Key"]
        self._require(table, key, body)
        item = dict(self._stored(table, key) or key)
        names = body.get("ExpressionAttributeNames", {})
        update(body["UpdateExpression"], item, names, body.get("ExpressionAttributeValues", {}))
        self._store(table, item)
        return {"Attributes": item} if body.get("ReturnValues") == "ALL_NEW" else {}

    def on_TransactWriteItems(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """All or nothing."""
        puts = [one["Put"] for one in body["TransactItems"]]
        for put in puts:
            self._require(put["TableName"], put["Item"], put)
        for put in puts:
            self._store(put["TableName"], put["Item"])
        return {}

    def on_Query(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """One partition, from a key on or with a prefix; a megabyte a page."""
        table, values = body["TableName"], dict(body["ExpressionAttributeValues"])
        names = _KEYS[table]
        partition, *ranged = (value["S"] for value in values.values())
        rows = self.tables[table].get(partition, {})
        text = body["KeyConditionExpression"]
        keys = sorted(key for key in rows if not ranged or _is_in(key[1], ranged[0], text))
        if last := body.get("ExclusiveStartKey"):
            keys = [key for key in keys if key > _key(names, last)]
        page, size = [], 0
        for key in keys:
            if size >= _PAGE_BYTES:
                break
            page.append(rows[key])
            size += _size(rows[key])
        answer: dict[str, Any] = {"Count": len(page)}
        if body.get("Select") != "COUNT":
            answer["Items"] = [_projected(row, body) for row in page]
        if len(page) < len(keys):
            answer["LastEvaluatedKey"] = {name: page[-1][name] for name in names}
        return answer

    def _parameter(self, name: str) -> dict[str, Any]:
        return {"Name": name, "Type": "String", "Value": self.parameters[name], "Version": 1}

    def _stored(self, table: str, item: Mapping[str, Any]) -> Item | None:
        key = _key(_KEYS[table], item)
        return self.tables[table].get(key[0], {}).get(key)

    def _store(self, table: str, item: Item) -> None:
        key = _key(_KEYS[table], item)
        self.tables[table][key[0]][key] = item

    def _require(self, table: str, target: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        text = body.get("ConditionExpression")
        if text is None:
            return
        stored = self._stored(table, target)
        names = body.get("ExpressionAttributeNames", {})
        if condition(text)(stored or {}, names, body.get("ExpressionAttributeValues", {})):
            return
        is_shown = body.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        raise RefusedError("ConditionalCheckFailedException", stored if is_shown else None)


def _key(names: tuple[str, ...], item: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(item[name]["S"] for name in names)


def _projected(row: Item, body: Mapping[str, Any]) -> Item:
    if "ProjectionExpression" not in body:
        return row
    names = body.get("ExpressionAttributeNames", {})
    wanted = [names.get(part, part) for part in body["ProjectionExpression"].split(", ")]
    return {name: row[name] for name in wanted if name in row}


def _is_in(key: str, bound: str, text: str) -> bool:
    return key.startswith(bound) if "begins_with" in text else key >= bound


def _size(item: Item) -> int:
    """About what DynamoDB counts: names and values."""
    return sum(len(name) + len(str(next(iter(value.values())))) for name, value in item.items())


class _Handler(BaseHTTPRequestHandler):
    """HTTP around a stub: JSON by target, SNS's query protocol, SES by path."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    stub: Stub

    def do_POST(self) -> None:
        """A call."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        target = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
        if self.path == _SEND_EMAIL:
            self.stub.calls["SendEmail"] += 1
            self._reply(200, {"MessageId": "0000"})
        elif target:
            self._json(target, json.loads(raw or b"{}"))
        else:
            action = parse_qs(raw.decode())["Action"][0]
            self.stub.calls[action] += 1
            self._send(200, "text/xml", _XML.format(action=action).encode())

    def do_GET(self) -> None:
        """No address is suppressed; else the calls since the last look."""
        if self.path.startswith("/v2/email/suppression"):
            self.stub.calls["GetSuppressedDestination"] += 1
            self._reply(404, {"message": "none"}, ("x-amzn-ErrorType", "NotFoundException"))
            return
        found = dict(self.stub.calls)
        self.stub.calls.clear()
        self._reply(200, found)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Silent."""

    def _json(self, target: str, body: dict[str, Any]) -> None:
        try:
            self._reply(200, self.stub.answer(target, body))
        except RefusedError as refused:
            self._reply(400, refused.body)

    def _reply(self, status: int, answer: object, *headers: tuple[str, str]) -> None:
        self._send(status, "application/x-amz-json-1.0", json.dumps(answer).encode(), *headers)

    def _send(self, status: int, kind: str, text: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(text))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)


_XML = (
    "<{action}Response><{action}Result><MessageId>0</MessageId></{action}Result>"
    "<ResponseMetadata><RequestId>0</RequestId></ResponseMetadata></{action}Response>"
)


def main() -> None:
    """Serve until ended."""
    _Handler.stub = Stub(int(sys.argv[1]))
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    print(server.server_address[1], flush=True)  # noqa: T201
    server.serve_forever()


if __name__ == "__main__":
    main()
