"""The money of the scenarios: the policy of budget_holds, its standing budget `lab`, AWS budgets."""

from collections.abc import Mapping
from typing import Any

from proctor_local.control import LocalAwsClient
from proctor_local.deployed_function import DeployedFunction
from tests.e2e.agents import DEPARTMENT
from tests.e2e.directory import ALPHA

POLICY: Mapping[str, Any] = {
    "mode": "apply",
    "rates": {"node_hour": {"ml.m5.xlarge": "98.32"}, "partitions": {"dev": "ml.m5.xlarge"}},
    "plausibility": {"ceiling_slack": 20000},
    "appeal": "Write to hpc-help.",
}

LAB: Mapping[str, Any] = {
    "aws_budget": "lab",
    "account": DEPARTMENT,
    "is_only_account": True,
    "owner": "owner000",
}


def begin(holds: DeployedFunction) -> None:
    """The policy and one budget in force, and the AWS budget behind it."""
    stack = holds.stack
    make_aws_budget(stack.local, stack.outputs["BudgetsTopicArn"], LAB["aws_budget"])
    holds.put_in_force(policy_name(), POLICY)
    define(holds, "lab", LAB)


def policy_name(budget: str = "") -> str:
    """Parameter of the policy, or of a budget's definition."""
    return f"/proctor/{ALPHA}/budget_holds" + (f"/{budget}" if budget else "")


def define(holds: DeployedFunction, budget: str, definition: Mapping[str, Any]) -> None:
    """Define a budget. Copies keep definitions for a minute; fresh ones read the new one at once."""
    holds.put_in_force(policy_name(budget), definition)
    holds.recycle()


def make_aws_budget(local: LocalAwsClient, topic_arn: str, name: str) -> None:
    """$1,000 a month, with a message when they are spent."""
    notification = {
        "NotificationType": "ACTUAL",
        "ComparisonOperator": "GREATER_THAN",
        "Threshold": 99,
        "ThresholdType": "PERCENTAGE",
    }
    local.aws().call(
        "budgets",
        "CreateBudget",
        AccountId=local.account,
        Budget={
            "BudgetName": name,
            "BudgetLimit": {"Amount": "1000", "Unit": "USD"},
            "TimeUnit": "MONTHLY",
            "BudgetType": "COST",
            "CostTypes": {"IncludeCredit": False, "IncludeRefund": False},
        },
        NotificationsWithSubscribers=[
            {
                "Notification": notification,
                "Subscribers": [{"SubscriptionType": "SNS", "Address": topic_arn}],
            }
        ],
    )
