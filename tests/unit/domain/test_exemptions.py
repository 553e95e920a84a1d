from datetime import timedelta

import pytest

from proctor.domain.exemptions import Exemption, exemption_for
from tests.fakes.values import NOW

HOUR = timedelta(hours=1)


def exemption(**fields: object) -> Exemption:
    known: dict[str, object] = {
        "login_name": "ada",
        "ends_at": NOW + HOUR,
        "granted_by": "ops",
        "justification": "thesis",
    }
    return Exemption(**{**known, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("granted", "is_binding"),
    [
        pytest.param(exemption(), True, id="hers, everywhere"),
        pytest.param(exemption(cluster="alpha"), True, id="hers, on this cluster"),
        pytest.param(exemption(cluster="beta"), False, id="hers, on another cluster"),
        pytest.param(exemption(login_name="grace"), False, id="somebody else's"),
        pytest.param(exemption(ends_at=NOW + timedelta(seconds=1)), True, id="a second before its end"),
        pytest.param(exemption(ends_at=NOW), False, id="at its end"),
        pytest.param(exemption(ends_at=NOW - HOUR), False, id="over, whatever the table still holds"),
    ],
)
def test_an_exemption_binds_one_person_until_its_end(granted: Exemption, is_binding: bool) -> None:
    assert granted.applies("ada", "alpha", NOW) is is_binding
    assert exemption_for([granted], "ada", "alpha", NOW) == (granted if is_binding else None)


def test_of_several_the_one_that_ends_last_binds_and_of_those_the_one_for_this_cluster() -> None:
    soon = exemption(max_sessions=9)
    later = exemption(max_sessions=5, ends_at=NOW + 2 * HOUR)
    here = exemption(max_sessions=4, ends_at=NOW + 2 * HOUR, cluster="alpha")

    assert exemption_for([later, soon], "ada", "alpha", NOW) == later
    assert exemption_for([here, later, soon], "ada", "alpha", NOW) == here
    assert exemption_for([later, here], "ada", "alpha", NOW) == here
