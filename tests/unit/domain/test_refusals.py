from collections.abc import Mapping
from dataclasses import replace

import pytest

from proctor.domain.actions import NotifyOperators, NotifyPerson, TerminateSession
from proctor.domain.decision import Case, Decision, Mode, Verdict
from proctor.domain.guardrails import ActionBudget, Guardrails
from proctor.domain.refusals import is_protected, refusals

BUDGETS = {"session_ends": ActionBudget(per_run=3), "notices": ActionBudget(per_run=3)}


def end(name: str, rule: str = "cap", cluster: str = "alpha", mode: Mode = Mode.APPLY) -> Verdict:
    subject = f"session#{name}"
    action = TerminateSession(subject=subject, session_id=name, holder="ada")
    return Verdict(
        subject=subject,
        cluster=cluster,
        rule=rule,
        reason="r",
        text="t",
        mode=mode,
        policy_version=1,
        action=action,
    )


def ends(count: int, rule: str = "cap", cluster: str = "alpha", mode: Mode = Mode.APPLY) -> list[Verdict]:
    return [end(f"{cluster}-{rule}-{n}", rule, cluster, mode) for n in range(count)]


def rails(**fields: object) -> Guardrails:
    share = frozenset({"disabled", "unmapped"})
    return Guardrails(**{"budgets": BUDGETS, "share_rules": share, **fields})  # type: ignore[arg-type]


def refused(
    verdicts: list[Verdict],
    guardrails: Mapping[str, Guardrails] | None = None,
    considered: Mapping[str, int] | None = None,
    lifted: tuple[str, ...] = (),
) -> dict[str, str]:
    decision = Decision(
        cases=(Case(subject="x", verdicts=tuple(verdicts)),),
        rails={"alpha": rails()} if guardrails is None else guardrails,
        considered=considered or {},
    )
    return refusals(decision, lifted)


def test_as_many_ends_as_are_plausible_pass() -> None:
    assert refused(ends(3)) == {}


def test_one_more_than_plausible_stops_all_of_that_cluster() -> None:
    assert refused(ends(4)) == {"alpha": "4 session_ends in one run exceed the 3 that are plausible"}


def test_one_clusters_flood_does_not_stop_another_cluster() -> None:
    both = {"alpha": rails(), "beta": rails()}

    assert refused([*ends(4), *ends(2, cluster="beta")], both).keys() == {"alpha"}


def test_what_is_off_or_in_dry_run_uses_no_budget() -> None:
    assert refused([*ends(9, mode=Mode.DRY_RUN), *ends(9, rule="document", mode=Mode.OFF)]) == {}


def test_settling_what_was_done_before_uses_no_budget() -> None:
    assert refused([*ends(3), replace(end("gone"), is_closing=True)]) == {}


def test_a_break_glass_request_lifts_the_budget_that_it_names_and_no_other() -> None:
    assert refused(ends(4), lifted=("session_ends",)) == {}
    assert refused(ends(4), lifted=("notices",)).keys() == {"alpha"}


def test_a_cluster_without_guardrails_is_not_acted_on() -> None:
    assert refused(ends(1), {}) == {"alpha": "no guardrails are known for this cluster"}


def test_an_action_without_a_budget_in_the_guardrails_is_refused() -> None:
    assert refused(ends(1), {"alpha": rails(budgets={})}) == {
        "alpha": "the policy's guardrails hold no budget for session_ends"
    }


def test_messages_to_operators_are_never_refused() -> None:
    told = Verdict(
        subject="operators",
        cluster="alpha",
        rule="r",
        reason="r",
        text="t",
        mode=Mode.APPLY,
        policy_version=1,
        action=NotifyOperators(subject="operators", headline="h", text="t"),
    )

    assert refused([told] * 50) == {}


@pytest.mark.parametrize(
    ("hit", "considered", "percent", "is_refused"),
    [
        pytest.param(5, 10, 50, False, id="half of them is still plausible"),
        pytest.param(6, 10, 50, True, id="more than half is a wrong directory"),
        pytest.param(9, 9, 50, False, id="of fewer than ten nothing can be told"),
        pytest.param(10, 10, 100, False, id="a policy may allow all of them"),
    ],
)
def test_the_share_guard_stops_a_wrong_directory(
    hit: int, considered: int, percent: int, is_refused: bool
) -> None:
    wide = {"session_ends": ActionBudget(per_run=99)}
    guard = {"alpha": rails(budgets=wide, max_share_percent=percent)}

    found = refused(ends(hit, "disabled"), guard, {"alpha": considered})

    assert bool(found) is is_refused
    if is_refused:
        assert found["alpha"] == "6 of 10 subjects would be hit (60 %, at most 50 %)"


def test_the_share_guard_adds_up_the_rules_that_hang_on_the_directory_and_ignores_the_cap() -> None:
    wide = {"alpha": rails(budgets={"session_ends": ActionBudget(per_run=99)})}

    assert refused([*ends(3, "disabled"), *ends(3, "unmapped")], wide, {"alpha": 10}).keys() == {"alpha"}
    assert refused([*ends(3, "disabled"), *ends(7, "cap")], wide, {"alpha": 10}) == {}
    assert refused([*ends(3, "disabled"), *ends(3, "unmapped")], wide, {"alpha": 10}, ("share",)) == {}


def test_a_protected_person_protects_every_session_and_nothing_else() -> None:
    guard = rails(protected_subjects=frozenset({"person#ada"}))
    mail = NotifyPerson(subject="notice#ada", login_name="ada", email=None, headline="h", text="t")
    told = Verdict(
        subject="notice#ada",
        cluster="alpha",
        rule="r",
        reason="r",
        text="t",
        mode=Mode.APPLY,
        policy_version=1,
        action=mail,
    )

    assert is_protected(end("a"), guard)
    assert is_protected(end("a"), rails(protected_subjects=frozenset({"session#a"})))
    assert not is_protected(end("a"), rails(protected_subjects=frozenset({"person#grace"})))
    assert not is_protected(told, guard)


@pytest.mark.parametrize("field", ["per_run", "per_window", "window_minutes"])
def test_a_budget_that_could_never_be_met_is_refused(field: str) -> None:
    with pytest.raises(ValueError, match=f"{field} must be 1 or more"):
        ActionBudget(**{field: 0})
