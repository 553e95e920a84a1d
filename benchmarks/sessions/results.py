"""What was measured, held against its limits and written down."""

import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime

from benchmarks.sessions.cold import RUNS

LIMITS = {
    "cold_ratio_boto3": 1.40,
    "cold_ratio_c7n": 0.90,
    "warm_own_ms": 3.0,
    "calls_10k": 3.0,
    "p99_ms": 1000.0,
    "sweep10k_cpu_s": 5.0,
    "sweep10k_mb": 256.0,
}
_CALL_MS, _MEMORY_GB, _USD_PER_GB_SECOND, _USD_PER_REQUEST, _RECORDS_PER_REQUEST = (
    8.0,
    0.5,
    0.0000133334,
    0.0000002,
    10,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Milliseconds by subject, package and percentile; by number of active sessions: calls per start, CPU seconds, MB."""

    cold: dict[str, float]
    imports: list[tuple[str, float]]
    warm: dict[str, float]
    calls: dict[int, float]
    sweeps: dict[int, dict[str, float]]
    sweep_calls: dict[int, int]
    latency: dict[str, float]

    def figures(self) -> dict[str, float]:
        """The figures that have a limit."""
        return {
            "cold_ratio_boto3": self.cold["proctor"] / self.cold["boto3"],
            "cold_ratio_c7n": self.cold["proctor"] / self.cold["custodian"],
            "warm_own_ms": self.warm["median_ms"],
            "calls_10k": self.calls[10_000],
            "p99_ms": self.latency["p99_ms"],
            "sweep10k_cpu_s": self.sweeps[10_000]["steady_cpu_s"],
            "sweep10k_mb": self.sweeps[10_000]["peak_mb"],
        }

    def usd_per_million(self) -> float:
        """Lambda's price of a million starts within the cap, from memory and time, at 8 ms an AWS call on arm64."""
        billed_s = (self.warm["median_ms"] + _CALL_MS * self.calls[10_000]) / 1000
        return 1_000_000 * (
            _USD_PER_REQUEST / _RECORDS_PER_REQUEST + billed_s * _MEMORY_GB * _USD_PER_GB_SECOND
        )


def written(found: Measured) -> str:
    """RESULTS.md."""
    machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    return f"""# Speeds of session_limits

{datetime.now(UTC):%Y-%m-%d}, {machine}. `make bench` makes this file.
AWS is a loopback stub that answers at once, except for the latency, which is taken on the deployed local stack.

| figure | measured | limit |
| --- | --- | --- |
{_limits(found)}
## Cold start

Whole process, from its start to the end of the first invocation; interleaved, the minimum of {RUNS} runs.

| subject | ms |
| --- | --- |
| boto3 as its package ships it, one client, one call | {found.cold["boto3"]:.0f} |
| the same with the layer's lean data | {found.cold["boto3_lean"]:.0f} |
| session_limits: import, three clients, first event | {found.cold["proctor"]:.0f} |
| Cloud Custodian: one policy, one client, one call | {found.cold["custodian"]:.0f} |

Own time of the imports, by top package, under `-X importtime` (which slows them):

| package | ms |
| --- | --- |
{"".join(f"| {name} | {took:.1f} |{chr(10)}" for name, took in found.imports)}
{_warm_and_sweep(found)}"""


def _limits(found: Measured) -> str:
    return "".join(
        f"| {name} | {value:.2f} | {LIMITS[name]:g} |\n" for name, value in found.figures().items()
    )


def _warm_and_sweep(found: Measured) -> str:
    rows = "".join(
        f"| {size:,} | {row['first_cpu_s']:.2f} | {row['steady_cpu_s']:.2f} | {row['peak_mb']:.0f} "
        f"| {found.sweep_calls[size]:,} |\n"
        for size, row in found.sweeps.items()
    )
    return f"""## Warm

A start within the cap: {found.warm["median_ms"]:.2f} ms of own time (p95 {found.warm["p95_ms"]:.2f} ms), {found.calls[100]:.2f}
AWS calls with 100 active sessions and {found.calls[10_000]:.2f} with 10,000. From StartSession to the end of a surplus
session: p50 {found.latency["p50_ms"]:.0f} ms, p99 {found.latency["p99_ms"]:.0f} ms.

At 8 ms a call and 512 MB on arm64, a million starts cost about {found.usd_per_million():.2f} USD of Lambda.

## Sweep

| active sessions | first sweep, CPU s | next sweep, CPU s | peak MB | AWS calls of both |
| --- | --- | --- | --- | --- |
{rows}
The first sweep writes a ledger and a verdict for all that it finds; what it wrote stays when it is cut off, and the next
sweep goes on from there.
"""
