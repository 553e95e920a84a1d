"""500 budgets are decided in linear time: counted in function calls, which no other load on the machine changes."""

import sys
from datetime import timedelta
from types import FrameType

from tests.fakes.budget_values import START, association, job, slurm, usage
from tests.unit.budget_holds.judging import decided, situation, view


def calls(budgets: int) -> int:
    names = [f"dep{n}" for n in range(budgets)]
    rows = [association("root", parent="")]
    for name in names:
        rows += [association(name), *(association(name, f"{name}-p{n}") for n in range(5))]
    used = tuple(usage(name, 0.01, START + timedelta(hours=h)) for name in names for h in range(20))
    jobs = tuple(job(str(n), account=name, login_name=f"{name}-p0") for n, name in enumerate(names * 4))
    seen = slurm(associations=tuple(rows), usage=used, jobs=jobs)
    situations = [
        situation({"account": name, "allocation": {"limit": 10 if n % 2 else 10000}}, name=name)
        for n, name in enumerate(names)
    ]
    cluster = view(*situations, seen=seen)
    count = 0

    def counted(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        found = decided(cluster)
    finally:
        sys.setprofile(before)
    assert sum(1 for v in found.verdicts if v.reason == "hold_written") == budgets // 2
    return count


def test_500_budgets_cost_ten_times_what_50_do() -> None:
    small, large = calls(50), calls(500)
    assert 5 * small < large < 12 * small
