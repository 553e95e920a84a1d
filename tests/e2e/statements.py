"""Every statement of every role of the template, and the scenario that misses it."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from tests.template.policies import listed
from tests.template.stack import ROOT, build

DOCS = ROOT / "docs" / "local.md"

OVER_THE_CAP = "over_the_cap_the_newest_ends_and_no_other"
ENROLS = "a_node_enrols_and_its_heartbeat_is_stored"
SECOND_KEY = "a_second_key_is_told_and_the_first_stays_in_force"
PUT_IN_FORCE = "a_definition_and_a_policy_of_budget_holds_are_put_in_force"
BY_HAND = "a_budget_is_held_and_released_by_hand"

# Role and statement → the scenario that fails without it.
MAPPING: dict[tuple[str, str], str] = {
    ("SessionLimitsRole", "ApplyTerminateSession"): OVER_THE_CAP,
    ("SessionLimitsRole", "ApplyNotifyPerson"): "the_person_is_mailed_with_rule_count_and_appeal",
    ("SessionLimitsRole", "ApplyNotifyOperators"): "the_operators_are_told",
    ("SessionLimitsRole", "ApplyLabelPolicyVersion"): "a_valid_policy_is_put_in_force",
    ("SessionLimitsRole", "ReadSuppressedDestination"): "the_person_is_mailed_with_rule_count_and_appeal",
    ("SessionLimitsRole", "ReadActiveSessions"): "a_lost_event_is_made_up_for_by_the_sweep",
    ("SessionLimitsRole", "ReadClusters"): OVER_THE_CAP,
    ("SessionLimitsRole", "ReadPolicies"): OVER_THE_CAP,
    ("SessionLimitsRole", "ReadPause"): OVER_THE_CAP,
    ("SessionLimitsRole", "ReadPeople"): OVER_THE_CAP,
    ("SessionLimitsRole", "ReadExemptions"): OVER_THE_CAP,
    ("SessionLimitsRole", "WriteClaims"): OVER_THE_CAP,
    ("SessionLimitsRole", "WriteVerdicts"): OVER_THE_CAP,
    ("SessionLimitsRole", "WriteMemory"): OVER_THE_CAP,
    ("SessionLimitsRole", "PublishEvents"): "what_was_done_is_published_on_the_bus",
    ("SessionLimitsRole", "ParkEvents"): "a_message_that_cannot_be_read_is_parked_redacted",
    ("SessionLimitsRole", "ConsumeQueue"): OVER_THE_CAP,
    ("SessionLimitsRole", "UseKey"): OVER_THE_CAP,
    ("SessionLimitsRole", "WriteLogs"): "the_log_says_what_was_done_without_addresses",
    ("AgentReportsRole", "ApplyApproveAgentKey"): "an_operator_approves_a_key",
    ("AgentReportsRole", "ApplyAlarmOperators"): SECOND_KEY,
    ("AgentReportsRole", "ApplyLabelPolicyVersion"): "a_policy_of_agent_reports_is_put_in_force",
    ("AgentReportsRole", "ReadNodes"): ENROLS,
    ("AgentReportsRole", "ReadPolicies"): ENROLS,
    ("AgentReportsRole", "ReadPause"): SECOND_KEY,
    ("AgentReportsRole", "WriteAgents"): ENROLS,
    ("AgentReportsRole", "WriteObserved"): ENROLS,
    ("AgentReportsRole", "WriteMemory"): SECOND_KEY,
    ("AgentReportsRole", "PublishChanges"): "what_changed_in_slurm_is_told_on_the_bus",
    ("AgentReportsRole", "WriteClaims"): SECOND_KEY,
    ("AgentReportsRole", "WriteVerdicts"): ENROLS,
    ("AgentReportsRole", "PublishEvents"): "what_agent_reports_did_is_published_on_the_bus",
    ("AgentReportsRole", "ParkEvents"): "a_message_that_agent_reports_cannot_read_is_parked",
    ("AgentReportsRole", "ConsumeQueue"): ENROLS,
    ("AgentReportsRole", "UseKey"): ENROLS,
    ("AgentReportsRole", "WriteLogs"): "the_log_of_agent_reports_names_the_agent_and_no_key",
    ("BudgetHoldsRole", "ApplyNotifyPerson"): "owner_and_members_are_mailed_what_is_held",
    ("BudgetHoldsRole", "ApplyNotifyOperators"): "the_operators_hear_of_a_hold",
    ("BudgetHoldsRole", "ApplyLabelPolicyVersion"): PUT_IN_FORCE,
    ("BudgetHoldsRole", "ReadSuppressedDestination"): "owner_and_members_are_mailed_what_is_held",
    ("BudgetHoldsRole", "ReadBudgets"): "an_operator_sees_what_aws_says",
    ("BudgetHoldsRole", "ReadPolicies"): BY_HAND,
    ("BudgetHoldsRole", "ReadBudgetDefinitions"): BY_HAND,
    ("BudgetHoldsRole", "ReadPause"): BY_HAND,
    ("BudgetHoldsRole", "ReadPeople"): "owner_and_members_are_mailed_what_is_held",
    ("BudgetHoldsRole", "ReadExemptions"): BY_HAND,
    ("BudgetHoldsRole", "ReadIntents"): BY_HAND,
    ("BudgetHoldsRole", "ReadObserved"): BY_HAND,
    ("BudgetHoldsRole", "WriteMemory"): BY_HAND,
    ("BudgetHoldsRole", "PublishWakeUps"): "a_hold_wakes_the_agent",
    ("BudgetHoldsRole", "WriteClaims"): BY_HAND,
    ("BudgetHoldsRole", "WriteVerdicts"): BY_HAND,
    ("BudgetHoldsRole", "PublishEvents"): "what_budget_holds_did_is_published_on_the_bus",
    ("BudgetHoldsRole", "ParkEvents"): "a_message_that_budget_holds_cannot_read_is_parked",
    ("BudgetHoldsRole", "ConsumeQueue"): PUT_IN_FORCE,
    ("BudgetHoldsRole", "UseKey"): BY_HAND,
    ("BudgetHoldsRole", "WriteLogs"): "the_log_of_budget_holds_says_what_was_done_without_addresses",
}

# Role and statements that grant the same → the scenario that fails without all of them.
TWINS: dict[tuple[str, tuple[str, ...]], str] = {
    ("BudgetHoldsRole", ("ApplyWriteIntent", "ApplyWithdrawIntent")): BY_HAND,
}

_ROW = re.compile(r"^\| `(?P<role>\w+)` \| `(?P<sid>\w+|\*)` \| (?P<why>.{20,}) \|$", re.MULTILINE)


@cache
def of_the_template() -> dict[tuple[str, str], dict[str, Any]]:
    """Role's logical id and Sid → statement."""
    stack = build()
    return {
        (role, statement["Sid"]): statement
        for role in stack.of_type("AWS::IAM::Role")
        for statement in stack.statements(role)
    }


def covered() -> set[str]:
    """Roles of which every statement must be accounted for."""
    return {role for role, _ in MAPPING}


def actions_of(statement: dict[str, Any]) -> list[str]:
    """The actions of a statement."""
    return [str(action) for action in listed(statement["Action"])]


def listed_in_docs(path: Path = DOCS) -> dict[tuple[str, str], str]:
    """The table of docs/local.md: statements that nothing here can miss, with the reason."""
    return {(m["role"], m["sid"]): m["why"] for m in _ROW.finditer(path.read_text(encoding="utf-8"))}
