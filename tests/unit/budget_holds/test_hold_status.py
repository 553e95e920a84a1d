"""What the agent says of a hold: one that does not bind is an alarm, not a success."""

from datetime import timedelta
from typing import Any

import pytest

from proctor.domain.agent_protocol import (
    Outcome,
)
from tests.fakes.budget_values import NOW, limits
from tests.unit.budget_holds.intents import LATE, alarms, held_view, intent, result, verdicts


@pytest.mark.parametrize(
    ("seen", "reason", "alarm"),
    [
        ({"results": {"account#lab1": result(Outcome.CANNOT_BIND, detail="QOS x")}}, "cannot_bind", "cannot_bind"),
        ({"results": {"account#lab1": result()}, "limits": limits(bind=False)}, "cannot_bind", "cannot_bind"),
        ({"results": {"account#lab1": result(Outcome.REFUSED)}}, "refused", "refused"),
        ({"results": {"account#lab1": result(Outcome.FAILED)}}, "failed", "failed"),
        ({"results": {"account#lab1": result(Outcome.LEFT_ALONE)}}, "left_alone", "left_alone"),
        ({"results": {"account#lab1": result(Outcome.DRY_RUN)}}, "agent_dry_run", "agent_dry_run"),
        ({"results": {"account#lab1": result(Outcome.UNCONFIRMED)}}, "pending", None),
        ({"results": {"account#lab1": result(Outcome.UNCONFIRMED, at=LATE)}}, "not_confirmed", "not_confirmed"),
        ({"results": {"account#lab1": result(rev=2)}}, "not_confirmed", "not_confirmed"),
        ({"results": {}}, "not_confirmed", "not_confirmed"),
        ({"seen_at": NOW - timedelta(minutes=3)}, "agent_silent", "agent_silent"),
    ],
)  # fmt: skip
def test_a_hold_that_does_not_bind_is_an_alarm_not_a_success(
    seen: dict[str, Any], reason: str, alarm: str | None
) -> None:
    cluster = held_view(stored={"account#lab1": intent()}, **seen)
    assert verdicts(cluster)[0].reason == reason
    assert alarms(cluster) == ([alarm] if alarm else [])


def test_a_fresh_write_has_three_minutes_to_be_confirmed() -> None:
    cluster = held_view(stored={"account#lab1": intent(written=NOW - timedelta(minutes=3))})
    assert verdicts(cluster)[0].reason == "pending"
