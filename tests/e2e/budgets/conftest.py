"""One university for all tests here: the deployed stack, a real Slurm, the real agent, and the scene played once.

Its life ends with the last of them, so that it takes no time from what is measured after it.
"""

import io
import os
import platform
from collections.abc import Iterator

import pytest

from proctor_local.budget_week.__main__ import scene
from proctor_local.budget_week.slurm_acts import Cluster
from proctor_local.budget_week.university import University
from proctor_local.control import running
from proctor_local.exam_week.log import Log
from proctor_slurm import ensure_installed
from tests.e2e.budgets.week import Week, as_it_stands
from tests.e2e.conftest import EMULATOR, TEMPLATE


@pytest.fixture(scope="package")
def university() -> Iterator[University]:
    """Up and ready. As root a missing Slurm is installed, so there it is a failure and no skip."""
    for needed in (EMULATOR, TEMPLATE):
        if not needed.exists():
            pytest.fail(f"{needed} is missing: run `make e2e`, which makes it")
    found = ensure_installed()
    if not found.is_available:
        (pytest.fail if os.geteuid() == 0 else pytest.skip)(found.reason)
    architecture = "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
    with running(EMULATOR) as local:
        made = University(local, Log(io.StringIO()))
        try:
            made.open(TEMPLATE, architecture)
            yield made
        finally:
            made.close()


@pytest.fixture(scope="package")
def played(university: University) -> tuple[Cluster, Week]:
    """The whole scene, once."""
    found = scene(university)
    assert found is not None, university.why_no_slurm
    return found, as_it_stands(university)


@pytest.fixture(scope="package")
def cluster(played: tuple[Cluster, Week]) -> Cluster:
    """The Slurm side, after the scene."""
    return played[0]


@pytest.fixture(scope="package")
def week(played: tuple[Cluster, Week]) -> Week:
    """How the scene went."""
    return played[1]
