"""What a person reads who wrote a policy that can't be used: the field, the value, the fix."""

import json
import re
from typing import Any

import pytest
from hypothesis import given

from proctor.domain.decision import Mode
from proctor.domain.errors import InvalidInputError
from proctor.wire.policy import json_schema, policy_parser
from session_limits.policy import Rule, SessionLimitsPolicy
from tests.strategies import json_values, policy_fields

parse = policy_parser(SessionLimitsPolicy)


def refusal(policy: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        parse(policy if isinstance(policy, str) else json.dumps(policy))
    return str(caught.value)


def test_an_empty_object_is_a_valid_policy_and_in_dry_run() -> None:
    policy = parse("{}")

    assert policy == SessionLimitsPolicy()
    assert policy.mode is Mode.DRY_RUN
    assert policy.cap.max_sessions == 3


@pytest.mark.parametrize(
    ("policy", "parts"),
    [
        pytest.param("{", ["document", "Invalid JSON"], id="no JSON"),
        pytest.param([], ["document", "[]"], id="no object"),
        pytest.param({"max_sessions": 3}, ["max_sessions", "3", "Unexpected keyword"], id="an unknown key"),
        pytest.param(
            {"cap": {"max_session": 3}}, ["cap.max_session", "Unexpected"], id="an unknown key further in"
        ),
        pytest.param(
            {"mode": "on"}, ["mode", "'on'", "'off', 'dry_run' or 'apply'"], id="a mode that isn't one"
        ),
        pytest.param(
            {"cap": {"max_sessions": 0}}, ["cap", "max_sessions must be 1 or more"], id="a cap of nothing"
        ),
        pytest.param(
            {"cap": {"all_clusters": 0}}, ["cap", "all_clusters must be 1 or more"], id="no session anywhere"
        ),
        pytest.param(
            {"group_caps": [{"group": "staff", "max_sessions": 0}]},
            ["group_caps.0", "max_sessions must be 1 or more"],
            id="a group's cap of nothing",
        ),
        pytest.param(
            {"group_caps": [{"max_sessions": 1}]},
            ["group_caps.0.group", "required"],
            id="a cap for no group",
        ),
        pytest.param(
            {"weights": {"shell": -1}}, ["weights.shell must be 0 or more"], id="a session that gives room"
        ),
        pytest.param({"weights": {"telnet": 1}}, ["weights.telnet"], id="a document kind that isn't one"),
        pytest.param({"rules": {"idle": "off"}}, ["rules.idle"], id="a rule that isn't one"),
        pytest.param({"unmapped_response": "kill"}, ["'report' or 'end'"], id="a response that isn't one"),
        pytest.param({"victim_order": "random"}, ["'newest' or 'oldest'"], id="an order that isn't one"),
        pytest.param({"reconnects": {"propose_after": 0}}, ["propose_after must be 1"], id="no bursts"),
        pytest.param({"incident_minutes": 0}, ["incident_minutes must be 1"], id="an incident of no length"),
        pytest.param({"event_grace_minutes": 3}, ["event_grace_minutes must be 4"], id="no grace"),
        pytest.param(
            {"guardrails": {"max_share_percent": 0}}, ["max_share_percent must be 1 to 100"], id="no share"
        ),
        pytest.param(
            {"guardrails": {"max_share_percent": 101}}, ["max_share_percent must be 1 to 100"], id="over all"
        ),
        pytest.param(
            {"guardrails": {"session_ends": {"per_run": 0}}}, ["per_run must be 1 or more"], id="no budget"
        ),
        pytest.param({"cap": {"max_sessions": "many"}}, ["cap.max_sessions", "'many'"], id="no number"),
        pytest.param({"mode": "on", "victim_order": "x"}, ["mode", "(and 1 more)"], id="two faults"),
    ],
)
def test_a_policy_that_cannot_be_used_is_refused_by_field_value_and_fix(
    policy: Any, parts: list[str]
) -> None:
    message = refusal(policy)

    for part in parts:
        assert part in message, message
    assert "\n" not in message


def test_a_rule_can_be_narrowed_but_not_widened_and_the_bound_narrows_both() -> None:
    policy = parse(json.dumps({"mode": "dry_run", "rules": {"cap": "apply", "document": "off"}}))
    applying = parse(json.dumps({"mode": "apply", "rules": {"document": "dry_run"}}))

    assert policy.mode_of(Rule.CAP, Mode.APPLY) is Mode.DRY_RUN
    assert policy.mode_of(Rule.DOCUMENT, Mode.APPLY) is Mode.OFF
    assert applying.mode_of(Rule.CAP, Mode.APPLY) is Mode.APPLY
    assert applying.mode_of(Rule.CAP, Mode.DRY_RUN) is Mode.DRY_RUN
    assert applying.mode_of(Rule.DOCUMENT, Mode.APPLY) is Mode.DRY_RUN


def test_the_guardrails_follow_the_policy() -> None:
    rails = parse(
        json.dumps(
            {
                "protected_people": ["ada"],
                "guardrails": {"session_ends": {"per_run": 5}, "max_share_percent": 20},
            }
        )
    ).rails()

    assert rails.protected_subjects == {"person#ada"}
    assert rails.budgets["session_ends"].per_run == 5
    assert rails.budgets["notices"].per_run == 200
    assert rails.max_share_percent == 20
    assert rails.share_rules == {"disabled", "unmapped", "node_group"}


def test_the_schema_refuses_unknown_keys_as_the_parser_does() -> None:
    schema = json_schema(SessionLimitsPolicy)

    assert schema["additionalProperties"] is False
    assert all(
        part["additionalProperties"] is False for part in schema["$defs"].values() if "properties" in part
    )


@given(policy_fields)
def test_every_policy_of_valid_fields_is_accepted(fields: dict[str, Any]) -> None:
    assert parse(json.dumps(fields)).cap.max_sessions == fields["cap"]["max_sessions"]


@given(json_values)
def test_any_json_is_a_policy_or_is_refused_with_a_message(value: Any) -> None:
    try:
        parse(json.dumps(value))
    except InvalidInputError as error:
        assert error.fix  # noqa: PT017 - either way is right, but never another error


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"reconnects": {"window_minutes": 2_000_000_000}}, "window_minutes must be 525600 or less"),
        ({"incident_minutes": 99_999_999_999}, "incident_minutes must be 525600 or less"),
        ({"cap": {"max_sessions": 10**17}}, "max_sessions must be 10000 or less"),
        ({"guardrails": {"session_ends": {"per_run": 10**8}}}, "per_run must be 525600 or less"),
        ({"trusted_roles": ["*"]}, "role pattern '*' is too wide"),
        ({"break_glass_roles": ["?*a"]}, "is too wide"),
    ],
)
def test_numbers_and_patterns_that_no_cluster_could_mean_are_refused(
    policy: dict[str, object], said: str
) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(said)):
        policy_parser(SessionLimitsPolicy)(json.dumps(policy))
