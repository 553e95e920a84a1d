"""Claims at work: who may act, who took over, and what is settled by reading alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from proctor.domain.actions import Action, NotifyOperators
from proctor.domain.claims import Claim, ClaimKey, ClaimState
from proctor.domain.decision import Mode, OutcomeStatus, RunContext, Verdict
from proctor.domain.leases import LEASE
from proctor.runtime.claiming import Claimer
from tests.fakes.records import Audit, FakeClaimStore
from tests.fakes.values import NOW

ACTION = NotifyOperators(subject="s", headline="h", text="t")
VERDICT = Verdict(
    subject="s",
    cluster="alpha",
    rule="r",
    reason="why",
    text="t",
    mode=Mode.APPLY,
    policy_version=1,
    action=ACTION,
    episode="e",
    step="act",
)
CONTEXT = RunContext(function="f", now=NOW, token="ours", trigger="test")
KEY = ClaimKey("f", "s", "r", "e", "act")
OVER, LIVE = NOW - timedelta(seconds=1), NOW + LEASE


@dataclass
class FakeApplier:
    """Notes what is asked of it; `is_done` is what a look finds."""

    is_done: bool = False
    calls: list[str] = field(default_factory=list)
    let_go: list[str] = field(default_factory=list)

    def recheck(self, actions: Sequence[Action]) -> Mapping[str, str]:
        self.calls.append("recheck")
        return {}

    def apply(self, action: Action) -> None:
        self.calls.append("apply")
        self.is_done = True

    def verify(self, actions: Sequence[Action]) -> Mapping[str, bool]:
        self.calls.append("verify")
        return {a.subject: self.is_done for a in actions}

    def settled(self, action: Action, *, has_taken_effect: bool, token: str) -> None:
        if not has_taken_effect:
            self.let_go.append(token)


def store(state: ClaimState | None, lease_until: object = OVER, changed_ago: int = 300) -> FakeClaimStore:
    """A store that holds a dead evaluator's claim in some state."""
    claims = FakeClaimStore()
    if state is not None:
        assert lease_until in (OVER, LIVE)
        claim = Claim(
            KEY,
            state,
            "theirs",
            LIVE if lease_until == LIVE else OVER,
            NOW - timedelta(seconds=changed_ago),
        )
        theirs = replace(CONTEXT, token="theirs", trigger="theirs")
        claims.audits[str(KEY)] = Audit(claim, VERDICT, theirs)
    return claims


@pytest.mark.parametrize(
    ("state", "lease_until", "is_gone", "status", "stored"),
    [
        pytest.param(None, OVER, True, OutcomeStatus.NONE, None, id="never claimed: nothing was done"),
        pytest.param(
            ClaimState.CLAIMED, OVER, True, OutcomeStatus.APPLIED, "applied", id="left open, and in effect"
        ),
        pytest.param(
            ClaimState.CLAIMED,
            OVER,
            False,
            OutcomeStatus.UNCONFIRMED,
            "unconfirmed",
            id="left open, no effect",
        ),
        pytest.param(
            ClaimState.CLAIMED, LIVE, True, OutcomeStatus.CONTENDED, "claimed", id="somebody is at it again"
        ),
        pytest.param(
            ClaimState.APPLIED, OVER, True, OutcomeStatus.ALREADY_APPLIED, "applied", id="settled long ago"
        ),
        pytest.param(
            ClaimState.UNCONFIRMED,
            OVER,
            True,
            OutcomeStatus.ALREADY_APPLIED,
            "unconfirmed",
            id="seen too late",
        ),
        pytest.param(ClaimState.FAILED, OVER, True, OutcomeStatus.NONE, "failed", id="gone by itself"),
        pytest.param(ClaimState.WITHHELD, OVER, True, OutcomeStatus.NONE, "withheld", id="never begun"),
    ],
)
def test_a_claim_left_open_is_settled_by_reading_and_its_audit_stays_its_authors(
    state: ClaimState | None, lease_until: object, is_gone: bool, status: OutcomeStatus, stored: str | None
) -> None:
    claims, applier = store(state, lease_until), FakeApplier(is_done=is_gone)

    (outcome,) = Claimer(applier, claims, CONTEXT).close([VERDICT])
    assert outcome.status is status
    assert "apply" not in applier.calls
    audit = claims.audits.get(str(KEY))
    assert (audit.claim.state.value if audit else None) == stored
    assert audit is None or audit.context.trigger == "theirs"


