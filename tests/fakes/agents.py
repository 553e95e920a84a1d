"""Agents, observed rows and change events in memory, and a node's agent that speaks the real protocol."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from proctor.domain.agent_protocol import (
    Header,
    Report,
    Role,
    make_enrolment,
    report_body,
    seal,
)
from proctor.domain.agent_writes import Forget, ReportWrite
from proctor.domain.agents import AgentRecord, AgentSeen, AgentState, ListedNode, Progress
from proctor.domain.errors import LostRaceError
from proctor.domain.observed_rows import RowPut
from tests.fakes.values import CLUSTER, NOW

CONTROLLER_QUEUE = "arn:aws:sqs:us-east-1:123456789012:proctor-ControllerReportsQueue"
NODE_QUEUE = "arn:aws:sqs:us-east-1:123456789012:proctor-NodeReportsQueue"
QUEUES = {Role.CONTROLLER: CONTROLLER_QUEUE, Role.NODE: NODE_QUEUE}


@dataclass
class FakeAgentRegistry:
    """One row per agent; every write raises its revision by one."""

    rows: dict[tuple[str, str], AgentRecord] = field(default_factory=dict)

    def get(self, cluster: str, instance_id: str) -> AgentRecord | None:
        return self.rows.get((cluster, instance_id))

    def all(self) -> Sequence[AgentSeen]:
        return [
            AgentSeen(
                cluster=r.cluster,
                instance_id=r.instance_id,
                role=r.role,
                node=r.node,
                state=r.state,
                last_seen_at=r.last_seen_at,
                silent_since=r.silent_since,
                rev=r.rev,
            )
            for r in self.rows.values()
        ]

    def enrol(self, record: AgentRecord) -> None:
        if self._is_stored(record):
            return
        if (record.cluster, record.instance_id) in self.rows:
            message = "that agent is enrolled already"
            raise LostRaceError(message)
        self._store(record)

    def swap(self, record: AgentRecord) -> None:
        if not self._is_stored(record):
            self.require(record)
            self._store(record)

    def approve(self, record: AgentRecord, key: bytes) -> None:
        self.require(record)
        progress = record.progress if key == record.key else Progress()
        self._store(
            replace(
                record,
                key=key,
                contender=None,
                contender_role=None,
                state=AgentState.ENROLLED,
                progress=progress,
            )
        )

    def require(self, record: AgentRecord) -> None:
        """Raise LostRaceError unless the stored revision is the record's."""
        stored = self.get(record.cluster, record.instance_id)
        if stored is None or stored.rev != record.rev:
            message = "the agent is at another revision"
            raise LostRaceError(message)

    def _is_stored(self, record: AgentRecord) -> bool:
        """A write that is sent again after its answer got lost meets itself."""
        return self.get(record.cluster, record.instance_id) == replace(record, rev=record.rev + 1)

    def _store(self, record: AgentRecord) -> None:
        self.rows[record.cluster, record.instance_id] = replace(record, rev=record.rev + 1)


@dataclass
class FakeObservedStore:
    """Rows by scope and key, written under the same conditions as in the table."""

    agents: FakeAgentRegistry
    rows: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def apply(self, write: ReportWrite) -> None:
        self.agents.require(write.record)
        for put in write.rows.puts:
            if self._may_put(put, write):
                self.rows[put.scope, put.key] = {**put.fields, "expires_at": put.expires_at}
        for gone in write.rows.gone:
            if not write.is_late or self._is_older(gone.scope, gone.key, write, is_missing=True):
                self.rows.pop((gone.scope, gone.key), None)
        if write.forget is not None:
            self._forget(write.forget)
        self.agents.swap(write.record)

    def section(self, section: str, cluster: str = CLUSTER) -> dict[str, dict[str, Any]]:
        """Rows of one section by key."""
        return {key: row for (scope, key), row in self.rows.items() if scope == f"{cluster}#{section}"}

    def _may_put(self, put: RowPut, write: ReportWrite) -> bool:
        if not write.is_late:
            return True
        return self._is_older(put.scope, put.key, write, is_missing=write.said > write.removed_at)

    def _is_older(self, scope: str, key: str, write: ReportWrite, *, is_missing: bool) -> bool:
        row = self.rows.get((scope, key))
        if row is None:
            return is_missing
        return bool(row["sender"] != write.record.instance_id or row["said"] < write.said)

    def _forget(self, forget: Forget) -> None:
        scopes = {f"{forget.cluster}#{section}" for section in forget.sections}
        before_at = int(forget.before_at.timestamp())
        for place, row in list(self.rows.items()):
            is_own = row["sender"] == forget.sender
            is_stale = row["said"] < forget.before_said if is_own else row["observed_at"] < before_at
            if place[0] in scopes and is_stale:
                del self.rows[place]


