"""What policy and definitions accept, and with which words they refuse."""

import json
from decimal import Decimal
from typing import Any

import pytest

from budget_holds.policy import BudgetHoldsPolicy, Rule
from proctor.domain.decision import Mode
from proctor.domain.errors import InvalidInputError
from proctor.domain.money import Money
from tests.unit.budget_holds.judging import CLOUD, LAB1, PARSE_BUDGET, PARSE_POLICY


def test_the_empty_policy_is_valid_and_dry() -> None:
    found = PARSE_POLICY("{}")
    assert found == BudgetHoldsPolicy()
    assert (found.mode, found.rates, found.thresholds) == (Mode.DRY_RUN, None, (50, 80, 90))


def test_rates_are_exact_decimals() -> None:
    found = PARSE_POLICY(
        '{"rates": {"node_hour": {"ml.p5.48xlarge": 98.32}, "partitions": {"gpu": "ml.p5.48xlarge"}}}'
    )
    assert found.rates is not None
    assert found.rates.node_hour["ml.p5.48xlarge"] == Decimal("98.32")


@pytest.mark.parametrize(
    ("policy", "word"),
    [
        ({"cancel_after_hours": 4}, "cancel_after_hours is not supported"),
        ({"thresholds": [50, 100]}, "thresholds"),
        ({"thresholds": [50, 50]}, "thresholds"),
        ({"release_below_percent": 100}, "flap"),
        ({"release_below_percent": 0}, "release_below_percent"),
        ({"billing_lag_hours": -1}, "billing_lag_hours"),
        ({"plausibility": {"shrink_percent": 0}}, "shrink_percent"),
        ({"plausibility": {"ceiling_per_hour": 0}}, "ceiling_per_hour"),
        ({"rates": {"partitions": {"gpu": "p5"}}}, "gpu names p5"),
        ({"rates": {"currency": "usd"}}, "currency"),
        ({"hold_at": 100}, "hold_at"),
        ({"hold_at_percent": 100000}, "hold_at_percent: 100000 is not usable; give .* to 1000"),
        ({"billing_lag_hours": 999999}, "billing_lag_hours: 999999 is not usable; give .* to 168"),
        ({"most_members_told": 10**9}, "most_members_told: 1000000000 is not usable"),
        ({"plausibility": {"shrink_percent": 10**9}}, "shrink_percent: 1000000000"),
        ({"plausibility": {"stale_after_hours": 10**6}}, "stale_after_hours: 1000000 .* to 8784"),
        ({"plausibility": {"ceiling_margin_percent": 10**6}}, "ceiling_margin_percent: 1000000"),
        ({"plausibility": {"ceiling_per_hour": 1e13}}, "ceiling_per_hour: .* to 1,000,000,000,000"),
        ({"plausibility": {"ceiling_slack": "1e30"}}, "ceiling_slack: .* to 1,000,000,000,000"),
        ({"plausibility": {"ceiling_slack": -1}}, "ceiling_slack: -1"),
        ({"plausibility": {"factor_floor": "1e-40"}}, "factor_floor: 1E-40"),
        ({"rates": {"gpu_hour": 1e30}}, "gpu_hour: .* to 1,000,000,000,000"),
        ({"rates": {"node_hour": {"p5": 1e30}}}, "p5: .* to 1,000,000,000,000"),
        ({"rates": {"node_hour": {"p5": "1e-30"}}}, "p5: .* from 0.0001"),
        (
            {"guardrails": {"protected_accounts": ["rooot *"]}},
            r"protected_accounts: 'rooot \*' is not usable",
        ),
        ({"guardrails": {"protected_accounts": ["root,lab1"]}}, "protected_accounts: 'root,lab1'"),
    ],
)
def test_refused_policies_name_the_field(policy: dict[str, Any], word: str) -> None:
    with pytest.raises(InvalidInputError, match=word):
        PARSE_POLICY(json.dumps(policy))


