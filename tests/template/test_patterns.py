"""The matcher and the transformer themselves, on cases from EventBridge's documentation."""

from typing import Any

import pytest

from tests.template.patterns import matches, render

EVENT = {
    "source": "aws.ssm",
    "detail": {"state": "running", "n": 1, "none": None, "deep": {"x": "y"}, "list": ["a", "b"]},
}


@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        ({"state": ["stopped", "running"]}, True),
        ({"state": ["stopped"]}, False),
        ({"state": [{"prefix": "run"}]}, True),
        ({"state": [{"prefix": "ru n"}]}, False),
        ({"state": [{"suffix": "ing"}]}, True),
        ({"state": [{"suffix": "run"}]}, False),
        ({"state": [{"wildcard": "r*n*g"}]}, True),
        ({"state": [{"wildcard": "r*x"}]}, False),
        ({"state": [{"anything-but": "running"}]}, False),
        ({"state": [{"anything-but": ["stopped", "gone"]}]}, True),
        ({"state": [{"anything-but": {"prefix": "run"}}]}, False),
        ({"state": [{"exists": True}]}, True),
        ({"state": [{"exists": False}]}, False),
        ({"missing": [{"exists": True}]}, False),
        ({"missing": [{"exists": False}]}, True),
        ({"missing": [{"anything-but": "x"}]}, False),
        ({"none": [{"exists": True}]}, True),
        ({"none": {"x": [{"exists": True}]}}, False),
        ({"deep": [{"exists": True}]}, False),
        ({"deep": {"x": [{"exists": True}]}}, True),
        ({"list": ["b"]}, True),
        ({"list": ["c"]}, False),
        ({"n": [1]}, True),
        ({"n": [True]}, False),
        ({"n": [{"prefix": "1"}]}, False),
        ({"state": ["running"], "n": [2]}, False),
        ({"$or": [{"n": [2]}, {"state": ["running"]}]}, True),
        ({"$or": [{"n": [2]}, {"state": ["stopped"]}]}, False),
    ],
)
def test_a_pattern_matches_as_eventbridge_does(detail: dict[str, Any], expected: bool) -> None:
    assert matches({"source": ["aws.ssm"], "detail": detail}, EVENT) is expected


def test_an_operator_that_is_not_known_here_is_no_match_by_chance() -> None:
    with pytest.raises(NotImplementedError, match="cidr"):
        matches({"source": [{"cidr": "10.0.0.0/24"}]}, EVENT)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ('{"s": "<state>"}', '{"s": "running"}'),
        ('{"s": "<missing>"}', '{"s": ""}'),
        ('{"s": "in <state> now"}', '{"s": "in running now"}'),
        ('{"s": <deep>}', '{"s": {x: y}}'),
    ],
)
def test_a_transformer_fills_in_what_the_event_holds(template: str, expected: str) -> None:
    paths = {"state": "$.detail.state", "missing": "$.detail.missing.x", "deep": "$.detail.deep"}
    assert render({"InputPathsMap": paths, "InputTemplate": template}, EVENT) == expected


def test_a_path_beyond_dots_and_names_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"\$\.\*"):
        render({"InputPathsMap": {"x": "$.*"}, "InputTemplate": "<x>"}, EVENT)
