"""Cases that rest on what cases before them remember."""

from dataclasses import dataclass, field

import pytest

from proctor.domain.actions import NotifyOperators
from proctor.domain.decision import Case, Decision, MemoryWrite, Mode, OutcomeStatus, RunContext, Verdict
from proctor.domain.errors import LostRaceError, TerminalError
from proctor.runtime.appliers import OperatorNotice
from proctor.runtime.executor import LOST_RACE, Executor, Stores
from tests.fakes.memory import FakeCounters
from tests.fakes.people import FakeOperatorNotifier
from tests.fakes.policies import FakePauseSwitch
from tests.fakes.records import FakeClaimStore, FakeEventPublisher, FakeTelemetry, FakeVerdictStore
from tests.fakes.values import NOW


@dataclass
class FakeMemory:
    """Refuses the subjects in `refused`."""

    refused: dict[str, Exception] = field(default_factory=dict)
    swapped: list[str] = field(default_factory=list)

    def swap(self, subject: str, data: object, expected_rev: int) -> None:
        if subject in self.refused:
            raise self.refused[subject]
        self.swapped.append(subject)


def case(name: str, memory: str | None = None, rests_on: tuple[str, ...] = ()) -> Case:
    verdict = Verdict(
        subject=name,
        cluster="alpha",
        rule="r",
        reason="why",
        text="t",
        mode=Mode.APPLY,
        policy_version=1,
        action=NotifyOperators(subject=name, headline=name, text="t"),
    )
    write = MemoryWrite(subject=memory, data="x", expected_rev=0) if memory is not None else None
    return Case(subject=name, verdicts=(verdict,), memory=write, rests_on=rests_on)


CASES = (
    case("budget a", memory="a"),
    case("budget b", memory="b"),
    case("hold of a", rests_on=("a",)),
    case("hold of both", rests_on=("b", "a")),
    case("hold of b", rests_on=("b",)),
    case("hold of one not swapped", rests_on=("c",)),
    case("chained", memory="d", rests_on=("a",)),
    case("on the chained", rests_on=("d",)),
)
RESTING = {"hold of a", "hold of both", "chained", "on the chained"}


def run(memory: FakeMemory) -> tuple[dict[str, tuple[OutcomeStatus, str]], list[str], FakeVerdictStore]:
    told, verdicts = FakeOperatorNotifier(), FakeVerdictStore()
    stores = Stores(
        claims=FakeClaimStore(),
        verdicts=verdicts,
        memory=memory,
        counters=FakeCounters(),
        pause=FakePauseSwitch(),
        events=FakeEventPublisher(),
        telemetry=FakeTelemetry(),
    )
    executor = Executor({NotifyOperators: OperatorNotice(told)}, stores)
    context = RunContext(function="f", now=NOW, token="t", trigger="test")
    try:
        outcomes = executor.run(Decision(cases=CASES), context)
    except TerminalError:
        outcomes = ()
    found = {o.verdict.subject: (o.status, o.detail) for o in outcomes}
    return found, [notice.headline for notice in told.published], verdicts


def test_nothing_is_done_on_a_memory_whose_race_was_lost() -> None:
    memory = FakeMemory(refused={"a": LostRaceError("a")})
    found, told, verdicts = run(memory)
    assert {n for n, o in found.items() if o == (OutcomeStatus.CONTENDED, LOST_RACE)} == {
        "budget a",
        *RESTING,
    }
    assert told == ["budget b", "hold of b", "hold of one not swapped"]
    assert memory.swapped == ["b"]
    assert verdicts.latest.keys() == set(told)


@pytest.mark.parametrize("refused", [{}, {"a": TerminalError("a")}])
def test_what_could_not_be_stored_is_not_built_upon_either(refused: dict[str, Exception]) -> None:
    _, told, _ = run(FakeMemory(refused=refused))
    expected = [c.subject for c in CASES if not refused or c.subject not in {"budget a", *RESTING}]
    assert told == expected
