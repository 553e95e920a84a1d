"""`proctor approve`: a person's word on numbers in doubt, and on whose key is whose."""

from dataclasses import replace
from datetime import timedelta

import pytest

from proctor.adapters.budget_memory_table import DynamoBudgetMemory
from proctor.domain.budgets_memory import BudgetMemory, Doubt
from proctor_cli.exits import Exit
from tests.fakes.budget_values import usd
from tests.unit.cli.desk import CLUSTER, NOW, Desk
from tests.unit.cli.holds_desk import HoldsDesk

WHY = ("--justification", "ticket 4712")


def _memory(slurm: HoldsDesk, budget: str = "lab1") -> BudgetMemory:
    return DynamoBudgetMemory(slurm.desk.clients, "memory").get(f"{CLUSTER}#{budget}")


def _doubt(slurm: HoldsDesk) -> None:
    """A figure that fell to a quarter."""
    slurm.allocate("lab1", 5000, "lab1")
    slurm.spend("lab1", 10)
    slurm.sweep()
    old = _memory(slurm)
    grown = replace(old, trusted=usd(4000), trusted_at=NOW - timedelta(hours=2))
    DynamoBudgetMemory(slurm.desk.clients, "memory").swap(f"{CLUSTER}#lab1", grown, old.rev)
    slurm.sweep()
    assert _memory(slurm).doubt is Doubt.SHRINK


def test_an_approval_ends_a_doubt(slurm: HoldsDesk) -> None:
    _doubt(slurm)
    rehearsed = slurm.desk.run("approve", "lab1", *WHY)
    assert rehearsed.exit == 0
    assert _memory(slurm).doubt is Doubt.SHRINK
    printed = slurm.desk.run("approve", "lab1", "--apply", *WHY)
    assert printed.exit == 0
    assert "The numbers were approved by arn:aws:sts" in " ".join(printed.out.split())
    assert "NEEDS_HUMAN → OK" in printed.out
    assert _memory(slurm).doubt is None


def test_a_doubt_that_can_not_be_approved_away_is_a_failure(slurm: HoldsDesk) -> None:
    slurm.define("lab1", {"account": "lab1", "allocation": {"limit": 5000, "currency": "EUR"}})
    printed = slurm.desk.run("approve", "lab1", "--apply", *WHY)
    assert printed.exit == Exit.FAILED
    assert "The doubt currency can't be approved away" in " ".join(printed.out.split())


@pytest.mark.parametrize(
    ("outcome", "reason", "exit_code"),
    [
        ("applied", "approved", Exit.OK),
        ("none", "approved_already", Exit.OK),
        ("none", "unknown", Exit.NOT_FOUND),
        ("none", "unknown_fingerprint", Exit.NOT_FOUND),
        ("failed", "approved", Exit.FAILED),
    ],
)
def test_an_agents_key_is_approved_by_its_fingerprint(
    desk: Desk, outcome: str, reason: str, exit_code: Exit
) -> None:
    said = {"subject": "agent#gpu#i-0123456789abcdef0", "outcome": outcome, "reason": reason, "text": reason}
    desk.clients.fake_functions.answer = lambda _: {"outcomes": [said]}
    argv = (
        "--agent",
        "i-0123456789abcdef0",
        "--fingerprint",
        "71cf9b88fd8764e9",
        "--cluster",
        "gpu",
        "--apply",
    )
    printed = desk.run("approve", *argv, *WHY)
    assert printed.exit == exit_code
    assert desk.clients.fake_functions.names == ["proctor-AgentReports"]
    (request,) = desk.clients.fake_functions.requests
    assert request["actions"] == [
        {
            "action": "ApproveAgentKey",
            "agent": "gpu#i-0123456789abcdef0",
            "fingerprint": "71cf9b88fd8764e9",
        }
    ]
