"""A loopback AWS that answers at once, so that what is measured is Proctor and botocore and not a service.

`python -m benchmarks.sessions.stub_aws SESSIONS` prints its port and counts calls by operation (GET /counts). It holds SESSIONS
active sessions, two to a person, each person with a row in the directory and, once noted, a ledger.
"""

import json
import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CLUSTER, CLUSTER_ID, ROLE = "bench", "abcdef012345", "AWSReservedSSO_HyperPod_0123456789abcdef"
POLICY = json.dumps({"mode": "apply", "cap": {"max_sessions": 3}})
PAGE = 200


def login(number: int) -> str:
    """The person behind session `number`: two sessions each."""
    return f"p{number // 2:06d}"


def owner_arn(login_name: str) -> str:
    """The owner of a person's sessions."""
    return f"arn:aws:sts::123456789012:assumed-role/{ROLE}/{login_name}@uni.example"


class Stub:
    """Answers by operation name; remembers ledgers that were written."""

    def __init__(self, sessions: int) -> None:
        """Take the number of active sessions."""
        self.sessions = sessions
        self.calls: Counter[str] = Counter()
        self.ledgers: dict[str, Any] = {}

    def answer(self, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        """The reply to one call."""
        self.calls[operation] += 1
        handler = getattr(self, f"on_{operation}", None)
        return handler(body) if handler else {}

    def on_GetParameters(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """Policies in force; the pause is off."""
        found = [
            {
                "Name": n.partition(":")[0],
                "Type": "String",
                "Value": "off" if n.endswith("pause") else POLICY,
                "Version": 1,
            }
            for n in body["Names"]
        ]
        return {"Parameters": found, "InvalidParameters": []}

    def on_DescribeCluster(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """The cluster's ARN."""
        arn = f"arn:aws:sagemaker:us-east-1:123456789012:cluster/{CLUSTER_ID}"
        return {
            "ClusterArn": arn,
            "ClusterName": body["ClusterName"],
            "ClusterStatus": "InService",
            "InstanceGroups": [],
        }

    def on_DescribeSessions(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """One page."""
        start = int(body.get("NextToken") or 0)
        end = min(start + PAGE, self.sessions)
        page: dict[str, Any] = {"Sessions": [self._session(n) for n in range(start, end)]}
        if end < self.sessions:
            page["NextToken"] = str(end)
        return page

    def on_BatchGetItem(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """Directory rows."""
        ((table, wanted),) = body["RequestItems"].items()
        rows = [row for key in wanted["Keys"] if (row := _person(key["key"]["S"]))]
        return {"Responses": {table: rows}, "UnprocessedKeys": {}}

    def on_Query(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """Ledgers, 2,000 a page; no exemptions."""
        if "Memory" not in body["TableName"]:
            return {"Items": [], "Count": 0}
        keys = sorted(self.ledgers)
        start = (
            keys.index(body["ExclusiveStartKey"]["subject"]["S"]) + 1 if "ExclusiveStartKey" in body else 0
        )
        page = keys[start : start + 2000]
        answer: dict[str, Any] = {"Items": [self.ledgers[k] for k in page], "Count": len(page)}
        if start + 2000 < len(keys):
            answer["LastEvaluatedKey"] = {"scope": {"S": "x"}, "subject": {"S": page[-1]}}
        return answer

    def on_GetResources(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """Tags, which Cloud Custodian asks for: none."""
        del body
        return {"ResourceTagMappingList": []}

    def on_PutItem(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """Keeps ledgers."""
        if "Memory" in body["TableName"]:
            self.ledgers[body["Item"]["subject"]["S"]] = body["Item"]
        return {}

    def on_UpdateItem(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """A noted session's ledger, or the first sweep's time."""
        values = body.get("ExpressionAttributeValues", {})
        if ":entry" in values:
            name = body["ExpressionAttributeNames"]["#s"]
            return {"Attributes": {**body["Key"], "rev": {"N": "1"}, name: values[":entry"]}}
        return {"Attributes": {**body["Key"], "first_at": {"S": "2026-09-01T10:00:00+00:00"}}}

    def _session(self, number: int) -> dict[str, Any]:
        return {
            "SessionId": f"{login(number)}@uni.example-{number:026x}",
            "Target": f"sagemaker-cluster:{CLUSTER_ID}_login-i-{number % 64:017x}",
            "Status": "Connected",
            "StartDate": 1788256800 + number,
            "DocumentName": "SSM-SessionManagerRunShell",
            "Owner": owner_arn(login(number)),
            "MaxSessionDuration": "480",
        }


def _person(key: str) -> dict[str, Any] | None:
    kind, account, name = key.split("#")
    if (kind, account) != ("role_session", "*"):
        return None
    login_name = name.partition("@")[0]
    record = {
        "login_name": login_name,
        "identities": [{"kind": kind, "value": name}],
        "email": name,
        "groups": ["lab"],
    }
    return {"key": {"S": key}, "login_name": {"S": login_name}, "person": {"S": json.dumps(record)}}


def serve(stub: Stub) -> ThreadingHTTPServer:
    """A server on a free loopback port; the caller runs it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
            operation = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
            self._reply(stub.answer(operation, body))

        def do_GET(self) -> None:
            self._reply(dict(stub.calls))
            stub.calls.clear()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Silent."""

        def _reply(self, answer: object) -> None:
            text = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


def main() -> None:
    """Serve until standard input closes."""
    server = serve(Stub(int(sys.argv[1])))
    print(server.server_address[1], flush=True)  # noqa: T201
    server.serve_forever()


if __name__ == "__main__":
    main()
