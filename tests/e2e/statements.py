"""Every statement of every role of the template, and the scenario that misses it."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from tests.template.policies import listed
from tests.template.stack import ROOT, build

DOCS = ROOT / "docs" / "local.md"

OVER_THE_CAP = "over_the_cap_the_newest_ends_and_no_other"

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
