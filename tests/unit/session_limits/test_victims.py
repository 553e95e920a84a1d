from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.domain.sessions import Session, SessionStatus, Work
from session_limits.policy import VictimOrder
from session_limits.victims import Surplus, surplus
from tests import strategies
from tests.fakes.values import NOW, session

DISCONNECTED = SessionStatus.DISCONNECTED


def one(
    name: str,
    minutes_ago: int | None = 10,
    work: Work = Work.UNKNOWN,
    status: SessionStatus = SessionStatus.CONNECTED,
    idle: int | None = None,
) -> Session:
    started_at: datetime | None = None if minutes_ago is None else NOW - timedelta(minutes=minutes_ago)
    return session(f"ada-{name}", started_at=started_at, work=work, status=status, idle_minutes=idle)


def over(
    counted: Sequence[Session], cap: int | None, order: VictimOrder = VictimOrder.NEWEST, **weights: int
) -> Surplus | None:
    known = {s.session_id: weights.get(s.session_id.removeprefix("ada-"), 1) for s in counted}
    return surplus("on alpha", cap, "default", counted, known, order)


def victims(
    counted: Sequence[Session], cap: int | None, order: VictimOrder = VictimOrder.NEWEST, **weights: int
) -> str:
    found = over(counted, cap, order, **weights)
    return " ".join(v.removeprefix("ada-") for v in found.victims) if found else "nobody"


NEWEST_LAST = [one("a", 30), one("b", 20), one("c", 10)]


@pytest.mark.parametrize(
    ("counted", "cap", "who"),
    [
        pytest.param(NEWEST_LAST, 3, "nobody", id="at the cap nobody goes"),
        pytest.param(NEWEST_LAST, None, "nobody", id="without a cap nobody goes"),
        pytest.param([], 1, "nobody", id="no session is no surplus"),
        pytest.param(NEWEST_LAST, 2, "c", id="one too many: the newest start goes"),
        pytest.param(NEWEST_LAST, 1, "c b", id="two too many: the two newest, newest first"),
        pytest.param(
            [one("b"), one("a"), one("c")], 1, "a b", id="of equal starts the smaller session id goes"
        ),
        pytest.param(
            [one("a", 30, Work.NONE, idle=5), one("b", 20)],
            1,
            "a",
            id="one known to be without work goes before a newer one",
        ),
        pytest.param(
            [one("a", 30, Work.WORKING), one("b", 20)], 1, "b", id="unknown counts as working: the newest"
        ),
        pytest.param(
            [one("a", 30), one("b", 20, Work.WORKING)], 1, "b", id="working is not more than unknown"
        ),
        pytest.param(
            [
                one("a", 30, Work.NONE, idle=90),
                one("b", 20, Work.NONE, DISCONNECTED, idle=1),
                one("c", 10, Work.NONE, idle=50),
            ],
            1,
            "b a",
            id="without work: Disconnected first, then the longest idle",
        ),
        pytest.param(
            [one("a", 30, Work.UNKNOWN, DISCONNECTED), one("b", 20)],
            1,
            "b",
            id="Disconnected with unknown work has no place of its own",
        ),
        pytest.param(
            [one("a", 30, Work.NONE, idle=7), one("b", 20, Work.NONE, idle=7)],
            1,
            "b",
            id="equally idle: the newest start",
        ),
        pytest.param(
            [one("a", 30, Work.NONE), one("b", 40, Work.NONE, idle=1)],
            1,
            "b",
            id="without work and no idle time known counts as just used",
        ),
        pytest.param(
            [one("a", 30, Work.NONE, idle=1), one("b", 20), one("c", 10)],
            1,
            "a c",
            id="if those without work don't suffice, the newest goes too",
        ),
        pytest.param(
            [one("a", None), one("b", 20)], 1, "b", id="a session of unknown start is taken for the oldest"
        ),
    ],
)
def test_who_ends_when_the_newest_goes(counted: list[Session], cap: int | None, who: str) -> None:
    assert victims(counted, cap) == who


