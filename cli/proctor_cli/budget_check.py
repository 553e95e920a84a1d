"""`proctor budget check`: validates a budget's definition offline, with the very parser that the function uses."""

import argparse
import json

from pydantic import TypeAdapter

from budget_holds.definition import BudgetDefinition, HoldLevel
from proctor_cli.exits import Exit
from proctor_cli.findings import Finding
from proctor_cli.people_commands import read_file
from proctor_cli.policy_check import findings
from proctor_cli.world import World


def run(args: argparse.Namespace, world: World) -> Exit:
    """Print every finding; the exit code is 1 when one is an error."""
    found = budget_findings(read_file(args.file))
    errors = [f for f in found if f.is_error]
    verdict = "valid" if not errors else f"{len(errors)} finding(s); the function would refuse it"
    data = {"file": args.file, "findings": [f.as_record() for f in found]}
    world.console.answer(data, "\n".join([f"{args.file}: {verdict}", *map(str, found)]))
    return Exit.FAILED if errors else Exit.OK


def budget_findings(content: bytes) -> list[Finding]:
    """Errors, else warnings about a valid definition that holds less than it seems to."""
    if found := findings(content, BudgetDefinition):
        return found
    budget = TypeAdapter(BudgetDefinition).validate_python(json.loads(content))
    warnings = []
    stops_others = budget.hold.level is not HoldLevel.ACCOUNT and not budget.is_whole_cluster
    if stops_others and not budget.hold.accept_collateral:
        fix = "it holds nothing before accept_collateral is true, since it also stops accounts within their budgets"
        warnings.append(_warning("hold.level", budget.hold.level.value, fix))
    if budget.owner is None:
        warnings.append(_warning("owner", "nobody", "name a login name, or only the operators are told"))
    if budget.allocation is not None and budget.allocation.bill is None:
        fix = "usage is charged at list rates; name the AWS budget over the cluster to scale by the bill"
        warnings.append(_warning("allocation.bill", "none", fix))
    return warnings


def _warning(field: str, value: str, fix: str) -> Finding:
    return Finding(line=0, field=field, value=value, fix=fix, is_error=False)
