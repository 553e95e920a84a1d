"""A report as rows of the observed table, and which rows a sender may speak about.

Row: `scope` (`<cluster>#<section>`) and `key` (fields joined by `|`), the row's own fields, `observed_at` (epoch seconds),
`sender` (instance id), `role`, `node`, and `said` (boot id and message number of the report, which sorts). What a node's own
agent says stands apart, under `<cluster>#<section>#<node>`, so that it never touches the controller's rows; heartbeats of nodes
stand together under `<cluster>#heartbeat#nodes`.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from proctor.domain.agent_protocol import Header, Report, Role, encode

KEY_BYTES_AT_MOST = 1024
"""Of a DynamoDB sort key."""

ROW_BYTES_AT_MOST = 200_000
"""Half of a DynamoDB item."""

SNAPSHOT_SECTIONS = ("partitions", "nodes", "jobs", "reservations", "associations", "qos", "limits")
"""Sections that a whole snapshot says completely. Use is history: no snapshot forgets it."""

ANNOUNCED = (*SNAPSHOT_SECTIONS, "usage", "results", "undone")
"""Kinds of change that functions are woken by; a heartbeat is none."""

_NODE_SECTIONS = frozenset({"nodes", "results", "undone"})
_DAY = 86_400
_KEPT_DAYS = {"usage": 800, "undone": 1}
_KEPT_DAYS_ELSE = 30


@dataclass(frozen=True, slots=True)
class RowPut:
    """A row to write."""

    scope: str
    key: str
    fields: Mapping[str, Any]
    expires_at: int


@dataclass(frozen=True, slots=True)
class RowGone:
    """A row to take away."""

    scope: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRows:
    """What a report says as rows. `refused`: cause → rows left out; `kinds`: sections that changed."""

    puts: tuple[RowPut, ...] = ()
    gone: tuple[RowGone, ...] = ()
    refused: Mapping[str, int] = field(default_factory=dict)
    kinds: frozenset[str] = frozenset()


def said(boot_id: str, sequence: int) -> str:
    """Boot id and message number as a text that sorts as they do."""
    return f"{boot_id}#{sequence:016d}"


def hour_key(hour_at: datetime) -> str:
    """How keys of usage begin: the first UTC hour at or after `hour_at`. Hours sort, so that a period is one range of keys."""
    hour = hour_at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return f"{hour if hour >= hour_at else hour + timedelta(hours=1):%Y%m%dT%H}"


def scope_of(header: Header, section: str) -> str:
    """Where a sender's rows of a section stand."""
    if header.role is Role.CONTROLLER:
        return f"{header.cluster}#{section}"
    return f"{header.cluster}#{section}#{'nodes' if section == 'heartbeat' else header.node}"


def rows_of(header: Header, report: Report, observed_at: datetime, *, is_whole: bool) -> ReportRows:
    """The rows that this sender may write; the last of several with one key counts, and a row outweighs its removal.

    `is_whole`: a whole snapshot of this start of the agent is stored. Until then a heartbeat may not claim that Slurm was read:
    rules would take half a picture for a fresh one.
    """
    puts: dict[tuple[str, str], RowPut] = {}
    gone: dict[tuple[str, str], RowGone] = {}
    refused: Counter[str] = Counter()
    kinds: set[str] = set()
    common = {
        "observed_at": int(observed_at.timestamp()),
        "sender": header.instance_id,
        "role": header.role.value,
        "node": header.node,
        "said": said(header.boot_id, header.sequence),
    }
    for section, key, row in _rows(header, report, is_whole=is_whole):
        if cause := _refusal(header, section, key, row):
            refused[cause] += 1
            continue
        place = (scope_of(header, section), key)
        puts[place] = RowPut(*place, {**row, **common}, _expiry(section, row, observed_at))
        kinds.add(section)
    for removed in report.removed:
        if cause := _removal_refusal(header, removed.section, removed.key):
            refused[cause] += 1
            continue
        place = (scope_of(header, removed.section), removed.key)
        if place not in puts:
            gone[place] = RowGone(*place)
            kinds.add(removed.section)
    told = frozenset(kinds & set(ANNOUNCED))
    return ReportRows(puts=tuple(puts.values()), gone=tuple(gone.values()), refused=refused, kinds=told)


_KEYS: dict[str, Callable[[Any], tuple[str, ...]]] = {
    "partitions": lambda row: (row.name,),
    "nodes": lambda row: (row.name,),
    "jobs": lambda row: (row.job_id,),
    "reservations": lambda row: (row.name,),
    "associations": lambda row: (row.account, row.login_name, row.partition),
    "qos": lambda row: (row.name,),
    "usage": lambda row: (hour_key(row.hour_at), row.account, row.partition),
    "results": lambda row: (row.sk,),
    "undone": lambda row: (row.sk, f"{row.seen_at:%Y%m%dT%H%M%SZ}"),
}


def _rows(header: Header, report: Report, *, is_whole: bool) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for section, key_of in _KEYS.items():
        for row in getattr(report, section):
            parts = key_of(row)
            key = "|".join(parts) if not any("|" in part for part in parts) else ""
            yield section, key, encode(row)
    if report.limits is not None:
        yield "limits", report.limits.cluster_name or "limits", encode(report.limits)
    if report.heartbeat is not None:
        beat = encode(report.heartbeat)
        if header.role is Role.CONTROLLER and not is_whole:
            beat["slurm_read_at"] = None
        yield "heartbeat", header.instance_id, beat


def _refusal(header: Header, section: str, key: str, row: Mapping[str, Any]) -> str | None:
    if header.role is Role.NODE and not _is_own(header, section, row):
        return "foreign_row"
    if not _is_key(key):
        return "odd_key"
    try:
        size = len(json.dumps(row, ensure_ascii=False).encode())
    except UnicodeError:
        return "odd_text"
    return "oversized_row" if size > ROW_BYTES_AT_MOST else None


def _is_own(header: Header, section: str, row: Mapping[str, Any]) -> bool:
    """A node speaks about itself: its heartbeat, its own line in Slurm, and the intents about itself."""
    if section == "heartbeat":
        return True
    if section == "nodes":
        return bool(row["name"] == header.node)
    return section in _NODE_SECTIONS and bool(row["sk"] == f"node#{header.node}")


def _removal_refusal(header: Header, section: str, key: str) -> str | None:
    if header.role is Role.NODE and (section, key) != ("nodes", header.node):
        return "foreign_row"
    if section not in SNAPSHOT_SECTIONS:
        return "odd_section"
    return None if _is_key(key) else "odd_key"


def _is_key(key: str) -> bool:
    try:
        return 0 < len(key.encode()) <= KEY_BYTES_AT_MOST
    except UnicodeError:
        return False


def _expiry(section: str, row: Mapping[str, Any], observed_at: datetime) -> int:
    """Seconds since 1970: retention only."""
    since = row["hour_at"] if section == "usage" else int(observed_at.timestamp())
    return int(since + _KEPT_DAYS.get(section, _KEPT_DAYS_ELSE) * _DAY)
