"""`proctor budget check`, and the schemas of budgets: what an editor and the function see alike."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from budget_holds.definition import BudgetDefinition
from budget_holds.policy import BudgetHoldsPolicy
from proctor.domain.errors import InvalidInputError
from proctor.wire.policy import policy_parser
from proctor_cli import schemas
from proctor_cli.budget_check import budget_findings
from tests.unit.cli.desk import Desk

LAB = {"account": "lab1", "allocation": {"limit": 5000, "bill": "bill"}, "owner": "ada"}
GPU = {"aws_budget": "bill", "partitions": ["gpu"], "owner": "ada"}
ACCEPTED = {"level": "partition", "accept_collateral": True}

GOOD: list[dict[str, Any]] = [
    LAB,
    {**GPU, "hold": ACCEPTED},
    {"aws_budget": "bill", "owner": "ada"},
    {"aws_budget": "bill", "account": "lab1", "is_only_account": True, "owner": "ada", "thresholds": [60]},
    {**LAB, "hold": {"refuse": True}, "mode": "dry_run"},
]
BAD: list[tuple[dict[str, Any], str, str]] = [
    ({}, "document", "give exactly one of aws_budget and allocation"),
    ({**LAB, "aws_budget": "bill"}, "document", "give exactly one of aws_budget and allocation"),
    ({"allocation": {"limit": 1}}, "document", "an allocation needs account"),
    ({"aws_budget": "bill", "account": "lab1"}, "document", "only with is_only_account true"),
    (
        {**LAB, "allocation": {"limit": 0}},
        "allocation",
        "allocation.limit: 0 is not usable; give an amount from 0.01",
    ),
    ({**LAB, "allocation": {}}, "allocation.limit", "add this field"),
    ({**LAB, "hold": {"level": "partition"}}, "document", "needs partitions"),
    ({**GPU, "hold": {"level": "account"}}, "document", "for partitions use partition"),
    ({**GPU, "hold": {"level": "partition", "partition_state": "UP"}}, "hold", "can't be UP"),
    ({**LAB, "acount": "lab1"}, "acount", "did you mean account?"),
    ({**LAB, "account": "root"}, "document", "is everybody"),
    ({**LAB, "cancel_after_hours": 3}, "document", "never cancelled"),
    ({**LAB, "thresholds": [100]}, "document", "from 1 to 99"),
]


def _file(tmp_path: Path, definition: object) -> str:
    file = tmp_path / "budget.json"
    file.write_text(json.dumps(definition))
    return str(file)


@pytest.mark.parametrize("definition", GOOD)
def test_a_valid_definition_needs_no_stack(desk: Desk, tmp_path: Path, definition: dict[str, Any]) -> None:
    desk.outputs.clear()
    file = _file(tmp_path, definition)
    printed = desk.run("budget", "check", file)
    assert (printed.exit, printed.out) == (0, f"{file}: valid\n")
    assert _validator("budget.json").is_valid(definition)


@pytest.mark.parametrize(("definition", "field", "fix"), BAD)
def test_a_bad_definition_is_told_with_field_value_and_fix(
    desk: Desk, tmp_path: Path, definition: dict[str, Any], field: str, fix: str
) -> None:
    printed = desk.run("budget", "check", _file(tmp_path, definition), "--json")
    assert printed.exit == 1
    found = printed.json["findings"]
    assert any(f["field"] == field and fix in f["fix"] for f in found), found
    with pytest.raises(InvalidInputError):
        policy_parser(BudgetDefinition)(json.dumps(definition))


def test_a_valid_definition_that_holds_less_than_it_seems_to_is_a_warning(desk: Desk, tmp_path: Path) -> None:
    definition = {"aws_budget": "bill", "partitions": ["gpu"], "hold": {"level": "nodes"}}
    printed = desk.run("budget", "check", _file(tmp_path, definition))
    assert printed.exit == 0
    assert "warning: hold.level: nodes: it holds nothing before accept_collateral is true" in printed.out
    assert "warning: owner: nobody" in printed.out
    without_bill = {"account": "lab1", "allocation": {"limit": 1}, "owner": "ada"}
    assert [f.field for f in budget_findings(json.dumps(without_bill).encode())] == ["allocation.bill"]


def test_text_that_is_no_json_is_told(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "budget.json"
    file.write_text('{"account": "a", "account": "b"}')
    printed = desk.run("budget", "check", str(file))
    assert printed.exit == 1
    assert "'account' stands there twice" in printed.out
    assert desk.run("budget", "check", str(tmp_path / "none.json")).exit != 0


def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads(schemas.schemas()[name]))


def test_what_the_schema_of_a_definition_refuses_the_function_refuses_too() -> None:
    """Rules between fields are the function's; an editor refuses nothing that it takes."""
    validator = _validator("budget.json")
    refused = [definition for definition, *_ in BAD if not validator.is_valid(definition)]
    assert len(refused) >= 6
    assert not validator.is_valid({**GPU, "hold": {"level": "partition", "partition_state": "UP"}})


@pytest.mark.parametrize(
    ("policy", "is_valid"),
    [
        ({}, True),
        (
            {
                "mode": "apply",
                "rates": {"node_hour": {"ml.p5.48xlarge": 98.32}, "partitions": {"gpu": "ml.p5.48xlarge"}},
            },
            True,
        ),
        ({"rates": {"gpu_hour": "2.50"}, "rules": {"hold": "off"}, "thresholds": [10, 20]}, True),
        ({"thresholds": [50, 50]}, False),
        ({"thresholds": [100]}, False),
        ({"cancel_after_hours": 1}, False),
        ({"rules": {"holds": "off"}}, False),
        ({"plausibility": {"ceiling": 1}}, False),
    ],
)
def test_policies_that_the_schema_and_the_parser_see_alike(policy: dict[str, Any], is_valid: bool) -> None:
    try:
        policy_parser(BudgetHoldsPolicy)(json.dumps(policy))
        is_parsed = True
    except InvalidInputError:
        is_parsed = False
    assert (is_parsed, _validator("budget_holds.json").is_valid(policy)) == (is_valid, is_valid)


def test_the_other_functions_policies_are_checked_by_name(desk: Desk, tmp_path: Path) -> None:
    file = _file(tmp_path, {"mode": "apply", "rates": {"partitions": {"gpu": "ml.p5.48xlarge"}}})
    printed = desk.run("policy", "check", file, "--function", "budget_holds")
    assert printed.exit == 1
    assert "which node_hour does not price" in printed.out
    agents = _file(tmp_path, {"silent_after_seconds": 60})
    assert "must be 90 to 3600" in desk.run("policy", "check", agents, "--function", "agent_reports").out
