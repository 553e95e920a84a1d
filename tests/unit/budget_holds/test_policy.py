"""What policy and definitions accept, and with which words they refuse."""

import json
from decimal import Decimal
from typing import Any

import pytest

from budget_holds.policy import BudgetHoldsPolicy, Rule
from proctor.domain.decision import Mode
from proctor.domain.errors import InvalidInputError
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


def test_a_rule_never_goes_further_than_policy_and_bound() -> None:
    found = PARSE_POLICY('{"mode": "apply", "rules": {"notice": "off"}}')
    assert found.mode_of(Rule.HOLD, Mode.APPLY) is Mode.APPLY
    assert found.mode_of(Rule.HOLD, Mode.DRY_RUN) is Mode.DRY_RUN
    assert found.mode_of(Rule.NOTICE, Mode.APPLY) is Mode.OFF