@pytest.mark.parametrize(
    ("definition", "word"),
    [
        ({}, "exactly one"),
        ({**LAB1, "aws_budget": "x"}, "exactly one"),
        ({"allocation": {"limit": 5}}, "needs account"),
        ({**CLOUD, "account": "lab1"}, "is_only_account"),
        ({**LAB1, "account": "root"}, "everybody"),
        ({**LAB1, "account": "Lab 1"}, "account"),
        ({**LAB1, "cancel_after_hours": 1}, "cancel_after_hours is not supported"),
        ({**LAB1, "allocation": {"limit": 0}}, "limit"),
        ({**LAB1, "allocation": {"limit": "NaN"}}, "limit"),
        ({**LAB1, "allocation": {"limit": 1e30}}, "limit: .* to 1,000,000,000,000"),
        ({**LAB1, "allocation": {"limit": "1e-30"}}, "limit: .* from 0.01"),
        ({**LAB1, "allocation": {"limit": 5, "credits": 1e30}}, "credits: .* to 1,000,000,000,000"),
        ({**LAB1, "allocation": {"limit": 5, "credits": -1}}, "credits: -1"),
        ({**LAB1, "allocation": {"limit": 5, "starts_at": "9999-12-01T00:00:00Z"}}, "starts_at: 9999.* 2099"),
        ({**LAB1, "allocation": {"limit": 5, "ends_at": "0001-01-01T00:00:00Z"}}, "ends_at: 0001.* 2000"),
        ({**LAB1, "allocation": {"limit": 5, "time_unit": "CUSTOM"}}, "starts_at"),
        ({**LAB1, "allocation": {"limit": 5, "starts_at": "2026-01-01T00:00:00"}}, "time zone"),
        ({**LAB1, "allocation": {"limit": 5, "time_unit": "WEEKLY"}}, "time_unit"),
        ({**LAB1, "hold": {"level": "partition"}}, "needs partitions"),
        ({**LAB1, "partitions": ["gpu"]}, "every partition"),
        ({**CLOUD, "partitions": ["a,b"], "hold": {"level": "nodes"}}, "partitions"),
        ({**CLOUD, "hold": {"level": "partition_qos", "is_durable": True}}, "needs partitions"),
        ({**CLOUD, "partitions": ["gpu"], "hold": {"level": "partition_qos"}}, "is_durable"),
        ({**CLOUD, "partitions": ["gpu"], "hold": {"level": "partition", "refuse": True}}, "refuse"),
        ({**CLOUD, "partitions": ["gpu"], "hold": {"level": "partition", "partition_state": "UP"}}, "UP"),
        ({**CLOUD, "aws_account_id": "12"}, "12 digits"),
        ({**LAB1, "acount": "lab1"}, "acount"),
    ],
)
def test_refused_definitions_name_the_field(definition: dict[str, Any], word: str) -> None:
    with pytest.raises(InvalidInputError, match=word):
        PARSE_BUDGET(json.dumps(definition))


def test_the_largest_amounts_can_be_shown_and_divided() -> None:
    """What is shown has two places behind the point; the share is rounded to two as well."""
    budget = PARSE_BUDGET(json.dumps({**LAB1, "allocation": {"limit": 10**12, "credits": 10**12}}))
    rules = PARSE_POLICY(json.dumps({"rates": {"gpu_hour": 10**12}}))
    least = PARSE_BUDGET(json.dumps({**LAB1, "allocation": {"limit": 0.01}}))
    assert budget.allocation is not None
    assert least.allocation is not None
    assert rules.rates is not None
    spent = Money(rules.rates.price("gpu", 0, 10**4 * 3600) or Decimal(0))
    assert str(Money(budget.allocation.limit)) == "1,000,000,000,000.00 USD"
    assert str(spent) == "10,000,000,000,000,000.00 USD"
    assert round(spent.percent_of(Money(least.allocation.limit)), 2) == Decimal(10) ** 20


def test_a_rule_never_goes_further_than_policy_and_bound() -> None:
    found = PARSE_POLICY('{"mode": "apply", "rules": {"notice": "off"}}')
    assert found.mode_of(Rule.HOLD, Mode.APPLY) is Mode.APPLY
    assert found.mode_of(Rule.HOLD, Mode.DRY_RUN) is Mode.DRY_RUN
    assert found.mode_of(Rule.NOTICE, Mode.APPLY) is Mode.OFF
