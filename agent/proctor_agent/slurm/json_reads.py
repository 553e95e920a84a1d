"""The same answers from `scontrol --json` (Slurm 23.02 and later), streamed: one element in memory at a time.

Chosen by `"slurm_output": "json"` in the settings. Text is the default: it is the same from 22.05 to 24.11 and cheaper.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from proctor.domain.agent_protocol import ObservedNode, ObservedPartition
from proctor.domain.agent_protocol.names import PARTITION
from proctor_agent.errors import SlurmError
from proctor_agent.slurm import fields
from proctor_agent.slurm.parse import is_node_name
from proctor_agent.slurm.reads import SlurmReads

_SECONDS = 12.0
_LIST_SECONDS = 60.0
_LONGEST_ELEMENT = 1_000_000


def elements(lines: Iterable[str], key: str) -> Iterator[dict[str, Any]]:
    """Objects of the top-level array `key`, each as soon as its text is complete.

    Slurm prints `{"partitions": [{...}, {...}], "meta": {...}}` over many lines. SlurmError when the array is not
    there, an element is over 1 MB, or the text ends too early: half an answer is none.
    """
    decoder = json.JSONDecoder()
    start = f'"{key}":'
    buffer, is_inside = "", False
    for line in lines:
        buffer += line.strip()
        if not is_inside:
            found = buffer.find(start)
            if found < 0 or "[" not in buffer[found:]:
                continue
            buffer, is_inside = buffer[buffer.index("[", found) + 1 :], True
        # An element of Slurm's ends on a line of its own: no need to try before a closing brace.
        while buffer and (buffer.endswith(("}", "},", "]", "],")) or buffer[0] == "]"):
            buffer = buffer.lstrip(", ")
            if buffer.startswith("]"):
                return
            try:
                element, end = decoder.raw_decode(buffer)
            except ValueError:
                break
            yield element
            buffer = buffer[end:]
        if len(buffer) > _LONGEST_ELEMENT:
            raise SlurmError(f"{key}: an element is over {_LONGEST_ELEMENT} characters")
    raise SlurmError(f"{key}: the JSON answer is not complete", is_transient=True)


def partition(raw: dict[str, Any]) -> ObservedPartition | None:
    """`{"name": "nlp", "nodes": {"configured": "ip-...", "total": 2}, "partition": {"state": ["UP"]}, ...}`."""
    name = raw.get("name")
    states = _object(raw, "partition").get("state")
    if (
        not isinstance(name, str)
        or not PARTITION.fullmatch(name)
        or not isinstance(states, list)
        or not states
    ):
        return None
    nodes = _object(raw, "nodes")
    return ObservedPartition(
        name=name,
        state=str(states[0]),
        nodes=str(nodes.get("configured", "")),
        total_nodes=int(nodes.get("total", 0)),
        qos=fields.optional(str(_object(raw, "qos").get("assigned", ""))),
        # 24.11's JSON does not say which partition is the default.
        is_default=False,
    )


def node(raw: dict[str, Any]) -> ObservedNode | None:
    """`{"name": "ip-...", "state": ["IDLE", "DRAIN"], "reason": "...", "reason_changed_at": {"number": 1796064895}}`."""
    name, states = raw.get("name"), raw.get("state")
    if not isinstance(name, str) or not is_node_name(name) or not isinstance(states, list) or not states:
        return None
    reason = fields.clean(str(raw.get("reason", "")))
    changed = raw.get("reason_changed_at")
    seconds = changed.get("number", 0) if isinstance(changed, dict) else changed or 0
    return ObservedNode(
        name=name,
        state=_sinfo_state({str(word).upper() for word in states}, str(states[0]).lower()),
        flag="*" if "NOT_RESPONDING" in states else "",
        reason=reason,
        reason_by=fields.clean(str(raw.get("reason_set_by_user", "")), 64) if reason else "",
        reason_at=datetime.fromtimestamp(int(seconds), tz=timezone.utc) if seconds and reason else None,
    )


def _sinfo_state(words: set[str], base: str) -> str:
    """The one word that sinfo shows for a base state and its flags. Source: node_state_string in Slurm."""
    is_busy = bool(words & {"ALLOCATED", "MIXED", "COMPLETING"})
    if "FAIL" in words:
        return "failing" if is_busy else "fail"
    if "DRAIN" in words:
        return "draining" if is_busy else "drained"
    if "MAINTENANCE" in words and base == "idle":
        return "maint"
    return base


def _object(raw: dict[str, Any], key: str) -> dict[str, Any]:
    value = raw.get(key)
    return value if isinstance(value, dict) else {}


class JsonReads(SlurmReads):
    """Partitions and nodes from JSON; everything else as text."""

    def partitions(self) -> dict[str, ObservedPartition]:
        """All partitions by name; an answer without any is an error."""
        lines = self._commands.lines(["scontrol", "-a", "show", "partition", "--json"], _SECONDS)
        found = {row.name: row for row in map(partition, elements(lines, "partitions")) if row is not None}
        if not found:
            raise SlurmError("scontrol show partition: no partition in the answer", is_transient=True)
        return found

    def nodes(self, only: Sequence[str] = ()) -> Iterator[ObservedNode]:
        """Every node, or the named ones, with state and reason."""
        lines = self._commands.lines(["scontrol", "-a", "show", "node", *only, "--json"], _LIST_SECONDS)
        return (row for row in map(node, elements(lines, "nodes")) if row is not None)
