"""Parts of the local AWS that need no emulator."""

import threading
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_local.clock import Clock
from proctor_local.emulator import selftest
from proctor_local.emulator.calls import ApiError
from proctor_local.emulator.mappings import whole_batch_failed
from proctor_local.emulator.ministack import SUPPORTED_VERSION
from proctor_local.services.session_store import Session, SessionStore, new_session_id
from proctor_local.settings import SettingError, Settings
from proctor_local.throttle import Throttle
from proctor_local.timers import Timers


@pytest.mark.parametrize(
    ("body", "failed"),
    [
        (None, False),
        ({}, False),
        ({"batchItemFailures": None}, False),
        ({"batchItemFailures": []}, False),
        ("", False),
        ({"batchItemFailures": [{"itemIdentifier": "m-1"}]}, False),
        ('{"batchItemFailures":[]}', False),
        ({"batchItemFailures": [{"itemIdentifier": ""}]}, True),
        ({"batchItemFailures": [{"itemIdentifier": None}]}, True),
        ({"batchItemFailures": [{"ItemIdentifier": "m-1"}]}, True),
        ({"batchItemFailures": "m-1"}, True),
        ([], True),
        ("no json", True),
        (3, True),
    ],
)
def test_which_answers_fail_a_whole_batch(body: Any, failed: bool) -> None:
    assert whole_batch_failed(body) is failed


@given(st.text(min_size=1, max_size=64, alphabet=st.characters(codec="ascii", exclude_characters="/:")))
def test_a_session_id_ends_in_its_suffix_and_fits(name: str) -> None:
    session_id = new_session_id(name)
    assert len(session_id) <= 96
    assert session_id.rsplit("-", 1)[0] == name
    assert len(session_id.rsplit("-", 1)[1]) == 26


def test_a_name_too_long_for_an_id_is_cut() -> None:
    assert len(new_session_id("n" * 90)) == 96


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("trail_loss", 1.5),
        ("trail_delay_seconds", "soon"),
        ("trail_delay_seconds", -1),
        ("trail_enabled", 1),
        ("calls_per_second", {"StartSession": "3"}),
        ("missing_variable", "null"),
        ("lose_next_records", 0.5),
        ("nothing", 1),
    ],
)
def test_a_wrong_setting_is_refused_by_name_and_changes_nothing(name: str, value: Any) -> None:
    settings = Settings()
    with pytest.raises(SettingError, match=name):
        settings.change({"terminating_seconds": 9.0, name: value})
    assert settings == Settings()


def test_the_throttle_refills_with_time_and_counts_by_account() -> None:
    now = [0.0]
    throttle = Throttle(Settings(calls_per_second={"StartSession": 3.0}), lambda: now[0])
    for _ in range(3):
        throttle.take("StartSession", "111111111111")
    with pytest.raises(ApiError, match="ThrottlingException"):
        throttle.take("StartSession", "111111111111")
    throttle.take("StartSession", "222222222222")
    throttle.take("DescribeSessions", "111111111111")
    now[0] = 0.34
    throttle.take("StartSession", "111111111111")


def test_a_forced_throttle_is_used_up() -> None:
    throttle = Throttle(Settings(calls_per_second={}, throttle_next={"TerminateSession": 1}))
    with pytest.raises(ApiError):
        throttle.take("TerminateSession", "111111111111")
    throttle.take("TerminateSession", "111111111111")


def test_a_session_that_exists_is_not_seeded_again() -> None:
    store = SessionStore(Settings(), Clock(), Timers())
    session = Session("a-1", "i-1", "arn:aws:iam::1:user/a", "AIDA", datetime.now(UTC), "1", "r")
    store.add(session)
    with pytest.raises(ValueError, match="a-1"):
        store.add(session)


class FakeModule:
    """A module in which every name is what the hooks expect, unless it was taken away."""

    def __init__(self, module: str, without: str) -> None:
        for name, attribute, parameters in selftest.FUNCTIONS:
            if name == module and attribute != without:
                setattr(self, attribute, function_with(parameters or ()))
        for name, attribute, kind in selftest.VALUES:
            if name == module and attribute != without:
                setattr(self, attribute, kind())


class FakeMiniStack:
    def __init__(self, version: str = SUPPORTED_VERSION, without: str = "") -> None:
        self.version, self._without = version, without

    def __getattr__(self, module: str) -> FakeModule:
        return FakeModule(module, self._without)


def function_with(parameters: tuple[str, ...]) -> Any:
    namespace: dict[str, Any] = {}
    exec(f"def function({', '.join(parameters)}): pass", namespace)  # noqa: S102  (parameter names from our own table)
    return namespace["function"]


def test_what_is_due_counts_until_it_is_done() -> None:
    timers, began, may_end = Timers(), threading.Event(), threading.Event()
    timers.after(60, began.set)
    assert (timers.pending(), timers.due()) == (1, 0)

    def work() -> None:
        began.set()
        may_end.wait(5)

    timers.after(0, work)
    assert timers.due() == 1
    timers.start()
    try:
        assert began.wait(5)
        assert (timers.pending(), timers.due()) == (1, 1)
        may_end.set()
        deadline = time.monotonic() + 5
        while timers.due() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert timers.due() == 0
    finally:
        may_end.set()
        timers.stop()


def test_the_self_test_names_what_changed() -> None:
    selftest.check(FakeMiniStack())
    with pytest.raises(selftest.HookChangedError, match=r"eventbridge\._dispatch_to_sqs is gone"):
        selftest.check(FakeMiniStack(without="_dispatch_to_sqs"))
    with pytest.raises(selftest.HookChangedError, match=r"ministack is 1\.6\.0"):
        selftest.check(FakeMiniStack(version="1.6.0"))
