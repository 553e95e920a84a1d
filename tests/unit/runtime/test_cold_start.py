"""Imports with the collector at rest."""

import gc
from collections.abc import Iterator

import pytest

from proctor.runtime.cold_start import collector_at_rest


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_nothing_is_collected_inside_and_what_was_made_is_left_out_afterwards() -> None:
    before = gc.get_freeze_count()
    with collector_at_rest():
        assert not gc.isenabled()
        made = [[n] for n in range(10)]
    assert gc.isenabled()
    assert gc.get_freeze_count() > before + len(made)


def test_an_import_that_fails_does_not_leave_the_process_without_a_collector() -> None:
    with pytest.raises(ImportError), collector_at_rest():
        raise ImportError
    assert gc.isenabled()
