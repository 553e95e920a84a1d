"""A small part of `make simulate`, and that the simulation itself is to be trusted."""

import time

import pytest

from tests.simulation.core.expressions import UnknownExpressionError, condition, update
from tests.simulation.core.scheduler import Scheduler
from tests.simulation.core.suite import shrink, told
from tests.simulation.jobs import Pool
from tests.simulation.sessions.play import play
from tests.simulation.sessions.scenario import draw_scenario
from tests.simulation.sessions.suite import SUITE, crash_scenario, with_crash
from tests.simulation.suites import SUITES

SMOKE_SEEDS = range(12)
SMOKE_BUGS = ("not count Disconnected", "settle before apply", "duplicate event applies twice")

BUGS = {bug.name: bug for bug in SUITE.planted}


@pytest.mark.parametrize("seed", SMOKE_SEEDS)
def test_every_invariant_holds(seed: int) -> None:
    result = play(draw_scenario(seed))

    assert result.broken is None, "\n".join(told(result))


@pytest.mark.parametrize("name", SMOKE_BUGS)
def test_a_planted_bug_is_caught(name: str) -> None:
    with BUGS[name].planted():
        caught = [seed for seed in range(3) if play(draw_scenario(seed)).broken is not None]

    assert caught


def test_a_planted_bug_is_taken_back() -> None:
    before = [vars(owner)[name] for bug in SUITE.planted for owner, name, _ in bug.patches()]
    for bug in SUITE.planted:
        with bug.planted():
            pass
    after = [vars(owner)[name] for bug in SUITE.planted for owner, name, _ in bug.patches()]

    assert before == after


@pytest.mark.parametrize("seed", [3, 4])
def test_one_seed_is_one_run(seed: int) -> None:
    """More than a second apart, so that whoever reads the machine's clock gives himself away."""
    first = play(draw_scenario(seed))
    time.sleep(1.1)
    second = play(draw_scenario(seed))

    assert first.story.lines == second.story.lines
    assert first.calls == second.calls > 500


def test_a_process_plays_every_world_after_the_one_that_started_it_played_itself() -> None:
    """A process that was forked would wait for ever for threads that stayed behind."""
    play(draw_scenario(0))
    for number, _ in enumerate(SUITES):
        with Pool(number, 1) as pool:
            assert pool.seeds(range(1), print).text().startswith("seeds=1 violations=0")


def test_seeds_differ_and_cover_both_kinds_of_stores() -> None:
    scenarios = [draw_scenario(seed) for seed in range(60)]

    assert {s.stores for s in scenarios} == {"adapters", "fakes"}
    assert len({s.rates for s in scenarios}) > 30
    assert any(s.is_still for s in scenarios)
    assert any(s.is_dry_run for s in scenarios)
    assert any(s.clock_steps for s in scenarios)


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize("call", [1, 30, 60, 90])
def test_a_crash_at_a_call_is_survived(call: int, *, is_after: bool) -> None:
    result = play(with_crash(crash_scenario(), call, is_after))

    assert result.broken is None, "\n".join(told(result))
    assert any(f"dies {'after' if is_after else 'before'}" in what for _, _, what in result.story.lines)


def test_a_broken_run_is_shrunk_and_told() -> None:
    with BUGS["not count Disconnected"].planted():
        seed = next(s for s in range(5) if play(draw_scenario(s)).broken is not None)
        scenario = draw_scenario(seed)
        broken = play(scenario).broken
        assert broken is not None
        smaller, left_out = shrink(SUITE, scenario, broken.invariant)
        lines = told(play(smaller))

    assert left_out
    assert lines[0].startswith(f"invariant {broken.invariant}")
    assert len(lines) > 5


def test_exactly_one_actor_runs_and_time_orders_them() -> None:
    scheduler, seen = Scheduler(), list[tuple[float, str]]()

    def actor(name: str, pauses: tuple[float, ...]) -> None:
        for pause in pauses:
            scheduler.sleep(pause)
            seen.append((scheduler.now, name))

    scheduler.after(0.0, lambda: scheduler.spawn(lambda: actor("a", (1.0, 3.0))))
    scheduler.after(0.0, lambda: scheduler.spawn(lambda: actor("b", (2.0, 1.0, 9.0))))
    scheduler.run(until=10.0)
    scheduler.halt()

    assert seen == [(1.0, "a"), (2.0, "b"), (3.0, "b"), (4.0, "a")]


def test_what_an_actor_raises_ends_the_run() -> None:
    scheduler = Scheduler()

    def actor() -> None:
        scheduler.sleep(1.0)
        raise ValueError("broken")

    scheduler.after(0.0, lambda: scheduler.spawn(actor))
    scheduler.after(0.0, lambda: scheduler.spawn(lambda: scheduler.sleep(5.0)))
    with pytest.raises(ValueError, match="broken"):
        scheduler.run(until=10.0)
    scheduler.halt()


def test_expressions_do_what_dynamodb_does() -> None:
    item = {"rev": {"N": "3"}, "s#a": {"M": {"token": {"S": "t"}}}}
    names, values = {"#s": "s#a"}, {":t": {"S": "t"}, ":u": {"S": "u"}, ":one": {"N": "1"}}

    assert condition("attribute_exists(#s) AND #s.token = :t")(item, names, values)
    assert not condition("attribute_not_exists(rev) OR #s.token = :u")(item, names, values)
    assert not condition("#s.gone = :t")(item, names, values)
    update("SET #s.token = :u REMOVE rev", item, names, values)
    update("SET first = if_not_exists(first, :t) ADD spent :one", item, names, values)
    update("SET first = if_not_exists(first, :u) ADD spent :one", item, names, values)
    assert item == {"s#a": {"M": {"token": {"S": "u"}}}, "first": {"S": "t"}, "spent": {"N": "2"}}


def test_an_expression_the_model_does_not_know_is_refused() -> None:
    with pytest.raises(UnknownExpressionError):
        condition("begins_with(a, :b)")
    with pytest.raises(UnknownExpressionError):
        update("SET #s.token = :t", {}, {"#s": "s#a"}, {":t": {"S": "t"}})
