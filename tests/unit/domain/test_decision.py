from itertools import product

import pytest

from proctor.domain import errors
from proctor.domain.actions import NotifyOperators, Peer, TerminateSession
from proctor.domain.decision import Mode, Verdict, lowest
from proctor.domain.policy import pause_parameter, policy_parameter

ORDER = [Mode.OFF, Mode.DRY_RUN, Mode.APPLY]


@pytest.mark.parametrize(("one", "other"), list(product(Mode, Mode)))
def test_of_two_modes_the_more_careful_one_counts(one: Mode, other: Mode) -> None:
    assert lowest(one, other) is ORDER[min(ORDER.index(one), ORDER.index(other))]


@pytest.mark.parametrize(
    ("is_housekeeping", "bound", "mode"),
    [
        (False, Mode.DRY_RUN, Mode.DRY_RUN),
        (False, Mode.APPLY, Mode.APPLY),
        (True, Mode.DRY_RUN, Mode.APPLY),
        (True, Mode.OFF, Mode.APPLY),
    ],
)
def test_only_housekeeping_is_done_in_dry_run(is_housekeeping: bool, bound: Mode, mode: Mode) -> None:
    verdict = Verdict(
        subject="s",
        cluster="alpha",
        rule="r",
        reason="r",
        text="t",
        mode=Mode.APPLY,
        policy_version=1,
        is_housekeeping=is_housekeeping,
    )

    assert verdict.mode_under(bound) is mode


def test_an_action_as_a_record_holds_its_verb_and_every_field() -> None:
    end = TerminateSession(
        subject="session#a", session_id="a", holder="ada", peers=(Peer("a", 1), Peer("b", 2)), cap=2
    )

    assert end.as_record() == {
        "action": "TerminateSession",
        "subject": "session#a",
        "session_id": "a",
        "holder": "ada",
        "peers": ({"session_id": "a", "weight": 1}, {"session_id": "b", "weight": 2}),
        "cap": 2,
    }
    assert end.touches == ("session#a", "person#ada")
    assert NotifyOperators(subject="s", headline="h", text="t").touches == ("s",)


def test_an_input_error_names_the_field_the_value_and_the_fix_and_cuts_long_values() -> None:
    short = errors.InvalidInputError("mode", "on", "use apply")
    long = errors.InvalidInputError("text", "x" * 500, "shorten it")

    assert str(short) == "mode: 'on' is not usable; use apply"
    assert len(long.value) == 80
    assert str(long).endswith("...  is not usable; shorten it".replace("  ", " "))


def test_a_throttle_is_transient_and_never_not_found() -> None:
    assert issubclass(errors.ThrottledError, errors.TransientError)
    assert issubclass(errors.ContendedError, errors.TransientError)
    assert not issubclass(errors.ThrottledError, errors.TerminalError)
    assert issubclass(errors.NotFoundError, errors.TerminalError)
    assert issubclass(errors.DeniedError, errors.TerminalError)
    assert not issubclass(errors.LostRaceError, errors.TransientError | errors.TerminalError)


def test_parameters_are_named_by_cluster_and_function() -> None:
    assert policy_parameter("alpha", "session_limits") == "/proctor/alpha/session_limits"
    assert pause_parameter("alpha") == "/proctor/alpha/pause"
