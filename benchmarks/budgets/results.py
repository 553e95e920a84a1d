"""What was measured, held against its limits and written down."""

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime

type Measured = dict[int, dict[str, dict[str, float]]]
"""Number of budgets → kind of evaluation → figures."""

_LIMITS = {
    "decide500_cpu_s": 3.0,
    "sweep500_cpu_s": 30.0,
    "sweep500_mb": 512.0,
    "message500_cpu_s": 30.0,
}
"""A sweep may take half of the function's 60 s, on a slower core than this one; its memory is the template's."""


def compared(found: Measured) -> dict[str, tuple[float, float]]:
    """Figure → (measured, limit), at the largest number of budgets."""
    of = found[max(found)]
    figures = {
        "decide500_cpu_s": of["sweep"]["steady_decide_cpu_s"],
        "sweep500_cpu_s": of["sweep"]["steady_cpu_s"],
        "sweep500_mb": of["sweep"]["peak_mb"],
        "message500_cpu_s": of["message"]["cpu_s"],
    }
    return {name: (value, _LIMITS[name]) for name, value in figures.items()}


def written(found: Measured) -> str:
    """RESULTS.md."""
    machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    limits = "".join(
        f"| {name} | {value:.2f} | {limit:g} |\n" for name, (value, limit) in compared(found).items()
    )
    return f"""# Speeds of budget_holds

{datetime.now(UTC):%Y-%m-%d}, {machine}. `make bench-budgets` makes this file.
The function as it is built, its layers and adapters on a loopback stub of AWS that answers at once from tables in memory.

| figure | measured | limit |
| --- | --- | --- |
{limits}
The cluster: 500 nodes, ten partitions; as many departments as budgets, each with an account, four people, four jobs and use in
eight hours of each of the last 14 days (56,000 rows of use at 500 budgets). Nine budgets in ten are allocations, one is AWS's.
One in ten is over its limit, another one over a threshold.

## Sweep

The first sweep holds the accounts of one budget in ten, tells their owners and members, and writes a memory and a verdict for
every budget. The next one, a moment later, finds nothing new but asks again for the notices of the hour, as every sweep does.
`decide` is the pure decision within.

| budgets | first sweep, CPU s | AWS calls | next sweep, CPU s | `decide` of it, CPU s | AWS calls | peak MB |
| --- | --- | --- | --- | --- | --- | --- |
{"".join(_sweep(size, of["sweep"]) for size, of in sorted(found.items()))}
## One message

A message of AWS Budgets about one budget, and a change of use, after which all are judged; each in a warm process, the mean of
five.

| budgets | message of Budgets, CPU s | AWS calls | peak MB | use changed, CPU s | AWS calls | peak MB |
| --- | --- | --- | --- | --- | --- | --- |
{"".join(_messages(size, of) for size, of in sorted(found.items()))}"""


def _sweep(size: int, of: Mapping[str, float]) -> str:
    return (
        f"| {size:,} | {of['first_cpu_s']:.2f} | {of['first_calls']:,.0f} | {of['steady_cpu_s']:.2f} "
        f"| {of['steady_decide_cpu_s']:.2f} | {of['steady_calls']:,.0f} | {of['peak_mb']:.0f} |\n"
    )


def _messages(size: int, of: Mapping[str, Mapping[str, float]]) -> str:
    cells = (
        f"{of[kind]['cpu_s']:.2f} | {of[kind]['calls']:,.0f} | {of[kind]['peak_mb']:.0f}"
        for kind in ("message", "usage")
    )
    return f"| {size:,} | {' | '.join(cells)} |\n"
