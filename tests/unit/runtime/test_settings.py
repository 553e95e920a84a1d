import pytest

from proctor.domain.decision import Mode
from proctor.domain.errors import InvalidInputError
from proctor.runtime.settings import VARIABLES, Settings


def environment(**changes: str) -> dict[str, str]:
    known = {name: f"value of {name}" for name in VARIABLES}
    return {**known, "PROCTOR_CLUSTERS": "alpha, beta", "PROCTOR_APPLY_ACTIONS": "false", **changes}


def test_every_variable_reaches_its_field() -> None:
    settings = Settings.from_env(environment())

    assert settings.clusters == ("alpha", "beta")
    assert settings.bound is Mode.DRY_RUN
    for name, field in VARIABLES.items():
        if field not in ("clusters", "bound"):
            assert getattr(settings, field) == f"value of {name}"


def test_apply_actions_bounds_the_mode() -> None:
    assert Settings.from_env(environment(PROCTOR_APPLY_ACTIONS="true")).bound is Mode.APPLY


def test_all_missing_variables_stand_in_one_message() -> None:
    partial = environment()
    del partial["PROCTOR_SENDER"], partial["PROCTOR_CLAIMS_TABLE"]

    with pytest.raises(InvalidInputError, match=r"PROCTOR_CLAIMS_TABLE, PROCTOR_SENDER.*template\.yaml"):
        Settings.from_env(partial)


@pytest.mark.parametrize("clusters", ["", " , ", "alpha;beta", "-alpha", "alpha,be_ta", "a" * 64])
def test_what_is_no_list_of_cluster_names_is_refused(clusters: str) -> None:
    with pytest.raises(InvalidInputError, match="PROCTOR_CLUSTERS"):
        Settings.from_env(environment(PROCTOR_CLUSTERS=clusters))


@pytest.mark.parametrize("value", ["yes", "True", "1", ""])
def test_apply_actions_is_true_or_false_and_nothing_like_it(value: str) -> None:
    with pytest.raises(InvalidInputError, match="use true or false"):
        Settings.from_env(environment(PROCTOR_APPLY_ACTIONS=value))
