"""The cap as decide applies it: who counts, on which cluster, and what is remembered."""

from dataclasses import replace
from datetime import timedelta

import pytest

from proctor.domain.actions import Peer, TerminateSession
from proctor.domain.decision import Decision, Mode
from proctor.domain.ledger import PersonLedger, SeenBy
from proctor.domain.sessions import SessionStatus
from session_limits.decide import decide
from session_limits.snapshot import Located, Path
from tests.fakes.snapshots import (
    by_subject,
    ended,
    entry,
    ledger_of,
    located,
    policy,
    reasons,
    session_verdicts,
    sessions_of,
    situation,
    snapshot,
)
from tests.fakes.values import NOW, person, role_arn, session

ADA = person("ada")
FOUR = sessions_of("ada", 4)
ONE_MINUTE = timedelta(minutes=1)


def ledger_after(decision: Decision) -> PersonLedger:
    """What the first case remembers."""
    memory = decision.cases[0].memory
    assert memory is not None
    assert isinstance(memory.data, PersonLedger)
    return memory.data


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        pytest.param("Connected Connected Connected Connecting", {"d"}, id="a Connecting session counts"),
        pytest.param("Connected Connected Disconnected Connected", {"d"}, id="a Disconnected session counts"),
        pytest.param("Connected Terminating Connected Connected", set(), id="a Terminating one doesn't"),
        pytest.param("Connected Connected Connected Unrecognised", set(), id="nor one of unknown status"),
    ],
)
def test_who_counts_by_status(statuses: str, expected: set[str]) -> None:
    hers = [replace(s, status=SessionStatus(name)) for s, name in zip(FOUR, statuses.split(), strict=True)]

    assert ended(snapshot(situation(ADA, hers))) == expected


def test_the_event_path_and_the_sweep_reach_the_same_end() -> None:
    for path in (Path.EVENT, Path.SWEEP, Path.MANUAL):
        assert reasons(snapshot(situation(ADA, FOUR), path=path)) == {
            "a": "allowed",
            "b": "allowed",
            "c": "allowed",
            "d": "over_cap",
        }


def test_an_end_freezes_the_cap_and_everybody_counted_for_the_look_before_the_act() -> None:
    action = session_verdicts(snapshot(situation(ADA, FOUR)))["ada@uni.example-d"].action

    assert isinstance(action, TerminateSession)
    assert action.cap == 3
    assert action.peers == tuple(Peer(s.session_id, 1) for s in FOUR)
    assert action.holder == "ada"


def test_the_verdict_says_count_cap_and_source() -> None:
    text = session_verdicts(snapshot(situation(ADA, FOUR)))["ada@uni.example-d"].text

    assert text == "over the cap: 4 in use on alpha, 3 allowed (default)"


def test_every_document_counts_with_its_weight() -> None:
    mixed = [
        replace(s, document_name=d)
        for s, d in zip(
            FOUR,
            [
                "SSM-SessionManagerRunShell",
                "AWS-StartSSHSession",
                "AWS-StartPortForwardingSession",
                "SSM-SessionManagerRunShell",
            ],
            strict=True,
        )
    ]

    assert ended(snapshot(situation(ADA, mixed))) == {"d"}
    free_forwards = [policy(weights={"port_forward": 0})]
    assert ended(snapshot(situation(ADA, mixed), policies=free_forwards)) == set()
    heavy_ssh = [policy(weights={"ssh": 2})]
    assert ended(snapshot(situation(ADA, mixed), policies=heavy_ssh)) == {"d", "c"}


def test_sessions_that_end_for_another_reason_use_up_no_cap() -> None:
    foreign = replace(FOUR[0], document_name="Own-Document")

    assert ended(
        snapshot(situation(ADA, [foreign, *FOUR[1:]]), policies=[policy(document_response="end")])
    ) == {"a"}


def test_a_session_that_would_end_in_dry_run_only_still_uses_up_the_cap() -> None:
    foreign = replace(FOUR[0], document_name="Own-Document")
    dry = policy(document_response="end", rules={"document": "dry_run"})

    assert ended(snapshot(situation(ADA, [foreign, *FOUR[1:]]), policies=[dry])) == {"a", "d"}


def test_sessions_of_an_unmapped_owner_are_counted_by_nobody() -> None:
    nobodys = [replace(s, owner_arn=role_arn("x1")) for s in FOUR]

    assert set(reasons(snapshot(situation(None, nobodys))).values()) == {"unmapped_owner"}


def test_break_glass_sessions_leave_the_cap_to_the_others() -> None:
    role = replace(FOUR[3], owner_arn=role_arn("ada@uni.example", "BreakGlass"))
    role = session(role.session_id, owner_arn=role.owner_arn)
    taken = snapshot(situation(ADA, [*FOUR[:3], role]), policies=[policy(break_glass_roles=["BreakGlass"])])

    assert ended(taken) == set()


def two_clusters(alpha: int, beta: int) -> list[Located]:
    everything = sessions_of("ada", alpha + beta)
    return [located(s) for s in everything[:alpha]] + [located(s, "beta") for s in everything[alpha:]]


@pytest.mark.parametrize(
    ("alpha", "beta", "over_all", "expected"),
    [
        pytest.param(2, 2, 4, set(), id="within the cap on each cluster and over all"),
        pytest.param(4, 1, 3, {"d", "e"}, id="over it on one, then over all: two ends"),
        pytest.param(4, 2, 5, {"d"}, id="who ends on one cluster is not counted over all"),
        pytest.param(3, 2, 4, {"e"}, id="over all only: the newest anywhere"),
        pytest.param(0, 4, 4, {"d"}, id="over it on the other"),
    ],
)
def test_caps_hold_on_each_cluster_and_over_all(
    alpha: int, beta: int, over_all: int, expected: set[str]
) -> None:
    policies = [policy(cap={"max_sessions": 3, "all_clusters": over_all}), policy(cluster="beta")]

    assert ended(snapshot(situation(ADA, two_clusters(alpha, beta)), policies=policies)) == expected