@dataclass
class FakeChangeAnnouncer:
    """One event per cluster and kind in ten seconds."""

    told: list[tuple[str, str]] = field(default_factory=list)
    told_at: dict[tuple[str, str], datetime] = field(default_factory=dict)
    held_back: set[tuple[str, str]] = field(default_factory=set)

    def announce(self, cluster: str, kinds: Iterable[str] | None, now: datetime) -> None:
        wanted = (
            [kind for name, kind in sorted(self.held_back) if name == cluster] if kinds is None else kinds
        )
        for kind in wanted:
            last = self.told_at.get((cluster, kind))
            if last is not None and last <= now < last + timedelta(seconds=10):
                self.held_back.add((cluster, kind))
                continue
            self.held_back.discard((cluster, kind))
            self.told_at[cluster, kind] = now
            self.told.append((cluster, kind))


@dataclass
class FakeNodeList:
    """Nodes by cluster."""

    listed: dict[str, dict[str, ListedNode]] = field(default_factory=dict)
    listings: int = 0

    def launch(
        self,
        instance_id: str,
        node: str | None,
        at: datetime = NOW,
        cluster: str = CLUSTER,
        group: str = "gpu",
    ) -> None:
        """A node starts."""
        self.listed.setdefault(cluster, {})[instance_id] = ListedNode(instance_id, group, at, node)

    def nodes(self, cluster: str, looked_for: str | None = None) -> Mapping[str, ListedNode]:
        self.listings += 1
        return dict(self.listed.get(cluster, {}))


@dataclass
class NodeAgent:
    """What runs on a node: makes messages with the agents' own protocol code and numbers them."""

    instance_id: str = "i-0123456789abcdef0"
    node: str = "ip-10-1-0-7"
    role: Role = Role.NODE
    cluster: str = CLUSTER
    key: bytes = b"k" * 32
    boot_id: str = "1788256800000-0a0b0c0d"
    sequence: int = 0

    def header(self, **fields: Any) -> Header:
        """The header of the next message; any field may be forged."""
        self.sequence += 1
        given = {
            "cluster": self.cluster,
            "role": self.role,
            "node": self.node,
            "instance_id": self.instance_id,
            "boot_id": self.boot_id,
            "sequence": self.sequence,
        }
        return Header(**{**given, **fields})

    def enrolment(self, at: datetime = NOW, **fields: Any) -> str:
        """The first message."""
        return make_enrolment(self.header(**fields), self.key, at)

    def report(self, report: Report, **fields: Any) -> str:
        """A sealed report."""
        return seal(self.header(**fields), report_body(report), self.key)

    def raw_report(self, body: str, **fields: Any) -> str:
        """Any body, sealed with the right key."""
        return seal(self.header(**fields), body, self.key)

    def restart(self, boot_id: str = "1788260400000-0b0b0b0b") -> None:
        """Another start: a new boot id, numbers from 1."""
        self.boot_id, self.sequence = boot_id, 0


def record_of(message: str, role: Role, at: datetime = NOW, message_id: str = "m-1") -> dict[str, Any]:
    """The queue's record of one message."""
    return {
        "messageId": message_id,
        "receiptHandle": "AQEB",
        "body": message,
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": str(int(at.timestamp() * 1000)),
            "SenderId": "AROAEXAMPLEEXAMPLE01:SageMaker",
            "ApproximateFirstReceiveTimestamp": str(int(at.timestamp() * 1000) + 12),
        },
        "messageAttributes": {},
        "md5OfBody": "0" * 32,
        "eventSource": "aws:sqs",
        "eventSourceARN": QUEUES[role],
        "awsRegion": "us-east-1",
    }
