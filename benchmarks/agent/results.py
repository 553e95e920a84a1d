"""Figures of the agent beside a real Slurm: results.json keeps them, RESULTS.md shows them; a run replaces its own rows."""

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
_COST, _DRILL = "cost", "drill"

type Row = tuple[str, str, float]
"""What was done, what was seen right after, and the seconds until the hold stood."""


def keep_cost(nodes: int, figures: Mapping[str, float], slurm: str, folder: Path = _HERE) -> None:
    """One size of cluster; `figures`: jobs, running, rss_mb, cpu_pct, cycle_s."""
    kept = _kept(folder)
    kept.setdefault(_COST, {})[str(nodes)] = {**figures, **_where(slurm)}
    _write(kept, folder)


def keep_drill(rows: Sequence[Row], figures: Mapping[str, float], slurm: str, folder: Path = _HERE) -> None:
    """One drill; of several rounds the slowest of each way counts."""
    kept = _kept(folder)
    kept[_DRILL] = {"rows": _slowest(rows), **figures, **_where(slurm)}
    _write(kept, folder)


def _slowest(rows: Iterable[Row]) -> list[list[Any]]:
    found: dict[str, Row] = {}
    for row in rows:
        if row[0] not in found or row[2] > found[row[0]][2]:
            found[row[0]] = row
    return [list(row) for row in found.values()]


def _where(slurm: str) -> dict[str, str]:
    machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, {slurm}"
    return {"on": f"{datetime.now(UTC):%Y-%m-%d}", "machine": machine}


def _kept(folder: Path) -> dict[str, Any]:
    file = folder / "results.json"
    kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return kept


def _write(kept: Mapping[str, Any], folder: Path) -> None:
    text = json.dumps(kept, indent=2, sort_keys=True, ensure_ascii=False)
    (folder / "results.json").write_text(text + "\n", encoding="utf-8")
    (folder / "RESULTS.md").write_text(_shown(kept), encoding="utf-8")


def _shown(kept: Mapping[str, Any]) -> str:
    parts = ["# The agent beside a real Slurm\n", "Each table says where and when it was measured.\n"]
    if _COST in kept:
        parts.append(_cost(kept[_COST]))
    if _DRILL in kept:
        parts.append(_drill(kept[_DRILL]))
    return "\n".join(parts)


def _cost(sizes: Mapping[str, Mapping[str, Any]]) -> str:
    rows = "".join(
        f"| {int(nodes):,} | {of['jobs']:,.0f} | {of['running']:,.0f} | {of['rss_mb']:.1f} | {of['cpu_pct']:.2f} "
        f"| {of['cycle_s']:.2f} | {of['on']} | {of['machine']} |\n"
        for nodes, of in sorted(sizes.items(), key=lambda one: int(one[0]))
    )
    return f"""## What it costs

`make bench-agent` writes these rows, one for each of NODES. Memory and processor time are those of the agent and of the Slurm
commands it runs, with ten partitions and ten accounts held; limits: 64 MB, 1 % of one core. The cycle is one whole look by
`run --once`.

| nodes | jobs | running | peak MB | % of a core | cycle s | on | machine |
| --- | --- | --- | --- | --- | --- | --- | --- |
{rows}"""


def _drill(drill: Mapping[str, Any]) -> str:
    rows = "".join(f"| {what} | {seen} | {seconds:.2f} |\n" for what, seen, seconds in drill["rows"])
    return f"""## Until a hold is back

`make drill-holds` writes this table: {drill["on"]}, {drill["machine"]}; the slowest of {drill["rounds"]:.0f} round(s).
Seconds from the end of the undoing until Slurm shows the hold again; of a new intent from its write until Slurm shows it.

| undone by | seen right after | seconds |
| --- | --- | --- |
{rows}
Slowest {drill["reheld_max_s"]:.2f} s (limit 10), applied within {drill["applied_s"]:.2f} s (limit 5); running jobs killed:
{drill["running_jobs_killed"]:.0f}; jobs of others delayed: {drill["innocent_delayed"]:.0f}.
"""
