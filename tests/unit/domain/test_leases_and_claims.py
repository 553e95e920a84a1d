from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.domain.claims import Admission, Claim, ClaimKey, ClaimState, admit
from proctor.domain.leases import LEASE, is_live
from tests.fakes.values import NOW

KEY = ClaimKey("session_limits", "session#ada-1", "cap", "ada-1", "end")


def claim(
    state: ClaimState, *, lease: timedelta = LEASE, changed: timedelta = timedelta(), attempts: int = 1
) -> Claim:
    """A claim whose lease ends `lease` after NOW and that was last written `changed` after NOW."""
    return Claim(KEY, state, "token-9", NOW + lease, NOW + changed, attempts)


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


@pytest.mark.parametrize(
    ("lease_until", "is_held"),
    [
        pytest.param(None, False, id="no lease"),
        pytest.param(NOW + LEASE, True, id="a fresh lease"),
        pytest.param(NOW + seconds(1), True, id="a second is left"),
        pytest.param(NOW, False, id="it ends now"),
        pytest.param(NOW - seconds(1), False, id="it is over"),
        pytest.param(
            NOW + LEASE + seconds(65),
            True,
            id="written a minute after we began, by a clock five seconds ahead",
        ),
        pytest.param(NOW + LEASE + seconds(66), False, id="a clock that was set back since wrote it"),
    ],
)
def test_a_lease_holds_until_its_end_and_not_longer_because_a_clock_was_set_back(
    lease_until: datetime | None, is_held: bool
) -> None:
    assert is_live(lease_until, NOW) is is_held


@given(
    st.timedeltas(min_value=timedelta(days=-400), max_value=timedelta(days=400)),
    st.timedeltas(min_value=timedelta(days=-2), max_value=timedelta(days=2)),
)
def test_no_lease_outlives_two_minutes_of_any_clock_that_runs_on(since: timedelta, step: timedelta) -> None:
    """Whatever a clock was set to: once it has run two minutes and 65 seconds from its new time, the lease is over."""
    lease_until = NOW + since + LEASE
    new_time = lease_until - LEASE + step

    assert not is_live(lease_until, new_time + LEASE + seconds(65)) or step < timedelta(0)
    if step < -seconds(65):
        assert not is_live(lease_until, new_time)


@pytest.mark.parametrize(
    ("existing", "admission"),
    [
        pytest.param(None, Admission.TAKE, id="nobody claimed it"),
        pytest.param(claim(ClaimState.CLAIMED), Admission.CONTENDED, id="another holds it"),
        pytest.param(
            claim(ClaimState.CLAIMED, lease=seconds(0)), Admission.TAKE_OVER, id="the holder's lease is over"
        ),
        pytest.param(
            claim(ClaimState.CLAIMED, lease=timedelta(hours=1)),
            Admission.TAKE_OVER,
            id="the clock was set back an hour",
        ),
        pytest.param(
            claim(ClaimState.CLAIMED, lease=seconds(0), attempts=9),
            Admission.TAKE_OVER,
            id="a crash is no failed attempt",
        ),
        pytest.param(claim(ClaimState.APPLIED), Admission.ALREADY_APPLIED, id="it is done"),
        pytest.param(
            claim(ClaimState.APPLIED, attempts=9),
            Admission.ALREADY_APPLIED,
            id="done is done after any number",
        ),
        pytest.param(claim(ClaimState.WITHHELD), Admission.TAKE, id="nothing was done"),
        pytest.param(
            claim(ClaimState.WITHHELD, attempts=9), Admission.TAKE, id="nothing was done nine times"
        ),
        pytest.param(claim(ClaimState.UNCONFIRMED), Admission.RESTING, id="just tried"),
        pytest.param(claim(ClaimState.FAILED, changed=-seconds(59)), Admission.RESTING, id="failed 59 s ago"),
        pytest.param(
            claim(ClaimState.FAILED, changed=-seconds(60)), Admission.TAKE_OVER, id="failed a minute ago"
        ),
        pytest.param(
            claim(ClaimState.UNCONFIRMED, changed=-seconds(61)),
            Admission.TAKE_OVER,
            id="unconfirmed for a minute",
        ),
        pytest.param(
            claim(ClaimState.FAILED, changed=seconds(3)),
            Admission.TAKE_OVER,
            id="failed in the future of a clock set back",
        ),
        pytest.param(
            claim(ClaimState.FAILED, changed=-seconds(90), attempts=4),
            Admission.TAKE_OVER,
            id="a fifth attempt",
        ),
        pytest.param(
            claim(ClaimState.FAILED, changed=-seconds(90), attempts=5),
            Admission.EXHAUSTED,
            id="no sixth attempt",
        ),
        pytest.param(
            claim(ClaimState.UNCONFIRMED, changed=-seconds(90), attempts=5),
            Admission.EXHAUSTED,
            id="nor an unconfirmed sixth",
        ),
    ],
)
def test_the_stored_claim_alone_says_who_may_act(existing: Claim | None, admission: Admission) -> None:
    assert admit(existing, NOW) is admission


def test_a_claims_key_names_function_subject_rule_episode_and_step() -> None:
    assert str(KEY) == "session_limits#session#ada-1#cap#ada-1#end"
