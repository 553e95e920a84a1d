"""A cluster whose budgets are not judged: whether a policy is missing, refused, or only not validated yet."""

import pytest

from proctor_cli.exits import Exit
from tests.unit.cli.desk import OTHER
from tests.unit.cli.holds_desk import HoldsDesk

NAME = f"/proctor/{OTHER}/budget_holds"
ASKED = [("budgets",), ("budgets", "show", "lab9"), ("why", "account", "lab9"), ("why", "partition", "gpu")]


def written(slurm: HoldsDesk, text: str) -> None:
    """Somebody writes a version; the function has not looked yet."""
    slurm.desk.clients.ssm().put_parameter(Name=NAME, Value=text, Type="String", Overwrite=True)


@pytest.mark.parametrize("argv", ASKED)
def test_a_version_that_awaits_validation_is_no_missing_policy(
    slurm: HoldsDesk, argv: tuple[str, ...]
) -> None:
    written(slurm, "{}")
    printed = slurm.desk.run(*argv, "--cluster", OTHER)
    assert (printed.exit, printed.out) == (Exit.TRY_LATER, "")
    assert f"version 1 of {NAME} awaits validation by the next sweep" in printed.err
    assert "has no policy" not in printed.err


@pytest.mark.parametrize("argv", ASKED)
def test_a_refused_version_is_told_with_its_field(slurm: HoldsDesk, argv: tuple[str, ...]) -> None:
    written(slurm, '{"hold_at": 100}')
    printed = slurm.desk.run(*argv, "--cluster", OTHER)
    assert printed.exit == Exit.NOT_FOUND
    assert f"version 1 of {NAME} is refused" in printed.err
    assert "hold_at" in printed.err


@pytest.mark.parametrize("argv", ASKED)
def test_without_any_version_it_says_what_to_write(slurm: HoldsDesk, argv: tuple[str, ...]) -> None:
    printed = slurm.desk.run(*argv, "--cluster", OTHER)
    assert printed.exit == Exit.NOT_FOUND
    assert (
        f"cpu has no policy of budget_holds in force, so no budget is judged there; write {NAME}"
        in printed.err
    )


def test_of_several_clusters_each_has_its_reason(slurm: HoldsDesk) -> None:
    slurm.desk.clients.ssm().delete_parameter(Name="/proctor/gpu/budget_holds")
    written(slurm, "{}")
    printed = slurm.desk.run("budgets")
    assert printed.exit == Exit.TRY_LATER
    assert "gpu has no policy of budget_holds" in printed.err
    assert f"version 1 of {NAME} awaits validation" in printed.err


def test_status_says_it_once(slurm: HoldsDesk) -> None:
    written(slurm, "{}")
    attention = slurm.desk.run("status", "--json").json["attention"]
    (line,) = [text for text in attention if text.startswith(f"{OTHER}, budget_holds")]
    assert "policy version 1 is not in force yet" in line
    assert "awaits validation by the next sweep" in line
