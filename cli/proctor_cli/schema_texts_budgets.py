"""Descriptions and bounds of what is written about budgets and agents: policies and definitions. A test compares both ways."""

from collections.abc import Mapping
from typing import Any

_ONE = {"minimum": 1}
_ZERO = {"minimum": 0}
_ABOVE_ZERO = {"exclusiveMinimum": 0}
_THRESHOLD = {"type": "integer", "minimum": 1, "maximum": 99}
_THRESHOLDS = {"type": "array", "items": _THRESHOLD, "uniqueItems": True}
_UNSUPPORTED = {"type": "null"}

_POLICY: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "BudgetHoldsPolicy.mode": (
        "How far the function may go in this cluster. The stack's ApplyActions bounds it. Release first, then switch off.",
        {},
    ),
    "BudgetHoldsPolicy.rules": (
        'Modes of single rules, e.g. {"hold": "dry_run"}: hold, notice, alarm. A rule never goes further than `mode`.',
        {},
    ),
    "BudgetHoldsPolicy.rates": (
        "List prices, to turn Slurm's usage into money. Without them budgets only warn.",
        {},
    ),
    "BudgetHoldsPolicy.thresholds": (
        "Percentages of the limit at which owners are told, once a period each; a budget may have its own.",
        _THRESHOLDS,
    ),
    "BudgetHoldsPolicy.hold_at_percent": (
        "At so many percent of settled + in flight new work is held. Percent of the limit.",
        {"minimum": 2},
    ),
    "BudgetHoldsPolicy.release_below_percent": (
        "Under so many percent a hold lets go; below hold_at_percent, or holds would flap. Percent of the limit.",
        _ONE,
    ),
    "BudgetHoldsPolicy.billing_lag_hours": (
        "How far AWS's numbers are taken to be behind their own date; Slurm's usage since then is in flight. Hours.",
        _ZERO,
    ),
    "BudgetHoldsPolicy.idle_is_shared": (
        "true spreads idle nodes over the departments by bill ÷ metered; false shows them and charges nobody.",
        {},
    ),
    "BudgetHoldsPolicy.cancel_after_hours": (
        "Not supported: running jobs are never cancelled. Leave it out.",
        _UNSUPPORTED,
    ),
    "BudgetHoldsPolicy.plausibility": ("Bounds beyond which a figure is asked about and not acted on.", {}),
    "BudgetHoldsPolicy.guardrails": ("What one run and one window of time may do at most.", {}),
    "BudgetHoldsPolicy.most_members_told": (
        "How many people are told of one hold at most.",
        _ZERO,
    ),
    "BudgetHoldsPolicy.appeal": ("Last sentence of every notice to a person: whom to ask.", {}),
    "Plausibility.ceiling_per_hour": (
        "The most that an hour of the whole cluster can cost; null takes the dearest node-hour by the nodes seen.",
        {"exclusiveMinimum": 0},
    ),
    "Plausibility.ceiling_margin_percent": (
        "How much above the ceiling is still believed, 100 being the ceiling itself. Percent.",
        _ONE,
    ),
    "Plausibility.ceiling_slack": (
        "Added to the ceiling for what costs without nodes. An amount in the rates' currency.",
        _ZERO,
    ),
    "Plausibility.shrink_percent": (
        "A fall of the spend by more than this within one period needs a person. Percent.",
        _ONE,
    ),
    "Plausibility.stale_after_hours": (
        "AWS's numbers that are older need a person. Hours.",
        _ONE,
    ),
    "Plausibility.factor_floor": (
        "The least bill ÷ metered that is believed, above 0 and at most 1.",
        {"exclusiveMinimum": 0, "maximum": 1},
    ),
    "Rates.currency": ("Currency of all rates, three capital letters as in AWS Budgets.", {}),
    "Rates.node_hour": ("Instance type → price of a node-hour.", {}),
    "Rates.gpu_hour": (
        "Price of a GPU-hour in partitions without an instance type here; null means no such price.",
        _ABOVE_ZERO,
    ),
    "Rates.partitions": ("Partition → instance type, which node_hour must price.", {}),
    "GuardrailSettings.holds": ("How many subjects may be held.", {}),
    "GuardrailSettings.releases": ("How many subjects may be let go.", {}),
    "GuardrailSettings.protected_accounts": (
        "Slurm accounts that are never held, whatever a budget says; nothing lifts this.",
        {},
    ),
}

