import pytest

from proctor.domain.decision import Mode
from proctor.domain.errors import DeniedError
from proctor.domain.triggers import ManualTrigger, Sweep
from proctor.runtime.handler import Request, request_behind


def request(
    *, is_dry_run: bool = False, lift: str | None = None, proof: str | None = None, arn: str | None = None
) -> Request:
    def caller(proof: str, function: str) -> str:
        if arn is None:
            raise DeniedError(f"{function}: {proof} proves nobody")
        return arn

    trigger = ManualTrigger(
        requested_by="ops", justification="ticket", is_dry_run=is_dry_run, lift=lift, caller_proof=proof
    )
    return request_behind(trigger, "session_limits", caller)


def test_proctor_itself_asks_when_nobody_does() -> None:
    def caller(proof: str, function: str) -> str:
        raise AssertionError(f"{function}: {proof}")

    assert request_behind(Sweep(), "session_limits", caller) == Request()


def test_who_asks_is_stored_as_a_claim() -> None:
    asked = request()

    assert (asked.actor, asked.justification, asked.lifted) == ("ops (claimed)", "ticket", frozenset())


@pytest.mark.parametrize(("is_dry_run", "bound"), [(True, Mode.DRY_RUN), (False, Mode.APPLY)])
def test_a_dry_run_bounds_the_mode(is_dry_run: bool, bound: Mode) -> None:
    assert request(is_dry_run=is_dry_run).bound is bound


def test_break_glass_with_a_proof_lifts_the_named_limit_in_the_name_of_the_proven_caller() -> None:
    asked = request(lift="share", proof="url", arn="arn:aws:iam::123456789012:user/root-cause")

    assert asked.actor == "arn:aws:iam::123456789012:user/root-cause"
    assert asked.lifted == {"share"}


def test_break_glass_without_a_valid_proof_is_denied() -> None:
    with pytest.raises(DeniedError):
        request(lift="share", proof="url")


@pytest.mark.parametrize(("lift", "proof"), [("share", None), (None, "url")])
def test_half_a_break_glass_lifts_nothing(lift: str | None, proof: str | None) -> None:
    assert request(lift=lift, proof=proof).lifted == frozenset()
