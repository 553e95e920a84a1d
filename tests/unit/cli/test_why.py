"""`proctor why`: the answer to "why was this session ended?", and to "what holds for this person?"."""

from datetime import timedelta

from proctor.domain.claims import ClaimState
from proctor.domain.decision import OutcomeStatus
from proctor.domain.exemptions import Exemption
from proctor.domain.identity import Identity, IdentityKind, Person
from proctor_cli.people_plan import rows_of
from proctor_cli.tables import ExemptionRows, PeopleRows
from tests.unit.cli import golden
from tests.unit.cli.desk import NOW, Desk
from tests.unit.cli.records import claim, context, record, start, verdict

ADA = Person(
    login_name="ada",
    identities=(Identity(IdentityKind.ROLE_SESSION, "ada@uni.example"),),
    email="ada@uni.example",
    groups=frozenset({"physics"}),
)


def _put(desk: Desk, person: Person) -> None:
    PeopleRows(desk.clients, "people").write(rows_of(person), ())


def _ended(desk: Desk) -> None:
    before = context(NOW - timedelta(hours=1))
    record(desk, verdict("ada-9", "ada", "allowed"), OutcomeStatus.NONE, before)
    text = "over the cap: 4 in use on gpu, 3 allowed (default)"
    end = verdict("ada-9", "ada", "over_cap", text=text)
    record(desk, end, OutcomeStatus.APPLIED, context(NOW, "Sweep"))
    claim(desk, end, context(NOW, "Sweep"), ClaimState.APPLIED)


def test_why_session_is_as_in_the_golden_file(desk: Desk) -> None:
    _ended(desk)
    printed = desk.run("why", "session", "ada-9")
    assert (printed.exit, printed.err) == (0, "")
    assert printed.out == golden.read("why-session.txt")


def test_why_session_for_programs(desk: Desk) -> None:
    _ended(desk)
    data = desk.run("why", "session", "ada-9", "--json").json
    found = data["verdict"]
    assert (found["reason"], found["rule"], found["outcome"], found["policy_version"]) == (
        "over_cap",
        "cap",
        "applied",
        3,
    )
    assert found["inputs"]["document"] == "SSM-SessionManagerRunShell"
    assert [row["reason"] for row in data["history"]] == ["allowed"]
    assert data["claim"]["state"] == "applied"


def test_an_end_by_hand_names_who_asked_and_why(desk: Desk) -> None:
    by_hand = context(NOW, "Manual", "ops@uni.example (claimed)")
    end = verdict("ada-9", "ada", "requested")
    record(desk, end, OutcomeStatus.UNCONFIRMED, by_hand)
    claim(desk, end, by_hand, ClaimState.UNCONFIRMED, "read back thrice")
    out = desk.run("why", "session", "ada-9").out
    assert "ops@uni.example (claimed)" in out
    assert "ticket 4711" in out
    assert "read back thrice" in out
    assert "unconfirmed: asked for, not confirmed" in out


def test_a_session_without_a_verdict_is_not_found(desk: Desk) -> None:
    printed = desk.run("why", "session", "eve-1")
    assert printed.exit == 3
    assert "no verdict on 'eve-1'" in printed.err
    assert desk.run("why", "session", "eve-1", "--json").out == ""


def test_escape_sequences_in_stored_text_do_not_reach_the_terminal(desk: Desk) -> None:
    evil = verdict("ada-9", "ada", "allowed", text="fine\x1b[2J\x07", target="i-\x1b]0;x\x07")
    record(desk, evil, OutcomeStatus.NONE)
    out = desk.run("why", "session", "ada-9").out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "fine?[2J?" in out


def _person(desk: Desk) -> None:
    desk.put_policy('{"group_caps": [{"group": "physics", "max_sessions": 2, "all_clusters": 5}]}')
    _put(desk, ADA)
    start(desk, "ada", "ada-1", NOW - timedelta(hours=3))
    start(desk, "ada", "ada-2", NOW - timedelta(hours=1))
    record(desk, verdict("ada-1", "ada", "allowed"), OutcomeStatus.NONE)
    record(desk, verdict("ada-3", "ada", "over_cap"), OutcomeStatus.APPLIED)
    record(desk, verdict("bob-1", "bob", "over_cap"), OutcomeStatus.APPLIED)
    table = ExemptionRows(desk.clients, "exemptions")
    for days in (-1, 1):
        ends_at = NOW + timedelta(days=days)
        granted_by = "arn:aws:sts::123456789012:assumed-role/Ops/grace"
        table.put(
            "session_limits",
            Exemption(
                login_name="ada",
                ends_at=ends_at,
                granted_by=granted_by,
                justification="paper deadline",
                max_sessions=6 + days,
                cluster="cpu" if days > 0 else None,
            ),
        )


def test_why_person_is_as_in_the_golden_file(desk: Desk) -> None:
    _person(desk)
    printed = desk.run("why", "person", "ada")
    assert (printed.exit, printed.err) == (0, "")
    assert printed.out == golden.read("why-person.txt")
    assert max(map(len, printed.out.splitlines())) <= 100


def test_why_person_for_programs(desk: Desk) -> None:
    _person(desk)
    data = desk.run("why", "person", "ada", "--json").json
    assert data["caps"] == [
        {"scope": "gpu", "in_use": 2, "cap": 2, "source": "group physics"},
        {"scope": "all clusters", "in_use": 2, "cap": 5, "source": "all clusters (gpu)"},
    ]
    assert [s["session_id"] for s in data["sessions"]] == ["ada-1", "ada-2"]
    assert data["sessions"][0]["verdict"]["reason"] == "allowed"
    assert data["sessions"][1]["verdict"] is None
    assert [e["subject"] for e in data["ends"]] == ["session#ada-3"]
    assert sorted(e["is_over"] for e in data["exemptions"]) == [False, True]


def test_a_running_exemption_is_the_source_of_the_cap(desk: Desk) -> None:
    _person(desk)
    desk.run("exempt", "ada", "--until", "2h", "--no-cap", "--justification", "course")
    data = desk.run("why", "person", "ada", "--json").json
    assert data["caps"][0] == {"scope": "gpu", "in_use": 2, "cap": None, "source": "exemption"}
    assert "no cap" in desk.run("why", "person", "ada").out


def test_an_owner_in_no_directory_row_has_an_answer_too(desk: Desk) -> None:
    owner = "owner:arn:aws:sts::123456789012:assumed-role/Admin/eve"
    record(desk, verdict("eve-1", owner, "unmapped_owner"), OutcomeStatus.NONE)
    start(desk, owner, "eve-1")
    data = desk.run("why", "person", owner, "--json").json
    assert (data["person"], data["caps"]) == (None, [])
    assert data["sessions"][0]["verdict"]["reason"] == "unmapped_owner"


def test_a_name_that_begins_like_another_is_another_person(desk: Desk) -> None:
    record(desk, verdict("adam-1", "adam", "over_cap"), OutcomeStatus.APPLIED)
    printed = desk.run("why", "person", "ada")
    assert printed.exit == 3
    assert "'ada' is in neither the people directory nor the ledger" in printed.err
