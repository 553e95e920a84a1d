"""Results that several runs write together: each replaces its own rows, and none wipes another's."""

from pathlib import Path

from benchmarks.agent.results import keep_cost, keep_drill
from benchmarks.budgets.results import compared, written

COST = {"jobs": 200, "running": 100, "rss_mb": 40.25, "cpu_pct": 0.5, "cycle_s": 0.3}
DRILL = {
    "reheld_max_s": 4.5,
    "applied_s": 1.2,
    "running_jobs_killed": 0,
    "innocent_delayed": 0,
    "rounds": 2,
}


def test_sizes_and_the_drill_stand_together_and_a_second_run_replaces_its_own_row(tmp_path: Path) -> None:
    keep_cost(5000, {**COST, "rss_mb": 61}, "slurm 24.11.5", tmp_path)
    rows = [
        ("somebody sets UP", "lost", 1.0),
        ("reconfigure", "lost", 2.0),
        ("somebody sets UP", "lost", 4.5),
    ]
    keep_drill(rows, DRILL, "slurm 24.11.5", tmp_path)
    keep_cost(100, COST, "slurm 24.11.5", tmp_path)
    keep_cost(5000, {**COST, "rss_mb": 62}, "slurm 24.11.5", tmp_path)

    text = (tmp_path / "RESULTS.md").read_text()
    assert "| 100 | 200 | 100 | 40.2 | 0.50 | 0.30 |" in text
    assert text.index("| 100 |") < text.index("| 5,000 |")
    assert "62.0" in text
    assert "61.0" not in text
    assert "| somebody sets UP | lost | 4.50 |" in text
    assert text.count("somebody sets UP") == 1
    assert "slowest of 2 round(s)" in text


def test_the_table_of_budgets_has_every_size_and_its_limits() -> None:
    sweep = {
        f"{name}_{key}": 0.5 for name in ("first", "steady") for key in ("cpu_s", "calls", "decide_cpu_s")
    }
    one = {"cpu_s": 0.25, "calls": 16, "peak_mb": 80}
    found = {n: {"sweep": {**sweep, "peak_mb": n}, "message": one, "usage": one} for n in (10, 100, 500)}

    text = written(found)
    for size in (10, 100, 500):
        assert text.count(f"\n| {size} | 0.") == 2
    assert "| sweep500_mb | 500.00 | 512 |" in text
    assert compared(found)["sweep500_mb"] == (500, 512.0)