_DEFINITION: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "BudgetDefinition.aws_budget": (
        "Name of an AWS budget over the cluster's ClusterName tag. Give exactly one of aws_budget and allocation.",
        {},
    ),
    "BudgetDefinition.aws_account_id": (
        "12 digits: the AWS budget's account when it is another one. This release reads the stack's own only.",
        {},
    ),
    "BudgetDefinition.allocation": (
        "A limit on an account's Slurm usage by rates, which AWS can't know. It needs `account`.",
        {},
    ),
    "BudgetDefinition.account": (
        "Slurm account that is governed with its children; leave out account and partitions for the whole cluster.",
        {},
    ),
    "BudgetDefinition.is_only_account": (
        "true says that the AWS budget's filter covers only what this account's department uses.",
        {},
    ),
    "BudgetDefinition.partitions": (
        "Partitions that are governed, with hold.level partition, partition_qos or nodes.",
        {},
    ),
    "BudgetDefinition.hold": ("Where and how work is held.", {}),
    "BudgetDefinition.owner": (
        "Login name of who is told at each threshold, hold and release; null tells the operators only.",
        {},
    ),
    "BudgetDefinition.thresholds": (
        "Percentages instead of the policy's; null takes those.",
        {"anyOf": [_THRESHOLDS, {"type": "null"}]},
    ),
    "BudgetDefinition.mode": ("How far this budget may go, within the policy's mode.", {}),
    "BudgetDefinition.cancel_after_hours": (
        "Not supported: running jobs are never cancelled. Leave it out.",
        _UNSUPPORTED,
    ),
    "Allocation.limit": ("The period's limit, above 0.", _ABOVE_ZERO),
    "Allocation.currency": ("Its currency, the same as the rates'.", {}),
    "Allocation.time_unit": ("Length of the period. CUSTOM needs starts_at and ends_at.", {}),
    "Allocation.starts_at": (
        "First moment, with its zone; periods are counted from it. null means calendar periods in UTC.",
        {},
    ),
    "Allocation.ends_at": ("Moment after the last, with its zone; null means no end.", {}),
    "Allocation.bill": (
        "AWS budget over the whole cluster, of the same period, by which settled usage is scaled; null scales by 1.",
        {},
    ),
    "Allocation.credits": ("Shown beside the spend, never taken off.", {}),
    "Hold.level": (
        "account holds the account everywhere; partition, partition_qos and nodes also stop accounts within budget.",
        {},
    ),
    "Hold.refuse": ("true also refuses submissions; level account only.", {}),
    "Hold.partition_state": (
        "State of a held partition: DOWN queues jobs, DRAIN refuses new ones, INACTIVE does both. Never UP.",
        {"enum": ["DOWN", "DRAIN", "INACTIVE"], "$ref": None},
    ),
    "Hold.accept_collateral": (
        "true accepts that accounts within their budgets are stopped too; without it such a level holds nothing.",
        {},
    ),
    "Hold.is_durable": (
        "true says that QOS= stands on the partition's line in slurm.conf; level partition_qos needs it.",
        {},
    ),
}

_AGENTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "AgentReportsPolicy.enrol_within_minutes": (
        "A node launched longer ago enrols late. Minutes.",
        {"minimum": 1, "maximum": 10_080},
    ),
    "AgentReportsPolicy.late_enrolment": (
        "What happens to the first enrolment of a node that was launched longer ago: accept and tell, or ask.",
        {},
    ),
    "AgentReportsPolicy.may_enrol_again_after_update": (
        "true takes a new key soon after a software update, which replaces a node's disk.",
        {},
    ),
    "AgentReportsPolicy.controller_groups": (
        "Instance groups whose nodes may enrol as the controller; empty means any.",
        {},
    ),
    "AgentReportsPolicy.silent_after_seconds": (
        "An agent that says nothing for so long is silent. Seconds.",
        {"minimum": 90, "maximum": 3600},
    ),
    "AgentReportsPolicy.guardrails": ("How many messages to operators are plausible.", {}),
}

TEXTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {**_POLICY, **_DEFINITION, **_AGENTS}
"""`<type>.<field>` → description, and keywords that the generated schema lacks or must not have (None)."""
