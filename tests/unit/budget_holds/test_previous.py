"""What a hold replaced, where the intent was written before anybody could see it: the agent says so once it is in force."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from budget_holds.snapshot import ClusterView
from proctor.domain.agent_protocol import IntentResult, Outcome, PartitionState, SetPartitionState
from proctor.domain.decision import Verdict
from proctor.domain.slurm_actions import WithdrawIntent, WriteIntent
from tests.fakes.budget_values import reading
from tests.unit.budget_holds.intents import HELD, held_view, intent, result, verdicts, write
from tests.unit.budget_holds.judging import CLOUD, LAB1, situation

BLIND = intent(previous=None)
ACCOUNT = "account#lab1"
PARTITION = "partition#gpu"
DOWN = {**CLOUD, "partitions": ["gpu"], "hold": {"level": "partition", "accept_collateral": True}}


def told(
    previous: Mapping[str, str] | None, outcome: Outcome = Outcome.APPLIED, rev: int = 3
) -> IntentResult:
    return replace(result(outcome, rev), previous=previous)


def only(cluster: ClusterView, prefix: str) -> Verdict:
    (verdict,) = verdicts(cluster, prefix)
    return verdict


def test_a_hold_written_blind_is_written_again_with_what_the_agent_replaced() -> None:
    seen = {ACCOUNT: told({"GrpJobs": "40"})}
    action = write(held_view(stored={ACCOUNT: BLIND}, results=seen))
    assert (action.expected_rev, action.intent.rev, action.intent.is_held) == (3, 4, True)
    assert action.intent.previous == {"GrpJobs": "40"}
    confirmed = held_view(stored={ACCOUNT: action.intent}, results={ACCOUNT: told({"GrpJobs": "40"}, rev=4)})
    (verdict,) = verdicts(confirmed)
    assert (verdict.action, verdict.reason) == (None, "held")


def test_a_field_that_joined_later_is_added_and_a_known_one_is_not_overwritten() -> None:
    stored = intent(previous={"GrpJobs": "7"})
    seen = {ACCOUNT: told({"GrpJobs": "12", "GrpTRES/node": "-1"})}
    action = write(held_view(stored={ACCOUNT: stored}, results=seen))
    assert action.intent.previous == {"GrpJobs": "7", "GrpTRES/node": "-1"}


@pytest.mark.parametrize(
    "said",
    [
        told(None),
        told({"GrpJobs": "0"}),
        told({"GrpJobs": "many", "Other": "3"}),
        told({"GrpJobs": "40"}, rev=2),
        told({"GrpJobs": "40"}, Outcome.CANNOT_BIND),
        told({"GrpJobs": "40"}, Outcome.REFUSED),
    ],
    ids=["nothing", "our own value", "no limit", "another revision", "not in force", "refused"],
)
def test_what_the_agent_can_not_know_is_not_believed(said: IntentResult) -> None:
    """Without its records the agent takes our 0 for what was there; a hold that is not in force has replaced nothing."""
    cluster = held_view(stored={ACCOUNT: BLIND}, results={ACCOUNT: said})
    assert only(cluster, "account#").action is None


def test_a_release_takes_along_what_the_agent_replaced() -> None:
    said = {ACCOUNT: told({"GrpJobs": "-1"})}
    cluster = held_view(situation(LAB1), stored={ACCOUNT: BLIND}, results=said)
    action = only(cluster, "account#").action
    assert isinstance(action, WithdrawIntent)
    assert action.intent.previous == {"GrpJobs": "-1"}


@pytest.mark.parametrize(("before", "is_known"), [("UP", True), ("DOWN", False), ("ODD", False)])
def test_the_state_of_a_partition_before_its_hold(before: str, *, is_known: bool) -> None:
    stored = replace(intent(SetPartitionState("gpu", PartitionState.DOWN)), previous=None)
    said = replace(told({"State": before}), sk=PARTITION)
    holding = situation(DOWN, memory=HELD, answer=reading(1))
    action = only(
        held_view(holding, stored={PARTITION: stored}, results={PARTITION: said}), "partition#"
    ).action
    if not is_known:
        assert action is None
        return
    assert isinstance(action, WriteIntent)
    assert action.intent.previous == {"State": "UP"}
