"""Writing and withdrawing intents: what is read again just before, who wins a race, what counts as done."""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from proctor.domain.actions import Basis, NotifyOperators, NotifyPerson
from proctor.domain.budgets_memory import BudgetMemory
from proctor.domain.errors import ContendedError, TerminalError, ThrottledError
from proctor.domain.slurm_actions import WithdrawIntent, WriteIntent
from proctor.runtime.appliers import PersonNotice
from proctor.runtime.intent_appliers import IntentWithdrawer, IntentWriter, stands
from tests.fakes.budget_values import NOW
from tests.fakes.people import FakePersonNotifier
from tests.fakes.slurm_side import FakeBudgetMemory, FakeIntentStore, FakeWakeUp
from tests.unit.budget_holds.intents import intent

SUBJECT = "account#alpha#lab1"
SINCE = NOW - timedelta(minutes=3)


class Parts:
    """An applier of each kind on one store; lab1 holds and lab2 does not."""

    def __init__(self) -> None:
        self.store, self.memory, self.wake = FakeIntentStore(), FakeBudgetMemory(), FakeWakeUp()
        self.warned: list[str] = []
        self.memory.swap("alpha#lab1", BudgetMemory(is_holding=True, level_at=SINCE), 0)
        self.memory.swap("alpha#lab2", BudgetMemory(level_at=SINCE), 0)
        parts: Any = (self.store, self.memory, self.wake.wake, self.warned.append)
        self.writer, self.withdrawer = IntentWriter(*parts), IntentWithdrawer(*parts)


def write(rev: int = 0, *holders: str) -> WriteIntent:
    wanted = intent(rev=rev + 1)
    bases = tuple(Basis(name, SINCE) for name in holders or ("alpha#lab1",))
    return WriteIntent(subject=SUBJECT, cluster="alpha", intent=wanted, expected_rev=rev, holders=bases)


def withdraw(rev: int = 1, *holders: str) -> WithdrawIntent:
    gone = intent(rev=rev + 1, held=False)
    return WithdrawIntent(subject=SUBJECT, cluster="alpha", intent=gone, expected_rev=rev, holders=holders)


def test_a_hold_is_spared_when_no_budget_holds_any_more() -> None:
    parts = Parts()
    assert parts.writer.recheck([write(0, "alpha#lab1", "alpha#lab2")]) == {}
    assert "no budget holds" in parts.writer.recheck([write(0, "alpha#lab2", "alpha#none")])[SUBJECT]


def test_a_hold_is_spared_when_its_budget_holds_by_another_change_than_was_decided_on() -> None:
    """Who lost the race for the memory decided on a hold that began at another time: it was never stored."""
    parts = Parts()
    lost = replace(write(), holders=(Basis("alpha#lab1", SINCE + timedelta(microseconds=1)),))
    assert "as it was decided" in parts.writer.recheck([lost])[SUBJECT]
    both = replace(lost, holders=(*lost.holders, Basis("alpha#lab1", SINCE)))
    assert parts.writer.recheck([both]) == {}


def test_nobody_is_told_of_a_hold_that_was_not_stored_or_is_over() -> None:
    parts = Parts()
    notice = PersonNotice(FakePersonNotifier(), partial(stands, parts.memory))

    def mail(name: str, basis: Basis | None) -> NotifyPerson:
        return NotifyPerson(subject=name, login_name="bob", email="b@x", headline="h", text="t", basis=basis)

    mails = [
        mail("told", Basis("alpha#lab1", SINCE)),
        mail("lost", Basis("alpha#lab1", NOW)),
        mail("over", Basis("alpha#lab2", SINCE)),
        mail("of no state", None),
    ]
    assert notice.recheck(mails).keys() == {"lost", "over"}
    assert PersonNotice(FakePersonNotifier()).recheck(mails) == {}


def test_a_release_is_spared_when_another_budget_holds_by_now() -> None:
    parts = Parts()
    parts.store.put(intent(rev=1), 0)
    assert parts.withdrawer.recheck([withdraw(1, "alpha#lab2")]) == {}
    assert (
        "alpha#lab1 holds it by now"
        in parts.withdrawer.recheck([withdraw(1, "alpha#lab1", "alpha#lab2")])[SUBJECT]
    )


def test_what_was_written_since_is_left_to_the_next_look() -> None:
    parts = Parts()
    parts.store.put(intent(rev=1), 0)
    assert "has written this intent since" in parts.writer.recheck([write(0)])[SUBJECT]
    assert "has written this intent since" in parts.withdrawer.recheck([withdraw(2)])[SUBJECT]


def test_the_loser_of_a_race_is_contended_and_a_repeated_own_write_is_none() -> None:
    parts = Parts()
    parts.writer.apply(write())
    parts.writer.apply(write())
    other = replace(write(), intent=replace(write().intent, previous=None))
    with pytest.raises(ContendedError):
        parts.writer.apply(other)
    assert parts.store.written == [write().intent]


def test_done_is_what_the_store_says() -> None:
    parts = Parts()
    assert parts.writer.verify([write()]) == {SUBJECT: False}
    parts.writer.apply(write())
    assert parts.writer.verify([write()]) == {SUBJECT: True}
    assert parts.withdrawer.verify([withdraw()]) == {SUBJECT: False}
    parts.withdrawer.apply(withdraw())
    assert parts.withdrawer.verify([withdraw()]) == {SUBJECT: True}
    assert parts.writer.verify([write()]) == {SUBJECT: False}


def test_the_agent_is_woken_only_by_what_took_effect() -> None:
    parts = Parts()
    parts.writer.settled(write(), has_taken_effect=False, token="t")
    assert parts.wake.woken == []
    parts.writer.settled(write(), has_taken_effect=True, token="t")
    assert parts.wake.woken == ["alpha"]


def test_a_silent_queue_is_warned_about_only() -> None:
    parts = Parts()

    def refuse(cluster: str) -> None:
        raise ThrottledError(cluster)

    IntentWriter(parts.store, parts.memory, refuse, parts.warned.append).settled(
        write(), has_taken_effect=True, token="t"
    )
    assert parts.warned == ["the agent of alpha was not woken: alpha"]


def test_other_actions_are_refused() -> None:
    with pytest.raises(TerminalError, match="wrong applier"):
        Parts().writer.apply(NotifyOperators(subject="x", headline="h", text="t"))
