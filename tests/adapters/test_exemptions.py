from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from proctor.adapters.exemptions_table import DynamoExemptions
from proctor.domain.exemptions import Exemption
from proctor.ports import ExemptionStore
from tests.adapters.aws import CountedClients
from tests.fakes.people import FakeExemptionStore
from tests.fakes.values import NOW


@dataclass
class Setting:
    store: ExemptionStore
    grant: Callable[[str, Exemption], None]


@pytest.fixture(params=["fake", "dynamodb"])
def here(request: pytest.FixtureRequest) -> Setting:
    if request.param == "fake":
        fake = FakeExemptionStore()
        return Setting(fake, fake.grant)
    real = DynamoExemptions(request.getfixturevalue("aws"), "exemptions")
    return Setting(real, real.put)


FULL = Exemption(
    login_name="ada",
    ends_at=NOW + timedelta(days=3),
    granted_by="ops",
    justification="thesis",
    max_sessions=9,
    cluster="alpha",
)


def test_nobody_is_exempt_at_first(here: Setting) -> None:
    assert list(here.store.for_function("session_limits")) == []


def test_rows_come_back_whole_expired_ones_too(here: Setting) -> None:
    over = replace(FULL, ends_at=NOW - timedelta(days=3))
    everywhere = replace(FULL, cluster=None, max_sessions=None)
    for row in (FULL, over, everywhere):
        here.grant("session_limits", row)

    found = here.store.for_function("session_limits")

    assert len(found) == 3
    assert set(found) == {FULL, over, everywhere}


def test_functions_are_apart(here: Setting) -> None:
    here.grant("idle_sessions", FULL)

    assert list(here.store.for_function("session_limits")) == []


def test_rows_are_kept_for_60_seconds(aws: CountedClients) -> None:
    seconds = [0.0]
    store = DynamoExemptions(aws, "exemptions", lambda: seconds[0])
    store.for_function("session_limits")
    store.put("session_limits", FULL)
    aws.calls.clear()

    seconds[0] = 59.9
    assert list(store.for_function("session_limits")) == []
    seconds[0] = 60.0
    assert list(store.for_function("session_limits")) == [FULL]
    assert list(store.for_function("session_limits")) == [FULL]
    assert aws.calls == ["Query"]


def test_all_pages_are_read(aws: CountedClients) -> None:
    store = DynamoExemptions(aws, "exemptions")
    for n in range(6):
        store.put("session_limits", replace(FULL, login_name=f"p{n}", justification="x" * 300_000))
    aws.calls.clear()

    assert len(store.for_function("session_limits")) == 6
    assert aws.count("Query") >= 2
