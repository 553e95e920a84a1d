"""people.jsonl: what is refused, where, and with which fix."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.adapters.people_table import person_of, record_of
from proctor_cli.people_file import PeopleFile, read_people
from tests.unit.cli.bad_lines import BAD_LINES, line


def read(*lines: dict[str, Any] | str) -> PeopleFile:
    return read_people("\n".join(t if isinstance(t, str) else json.dumps(t) for t in lines).encode())


def test_every_field_of_a_line_arrives() -> None:
    record = {
        "login_name": "ada",
        "identities": [
            {
                "kind": "role_session",
                "value": "ada@uni.example",
                "account_id": None,
                "roles": ["AWSReservedSSO_Lab_*"],
            },
            {"kind": "iam_user", "value": "ada.l", "account_id": "123456789012", "roles": []},
        ],
        "email": "ada@uni.example",
        "time_zone": "Europe/London",
        "groups": ["physics", "staff"],
        "run_as": "adal",
        "is_disabled": True,
        "is_break_glass": True,
    }
    file = read(record)
    assert file.findings == ()
    assert record_of(file.people[1]) == record


def test_bom_crlf_empty_lines_and_a_last_line_without_newline() -> None:
    content = (
        b"\xef\xbb\xbf"
        + json.dumps(line("ada")).encode()
        + b"\r\n\r\n  \n"
        + json.dumps(line("bob")).encode()
    )
    file = read_people(content)
    assert {n: p.login_name for n, p in file.people.items()} == {1: "ada", 4: "bob"}
    assert file.findings == ()


@pytest.mark.parametrize(("bad", "field", "fix"), [b[1:] for b in BAD_LINES], ids=[b[0] for b in BAD_LINES])
def test_a_bad_line_is_found_with_field_and_fix_and_the_others_are_kept(
    bad: dict[str, Any] | str, field: str, fix: str
) -> None:
    file = read(line("zoe"), bad, line("yan"))
    assert [p.login_name for p in file.people.values()] == ["zoe", "yan"]
    assert file.bad_lines == {2}
    assert any(f.field == field and fix in str(f) for f in file.errors), [str(f) for f in file.errors]
    for finding in file.errors:
        assert str(finding).isprintable()
        assert len(finding.value) <= 64


def test_all_bad_lines_are_reported_at_once() -> None:
    file = read(line("a b", "a@b"), line("ok"), {"login_name": "x"}, "nonsense")
    assert file.bad_lines == {1, 3, 4}


def test_bytes_that_are_no_utf8_spoil_their_line_only() -> None:
    file = read_people(json.dumps(line("ada")).encode() + b'\n{"login_name": "\xff"}\n')
    assert [p.login_name for p in file.people.values()] == ["ada"]
    assert "save the file as UTF-8" in str(file.errors[0])
    assert read_people("ada".encode("utf-16")).errors[0].fix == "save it as UTF-8"


COLLISIONS: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("same login name", line("ada", "a@b"), line("ada", "c@d"), "login_name"),
    ("login names by case", line("ada", "a@b"), line("Ada", "c@d"), "login_name"),
    ("same identity", line("ada", "x@y"), line("bob", "x@y"), "identities"),
    ("identity by case", line("ada", "J.Doe@uni"), line("bob", "j.doe@uni"), "identities"),
    (
        "any account and one account",
        line("ada", "x@y"),
        {
            "login_name": "bob",
            "identities": [{"kind": "role_session", "value": "X@y", "account_id": "1" * 12}],
        },
        "identities",
    ),
]


@pytest.mark.parametrize(
    ("one", "other", "field"), [c[1:] for c in COLLISIONS], ids=[c[0] for c in COLLISIONS]
)
def test_of_two_lines_that_collide_both_are_refused(
    one: dict[str, Any], other: dict[str, Any], field: str
) -> None:
    for first, second in ((one, other), (other, one)):
        file = read(first, line("zoe"), second)
        assert file.bad_lines == {1, 3}
        assert [p.login_name for p in file.people.values()] == ["zoe"]
        assert {f.field for f in file.errors} == {field}
        assert "line 3 has" in str(file.errors[0])
        assert "line 1 has" in str(file.errors[-1])


def test_the_same_name_in_two_accounts_or_as_two_kinds_is_two_identities() -> None:
    def at(login_name: str, kind: str, account_id: str) -> dict[str, Any]:
        return {
            "login_name": login_name,
            "identities": [{"kind": kind, "value": "x1", "account_id": account_id}],
        }

    file = read(
        at("ada", "iam_user", "1" * 12), at("bob", "iam_user", "2" * 12), at("cyd", "role_session", "1" * 12)
    )
    assert file.findings == ()


@pytest.mark.parametrize("run_as", ["root", "ssm-user", "Ada", "9ada", "a b", "x" * 33])
def test_a_name_that_cannot_be_run_is_a_warning_and_is_loaded(run_as: str) -> None:
    file = read(line("ada", run_as=run_as))
    assert file.people[1].run_as_name is None
    assert file.errors == ()
    assert "unmapped" in str(file.findings[0])


def test_a_login_name_that_cannot_be_run_is_a_warning_unless_run_as_helps() -> None:
    assert "unmapped" in str(read(line("Ada"))).casefold()
    assert read(line("Ada", run_as="ada")).findings == ()


@given(
    st.lists(
        st.builds(
            line,
            st.from_regex(r"[a-z_][a-z0-9_.-]{0,31}", fullmatch=True),
            is_disabled=st.booleans(),
            groups=st.lists(st.sampled_from(["a", "b", "c"]), unique=True),
            time_zone=st.sampled_from(["UTC", "Asia/Tokyo"]),
        ),
        max_size=8,
        unique_by=lambda made: made["login_name"],
    )
)
def test_what_is_good_comes_back_from_the_table_as_it_was(lines: list[dict[str, Any]]) -> None:
    file = read(*lines)
    assert file.errors == ()
    assert len(file.people) == len(lines)
    for person in file.people.values():
        assert person_of(json.loads(json.dumps(record_of(person)))) == person


@given(st.lists(st.one_of(st.binary(max_size=60), st.just(json.dumps(line("ada")).encode())), max_size=6))
def test_of_any_bytes_each_line_is_a_person_or_a_finding(lines: list[bytes]) -> None:
    content = b"\n".join(lines)
    file = read_people(content)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        assert file.bad_lines == {0}
        return
    rows = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    assert {n for n, row in enumerate(rows, start=1) if row.strip()} == file.people.keys() | file.bad_lines
    assert not file.people.keys() & file.bad_lines
