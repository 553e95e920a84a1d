"""One university for all tests here: the deployed stack, a real Slurm, the real agent, and the scene played once."""

import io
import os
import platform
from collections.abc import Iterator

import pytest

from proctor_local.budget_week.__main__ import scene
from proctor_local.budget_week.book import Book
from proctor_local.budget_week.slurm_acts import Cluster
from proctor_local.budget_week.university import University
from proctor_local.control import running
from proctor_local.exam_week.log import Log
from proctor_slurm import ensure_installed
from tests.e2e.conftest import EMULATOR, TEMPLATE


@pytest.fixture(scope="session")
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
            made.watcher.stop()
        finally:
            made.close()


@pytest.fixture(scope="session")
def cluster(university: University) -> Cluster:
    """Its Slurm side."""
    assert university.slurm is not None
    assert university.agent is not None
    return Cluster(university, university.slurm, university.agent)


@pytest.fixture(scope="session")
def book(university: University) -> Book:
    """What was measured, and what went wrong, in the whole scene."""
    scene(university)
    university.settle()
    return university.book
