import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from proctor.adapters.parameters import ParameterPause, ParameterPolicies
from proctor.domain.errors import InvalidInputError, NotFoundError, TerminalError
from proctor.domain.policy import PolicyDraft, PolicyInForce
from proctor.ports import PauseSwitch, PolicyStore
from tests.adapters.aws import CountedClients, ScriptedClients, json_error
from tests.fakes.policies import FakePauseSwitch, FakePolicyStore
from tests.fakes.values import NOW

FUNCTION = "session_limits"
CLUSTERS = ("alpha", "beta")
ALPHA = "/proctor/alpha/session_limits"


def parse(text: str) -> str:
    """A policy here is any JSON object; it is kept as its text."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInputError("document", text, "send JSON") from error
    if not isinstance(value, dict):
        raise InvalidInputError("document", text, "send one object")
    return text


@dataclass
class Setting:
    """A store, who writes to it, and the time."""

    store: PolicyStore[str]
    write: Callable[[str, str], int]
    _seconds: list[float] = field(default_factory=lambda: [0.0])

    def wait(self, seconds: float) -> None:
        self._seconds[0] += seconds


def _fake() -> Setting:
    seconds = [0.0]
    store = FakePolicyStore(FUNCTION, CLUSTERS, parse, lambda: NOW + timedelta(seconds=seconds[0]))
    return Setting(store, store.write, seconds)


def _real(aws: CountedClients) -> Setting:
    seconds = [1000.0]

    def write(cluster: str, text: str) -> int:
        name = f"/proctor/{cluster}/{FUNCTION}"
        return aws.ssm().put_parameter(Name=name, Value=text, Type="String", Overwrite=True)["Version"]

    return Setting(ParameterPolicies(aws, FUNCTION, CLUSTERS, parse, lambda: seconds[0]), write, seconds)


@pytest.fixture(params=["fake", "ssm"])
def here(request: pytest.FixtureRequest) -> Setting:
    return _fake() if request.param == "fake" else _real(request.getfixturevalue("aws"))


def test_without_parameters_no_cluster_has_a_policy(here: Setting) -> None:
    assert here.store.in_force() == {}
    assert here.store.draft("alpha") is None


def test_a_version_is_in_force_only_once_it_is_labelled(here: Setting) -> None:
    here.write("alpha", "{}")

    assert here.store.in_force() == {}
    assert here.store.draft("alpha") == PolicyDraft("alpha", ALPHA, 1, is_in_force=False)


def test_a_labelled_version_is_in_force(here: Setting) -> None:
    here.write("alpha", "{}")
    here.store.put_in_force(ALPHA, 1)

    assert here.store.in_force() == {"alpha": PolicyInForce("alpha", 1, "{}")}
    assert here.store.draft("alpha") == PolicyDraft("alpha", ALPHA, 1, is_in_force=True)


def test_a_newer_version_waits_for_its_label(here: Setting) -> None:
    here.write("alpha", '{"n": 1}')
    here.store.put_in_force(ALPHA, 1)
    here.write("alpha", '{"n": 2}')

    assert here.store.in_force()["alpha"].version == 1
    assert here.store.draft("alpha") == PolicyDraft("alpha", ALPHA, 2, is_in_force=False)

    here.store.put_in_force(ALPHA, 2)
    assert here.store.in_force()["alpha"] == PolicyInForce("alpha", 2, '{"n": 2}')


def test_the_label_can_go_back(here: Setting) -> None:
    for n in (1, 2):
        here.write("alpha", f'{{"n": {n}}}')
        here.store.put_in_force(ALPHA, n)
    here.store.put_in_force(ALPHA, 1)

    assert here.store.in_force()["alpha"].version == 1


@pytest.mark.parametrize("text", ["not json", "[]"])
def test_a_bad_draft_says_why(here: Setting, text: str) -> None:
    here.write("alpha", "{}")
    here.store.put_in_force(ALPHA, 1)
    here.write("alpha", text)

    draft = here.store.draft("alpha")
    assert draft is not None
    assert draft.error is not None
    assert draft.error.startswith("document:")
    assert here.store.in_force()["alpha"].version == 1


def test_a_version_that_cannot_be_read_leaves_the_one_read_before(here: Setting) -> None:
    here.write("alpha", "{}")
    here.write("beta", "{}")
    here.store.put_in_force(ALPHA, 1)
    here.store.put_in_force("/proctor/beta/session_limits", 1)
    assert set(here.store.in_force()) == {"alpha", "beta"}
    here.write("alpha", "not json")
    here.store.put_in_force(ALPHA, 2)

    assert here.store.in_force()["alpha"] == PolicyInForce("alpha", 1, "{}")
    here.wait(61)
    assert here.store.in_force()["alpha"].version == 1


def test_a_bad_version_with_none_before_it_leaves_its_cluster_without_policy(here: Setting) -> None:
    here.write("alpha", "not json")
    here.write("beta", "{}")
    here.store.put_in_force(ALPHA, 1)
    here.store.put_in_force("/proctor/beta/session_limits", 1)

    assert set(here.store.in_force()) == {"beta"}


@pytest.mark.parametrize("version", [0, 2])
def test_a_version_that_does_not_exist_gets_no_label(here: Setting, version: int) -> None:
    here.write("alpha", "{}")

    with pytest.raises(TerminalError):
        here.store.put_in_force(ALPHA, version or 99)


# Parameter Store


def test_what_is_in_force_is_read_again_after_60_seconds(aws: CountedClients) -> None:
    here = _real(aws)
    here.write("alpha", '{"n": 1}')
    here.store.put_in_force(ALPHA, 1)
    here.store.in_force()
    here.write("alpha", '{"n": 2}')
    aws.ssm().label_parameter_version(Name=ALPHA, ParameterVersion=2, Labels=["in-force"])
    aws.calls.clear()

    here.wait(59.9)
    assert here.store.in_force()["alpha"].version == 1
    assert aws.calls == []
    here.wait(0.1)
    assert here.store.in_force()["alpha"].version == 2
    assert aws.calls == ["GetParameters"]


def test_calls(aws: CountedClients) -> None:
    clusters = tuple(f"c{n}" for n in range(21))
    store = ParameterPolicies(aws, FUNCTION, clusters, parse)
    store.in_force()
    assert aws.calls == ["GetParameters"] * 3

    aws.ssm().put_parameter(Name="/proctor/c1/session_limits", Value="{}", Type="String")
    aws.calls.clear()
    store.draft("c1")
    store.put_in_force("/proctor/c1/session_limits", 1)
    assert aws.calls == ["GetParameters", "GetParameters", "LabelParameterVersion"]


def test_a_caller_cannot_change_what_is_kept(aws: CountedClients) -> None:
    here = _real(aws)
    here.write("alpha", "{}")
    here.store.put_in_force(ALPHA, 1)
    taken = here.store.in_force()
    assert isinstance(taken, dict)
    taken.clear()

    assert "alpha" in here.store.in_force()


def test_a_label_that_is_refused_is_an_error() -> None:
    aws = ScriptedClients(LabelParameterVersion={"InvalidLabels": ["in-force"], "ParameterVersion": 1})

    with pytest.raises(TerminalError, match="refused the label"):
        ParameterPolicies(aws, FUNCTION, CLUSTERS, parse).put_in_force(ALPHA, 1)


def test_a_parameter_that_does_not_exist_gets_no_label(aws: CountedClients) -> None:
    with pytest.raises(NotFoundError):
        _real(aws).store.put_in_force(ALPHA, 1)


def _parameters(request: Mapping[str, Any]) -> Any:
    """A service that refuses a whole list for one missing name."""
    values = {"/proctor/alpha/pause": "fire in the machine room"}
    if any(name not in values for name in request["Names"]):
        return json_error("ParameterNotFound")
    return {"Parameters": [{"Name": n, "Version": 1, "Value": values[n]} for n in request["Names"]]}


def test_one_missing_name_never_hides_the_others() -> None:
    aws = ScriptedClients(GetParameters=_parameters)

    assert ParameterPause(aws, CLUSTERS).paused_clusters() == {"alpha": "fire in the machine room"}


# The pause switch


@pytest.mark.parametrize("value", ["on", "maintenance until Monday", "OFFLINE", "true", "0"])
def test_any_value_but_off_pauses(aws: CountedClients, value: str) -> None:
    switch: PauseSwitch = ParameterPause(aws, CLUSTERS)
    aws.ssm().put_parameter(Name="/proctor/alpha/pause", Value=value, Type="String")

    assert switch.paused_clusters() == {"alpha": value} == FakePauseSwitch({"alpha": value}).paused_clusters()


@pytest.mark.parametrize("value", ["off", "OFF", " Off\n", None])
def test_off_or_nothing_does_not_pause(aws: CountedClients, value: str | None) -> None:
    if value is not None:
        aws.ssm().put_parameter(Name="/proctor/alpha/pause", Value=value, Type="String")

    assert ParameterPause(aws, CLUSTERS).paused_clusters() == {} == FakePauseSwitch().paused_clusters()


def test_the_switch_is_read_each_time(aws: CountedClients) -> None:
    switch = ParameterPause(aws, CLUSTERS)
    for value in ("off", "on", "off"):
        aws.ssm().put_parameter(Name="/proctor/beta/pause", Value=value, Type="String", Overwrite=True)
        assert switch.paused_clusters() == ({"beta": "on"} if value == "on" else {})

    assert aws.count("GetParameters") == 3
