"""Which written parameters mean a function, and which are refused with the name that the rule must match."""

from typing import Any

import pytest

from proctor.domain.errors import InvalidInputError
from proctor.domain.triggers import NoEvent, PolicyChanged
from proctor.wire.parameter_store import policy_change


def written(name: str, operation: str = "Update") -> dict[str, Any]:
    return {"detail-type": "Parameter Store Change", "detail": {"operation": operation, "name": name}}


@pytest.mark.parametrize(
    ("name", "definition"), [("/proctor/a/team_access", None), ("proctor/a/team_access/biology", "biology")]
)
def test_a_policy_and_the_definitions_below_it(name: str, definition: str | None) -> None:
    change = policy_change(written(name), "team_access", has_definitions=True)

    assert change == PolicyChanged(f"/{name.removeprefix('/')}")
    assert isinstance(change, PolicyChanged)
    assert (change.cluster, change.definition) == ("a", definition)


@pytest.mark.parametrize(
    "name",
    [
        "/proctor/a/node_health",
        "/elsewhere/a/team_access",
        "/proctor/team_access",
        "/proctor//team_access",
        "/proctor/a/team_access/",
        "/proctor/a/team_access/biology/more",
    ],
)
@pytest.mark.parametrize(("has_definitions", "ending"), [(False, ""), (True, " and one level below")])
def test_any_other_parameter_is_refused(name: str, has_definitions: bool, ending: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        policy_change(written(name), "team_access", has_definitions=has_definitions)

    error = caught.value
    assert (error.field, error.value) == ("detail.name", repr(name))
    assert error.fix == f"the rule must match /proctor/<cluster>/team_access{ending}"


def test_a_function_without_definitions_refuses_a_level_below() -> None:
    with pytest.raises(InvalidInputError):
        policy_change(written("/proctor/a/team_access/biology"), "team_access")


@pytest.mark.parametrize("operation", ["LabelParameterVersion", "Delete"])
def test_a_label_and_a_deletion_ask_for_nothing_whatever_the_parameter(operation: str) -> None:
    assert policy_change(written("/proctor/a/node_health", operation), "team_access") == NoEvent(operation)