def test_a_cap_in_dry_run_on_one_cluster_takes_nothing_from_the_count_over_all() -> None:
    dry = policy(cap={"max_sessions": 1}, rules={"cap": "dry_run"})
    beta = policy(cluster="beta", cap={"max_sessions": 9, "all_clusters": 3})
    taken = snapshot(situation(ADA, two_clusters(2, 2)), policies=[dry, beta])

    modes = {k.rpartition("-")[2]: v.mode for k, v in session_verdicts(taken).items() if v.action}
    assert modes == {"b": Mode.DRY_RUN, "d": Mode.APPLY}


def test_victims_get_an_intent_of_this_evaluation_and_the_rest_none() -> None:
    after = ledger_after(decide(snapshot(situation(ADA, FOUR))))

    assert [(sid[-1], e.intent_token) for sid, e in after.entries.items()] == [
        ("a", None),
        ("b", None),
        ("c", None),
        ("d", "token-1"),
    ]
    assert after.evicted_at == (NOW,)
    assert after.incident_at == NOW
    assert after.entries["ada@uni.example-d"].reason == "over_cap"


def test_the_ledger_is_swapped_by_the_revision_that_was_read() -> None:
    memory = decide(snapshot(situation(ADA, FOUR))).cases[0].memory

    assert memory is not None
    assert (memory.subject, memory.expected_rev) == ("ada", 3)


@pytest.mark.parametrize("mode", ["dry_run", "off"])
def test_without_leave_to_act_no_intent_is_taken(mode: str) -> None:
    after = ledger_after(decide(snapshot(situation(ADA, FOUR), policies=[policy(mode=mode)])))

    assert all(e.intent_token is None for e in after.entries.values())
    assert after.evicted_at == ()
    assert after.incident_at is None


def test_a_session_under_an_open_intent_is_not_counted_and_counts_again_when_the_lease_is_over() -> None:
    known = ledger_of(FOUR)
    held = replace(known.entries[FOUR[0].session_id], intent_until=NOW + ONE_MINUTE, intent_token="other")
    here = situation(ADA, FOUR, replace(known, entries={**known.entries, FOUR[0].session_id: held}))

    assert ended(snapshot(here)) == set()
    assert ended(snapshot(here, now=NOW + ONE_MINUTE)) == {"d"}


def test_the_weight_of_a_session_under_an_intent_stays_known_for_when_it_is_let_go_of() -> None:
    known = ledger_of(FOUR)
    held = replace(known.entries[FOUR[0].session_id], intent_until=NOW + ONE_MINUTE, intent_token="other")
    here = situation(ADA, FOUR, replace(known, entries={**known.entries, FOUR[0].session_id: held}))

    after = ledger_after(decide(snapshot(here)))
    assert after.weight_in("alpha", NOW) == 3
    assert after.weight_in("alpha", NOW + ONE_MINUTE) == 4


def test_an_event_within_the_cap_writes_no_memory() -> None:
    here = situation(ADA, FOUR[:1], ledger_of(FOUR[:2]), is_complete=False)

    assert decide(snapshot(here, path=Path.EVENT)).cases[0].memory is None


def test_an_incomplete_look_drops_nobody_from_the_ledger() -> None:
    disabled = situation(person(is_disabled=True), FOUR[:1], ledger_of(FOUR), is_complete=False)

    assert ledger_after(decide(snapshot(disabled, path=Path.EVENT))).entries.keys() == {
        s.session_id for s in FOUR
    }


def test_an_incomplete_look_counts_nobody() -> None:
    here = situation(ADA, FOUR[:1], ledger_of(FOUR), is_complete=False)

    assert ended(snapshot(here, policies=[policy(weights={"shell": 9})], path=Path.EVENT)) == set()


def test_the_sweep_mends_the_ledger() -> None:
    ledger = PersonLedger(holder="ada", rev=3, entries={"gone": entry(), FOUR[0].session_id: entry()})

    after = ledger_after(decide(snapshot(situation(ADA, FOUR[:2], ledger))))
    assert after.entries.keys() == {s.session_id for s in FOUR[:2]}
    assert after.entries[FOUR[1].session_id].seen_by is SeenBy.SWEEP


def test_a_ledger_that_is_right_already_is_not_written() -> None:
    first = ledger_after(decide(snapshot(situation(ADA, FOUR[:2]))))

    assert decide(snapshot(situation(ADA, FOUR[:2], first))).cases[0].memory is None


def test_a_verdict_that_the_ledger_knows_is_marked_as_known() -> None:
    first = ledger_after(decide(snapshot(situation(ADA, FOUR[:2]))))

    again = session_verdicts(snapshot(situation(ADA, FOUR[:2], first)))
    assert all(v.is_known for v in again.values())
    assert not any(v.is_known for v in session_verdicts(snapshot(situation(ADA, FOUR[:2]))).values())


def test_only_the_sweep_says_how_many_were_looked_at() -> None:
    here = situation(ADA, FOUR)

    assert decide(snapshot(here)).considered == {"alpha": 4}
    assert decide(snapshot(here, path=Path.EVENT)).considered == {}


def test_each_cluster_brings_its_guardrails() -> None:
    decision = decide(snapshot(situation(ADA, FOUR), policies=[policy(protected_people=["ada"])]))

    assert decision.rails["alpha"].protected_subjects == {"person#ada"}
    assert by_subject(decision)["session#ada@uni.example-d"].mode is Mode.APPLY
