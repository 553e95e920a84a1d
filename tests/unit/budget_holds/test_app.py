"""Importing does no work; the environment is checked in one message; the reach is what the docs say."""

import os
from typing import Any, cast

import pytest

from budget_holds import app
from proctor.domain.errors import InvalidInputError
from proctor.runtime.slurm_settings import SLURM_VARIABLES, SlurmSettings
from tests.fakes.budget_world import BudgetWorld

FULL = {name: f"value-{name}" for name in SLURM_VARIABLES}


def test_the_environment_is_read_at_the_first_invocation_only() -> None:
    assert not [name for name in os.environ if name.startswith("PROCTOR_")]
    with pytest.raises(InvalidInputError, match="PROCTOR_CLAIMS_TABLE"):
        app.lambda_handler({}, None)


def test_all_missing_names_come_in_one_message() -> None:
    assert SlurmSettings.from_env(FULL).intents_table == "value-PROCTOR_INTENTS_TABLE"
    with pytest.raises(InvalidInputError, match=r"PROCTOR_ACCOUNT_ID, PROCTOR_INTENTS_TABLE"):
        SlurmSettings.from_env(
            {k: v for k, v in FULL.items() if k in {"PROCTOR_OBSERVED_TABLE", "PROCTOR_WAKE_QUEUE_URL"}}
        )


def test_the_reach() -> None:
    world = BudgetWorld()
    settings: Any = type("S", (), {"sender": "", "operators_topic_arn": ""})()
    made = app.appliers(world._ports(), cast("Any", None), settings, cast("Any", world.wake), world.telemetry)
    names = {kind.__name__ for kind in made}
    assert names == {"WriteIntent", "WithdrawIntent", "NotifyPerson", "NotifyOperators", "LabelPolicyVersion"}