@pytest.mark.parametrize(
    ("counted", "cap", "who"),
    [
        pytest.param(NEWEST_LAST, 1, "a b", id="the oldest start goes"),
        pytest.param([one("b"), one("a")], 1, "a", id="of equal starts the smaller session id goes"),
        pytest.param(
            [one("a", 30), one("b", 20, Work.NONE, idle=1)], 1, "b", id="without work goes first all the same"
        ),
        pytest.param(
            [one("a", 30, Work.NONE, DISCONNECTED), one("b", 40, Work.NONE, DISCONNECTED)],
            1,
            "b",
            id="of two Disconnected the oldest",
        ),
    ],
)
def test_who_ends_when_the_policy_says_oldest(counted: list[Session], cap: int, who: str) -> None:
    assert victims(counted, cap, VictimOrder.OLDEST) == who


def test_a_session_of_weight_nothing_never_goes() -> None:
    assert victims(NEWEST_LAST, 1, c=0) == "b"
    assert victims(NEWEST_LAST, 1, b=0, c=0) == "nobody"


def test_weights_are_what_is_counted_and_what_is_freed() -> None:
    assert victims(NEWEST_LAST, 3, c=3) == "c"
    assert victims(NEWEST_LAST, 3, a=2) == "c"


def test_nobody_goes_whose_end_a_heavier_victim_makes_needless() -> None:
    assert victims(NEWEST_LAST, 2, b=3) == "b"


def test_a_surplus_says_scope_cap_source_use_and_everybody_counted() -> None:
    found = over(NEWEST_LAST, 2, a=2)

    assert found is not None
    assert (found.scope, found.cap, found.source, found.used) == ("on alpha", 2, "default", 4)
    assert [(p.session_id, p.weight) for p in found.peers] == [("ada-a", 2), ("ada-b", 1), ("ada-c", 1)]


@st.composite
def crowds(draw: st.DrawFn) -> tuple[list[Session], int, VictimOrder, dict[str, int]]:
    counted = [s for s in draw(strategies.sessions()) if s.is_counted]
    weights = {s.session_id: draw(st.integers(0, 4)) for s in counted}
    return counted, draw(st.integers(1, 8)), draw(st.sampled_from(VictimOrder)), weights


@given(crowds())
def test_victims_are_exactly_the_surplus(
    crowd: tuple[list[Session], int, VictimOrder, dict[str, int]],
) -> None:
    """Those left fit under the cap, and no victim could have been spared."""
    counted, cap, order, weights = crowd
    used = sum(weights.values())
    found = surplus("s", cap, "default", counted, weights, order)

    if found is None:
        assert used <= cap
        return
    assert used > cap
    freed = [weights[v] for v in found.victims]
    assert used - sum(freed) <= cap
    for spared in combinations(range(len(freed)), 1):
        assert used - sum(w for n, w in enumerate(freed) if n not in spared) > cap


@given(crowds(), st.randoms(use_true_random=False))
def test_victims_do_not_depend_on_the_order_of_the_listing(
    crowd: tuple[list[Session], int, VictimOrder, dict[str, int]],
    chance: "object",
) -> None:
    counted, cap, order, weights = crowd
    shuffled = list(counted)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]

    assert surplus("s", cap, "d", shuffled, weights, order) == surplus("s", cap, "d", counted, weights, order)


@given(crowds())
def test_a_smaller_cap_never_spares_one_that_a_larger_cap_ends_when_all_weigh_the_same(
    crowd: tuple[list[Session], int, VictimOrder, dict[str, int]],
) -> None:
    counted, _, order, _ = crowd
    alike = {s.session_id: 1 for s in counted}
    chosen = [surplus("s", cap, "d", counted, alike, order) for cap in range(1, 9)]

    for tighter, looser in pairwise(chosen):
        if looser is not None:
            assert tighter is not None
            assert tighter.victims[: len(looser.victims)] == looser.victims