def run(claims: FakeClaimStore, applier: FakeApplier, why: str | None = None) -> OutcomeStatus:
    (outcome,) = Claimer(applier, claims, CONTEXT).run([VERDICT], lambda _: why)
    return outcome.status


@pytest.mark.parametrize(
    ("state", "lease_until", "is_done", "calls", "status"),
    [
        pytest.param(None, OVER, False, "recheck apply verify", OutcomeStatus.APPLIED, id="free"),
        pytest.param(
            ClaimState.CLAIMED, OVER, True, "verify", OutcomeStatus.APPLIED, id="a dead one's act took effect"
        ),
        pytest.param(
            ClaimState.CLAIMED,
            OVER,
            False,
            "verify recheck apply verify",
            OutcomeStatus.APPLIED,
            id="a dead one did not get so far",
        ),
        pytest.param(
            ClaimState.UNCONFIRMED, OVER, True, "verify", OutcomeStatus.APPLIED, id="it took effect late"
        ),
        pytest.param(ClaimState.CLAIMED, LIVE, False, "", OutcomeStatus.CONTENDED, id="another is at it"),
        pytest.param(ClaimState.APPLIED, OVER, False, "", OutcomeStatus.ALREADY_APPLIED, id="done"),
    ],
)
def test_what_a_claim_lets_an_evaluator_do(
    state: ClaimState | None, lease_until: object, is_done: bool, calls: str, status: OutcomeStatus
) -> None:
    applier = FakeApplier(is_done=is_done)

    assert run(store(state, lease_until), applier) is status
    assert applier.calls == calls.split()


@pytest.mark.parametrize(
    ("state", "is_let_go"),
    [(ClaimState.FAILED, True), (ClaimState.UNCONFIRMED, True), (ClaimState.APPLIED, False)],
)
def test_what_is_not_being_done_is_let_go_of(state: ClaimState, is_let_go: bool) -> None:
    applier = FakeApplier()

    run(store(state, changed_ago=5), applier)
    assert applier.calls == []
    assert applier.let_go == (["ours"] if is_let_go else [])


def test_a_spent_budget_withholds_and_lets_go() -> None:
    claims, applier = FakeClaimStore(), FakeApplier()

    assert run(claims, applier, "300 notices in 60 minutes are already spent") is OutcomeStatus.WITHHELD
    assert applier.calls == ["recheck"]
    assert applier.let_go == ["ours"]
    assert claims.audits[str(KEY)].detail == "300 notices in 60 minutes are already spent"


def test_who_comes_back_after_its_lease_settles_nothing_any_more() -> None:
    """Its claim was taken over meanwhile; what the new holder wrote and remembers must stay."""
    claims, applier = FakeClaimStore(), FakeApplier()

    def taken_over_meanwhile(_: Verdict) -> None:
        mine = claims.audits[str(KEY)]
        claims.audits[str(KEY)] = replace(mine, claim=replace(mine.claim, token="new holder"))

    (outcome,) = Claimer(applier, claims, CONTEXT).run([VERDICT], taken_over_meanwhile)
    assert outcome.status is OutcomeStatus.CONTENDED
    assert outcome.detail == "the lease ran out and was taken over"
    assert applier.let_go == []
    assert claims.audits[str(KEY)].claim.state is ClaimState.CLAIMED


@pytest.mark.parametrize("state", [ClaimState.FAILED, ClaimState.UNCONFIRMED, ClaimState.CLAIMED])
def test_a_takeover_is_one_more_attempt_and_a_withheld_one_was_none(state: ClaimState) -> None:
    for known, attempts in ((state, 2), (ClaimState.WITHHELD, 1)):
        claims = store(known)
        run(claims, FakeApplier())
        assert claims.audits[str(KEY)].claim.attempts == attempts
