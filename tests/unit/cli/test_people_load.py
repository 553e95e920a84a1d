"""`proctor people`: the difference, the guards, and what ends up in the table."""

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.domain.identity import IdentityKind, parse_owner
from proctor_cli.people_plan import Plan, check_shrink
from proctor_cli.tables import PeopleRows
from tests.unit.cli.bad_lines import line
from tests.unit.cli.desk import Desk, Printed


class Loader:
    """Writes a file and loads it."""

    def __init__(self, desk: Desk, folder: Path) -> None:
        self.desk, self.file = desk, folder / "people.jsonl"

    def __call__(self, *lines: dict[str, Any] | str, options: tuple[str, ...] = ()) -> Printed:
        self.file.write_text("\n".join(t if isinstance(t, str) else json.dumps(t) for t in lines))
        return self.desk.run("people", "load", str(self.file), "--json", *options)

    def rows(self) -> dict[str, str]:
        return self.table().keys()

    def table(self) -> PeopleRows:
        return PeopleRows(self.desk.clients, "people")


@pytest.fixture
def load(desk: Desk, tmp_path: Path) -> Loader:
    return Loader(desk, tmp_path)


def test_a_load_writes_each_person_under_name_and_identities(load: Loader) -> None:
    printed = load(line("ada", "ada@x", "ada@y"), line("bob"))
    assert printed.exit == 0
    assert printed.json["plan"]["added"] == ["ada", "bob"]
    assert load.rows() == {
        "person#ada": "ada",
        "role_session#*#ada@x": "ada",
        "role_session#*#ada@y": "ada",
        "person#bob": "bob",
        "role_session#*#bob@uni.example": "bob",
    }
    owner = parse_owner("arn:aws:sts::123456789012:assumed-role/Lab/ADA@y")
    assert owner is not None
    assert owner.kind is IdentityKind.ROLE_SESSION
    assert {p.login_name for p in load.table().by_owner([owner]).values()} == {"ada"}


def test_a_second_load_writes_nothing(load: Loader) -> None:
    people = line("ada", groups=["b", "a"]), line("bob", time_zone="Europe/London")
    load(*people)
    printed = load(*people)
    assert printed.exit == 0
    plan = printed.json["plan"]
    assert (plan["rows_to_put"], plan["rows_to_remove"]) == (0, 0)
    assert "holds these people already" in printed.json["result"]


def test_a_change_of_one_field_rewrites_that_person_only(load: Loader) -> None:
    load(line("ada"), line("bob"))
    plan = load(line("ada", email="ada@uni.example", groups=["x"]), line("bob")).json["plan"]
    assert plan["changed"] == {"ada": ["email", "groups"]}
    assert plan["rows_to_put"] == 2
    person = load.table().by_login_name("ada")
    assert person is not None
    assert person.email == "ada@uni.example"


def test_an_identity_that_is_gone_is_removed_and_one_that_moved_belongs_to_the_other(load: Loader) -> None:
    load(line("ada", "one@x", "two@x"), line("bob", "bob@x"))
    plan = load(line("ada", "one@x"), line("bob", "bob@x", "two@x")).json["plan"]
    assert set(plan["changed"]) == {"ada", "bob"}
    assert load.rows()["role_session#*#two@x"] == "bob"
    load(line("ada", "one@x"), line("bob", "bob@x"))
    assert "role_session#*#two@x" not in load.rows()


def test_a_dry_run_shows_the_difference_and_writes_nothing(load: Loader) -> None:
    printed = load(line("ada"), options=("--dry-run",))
    assert printed.json["plan"]["added"] == ["ada"]
    assert "dry run" in printed.json["result"]
    assert load.rows() == {}


def test_one_bad_line_stops_everything(load: Loader) -> None:
    printed = load(line("ada"), "{")
    assert printed.exit == 1
    assert printed.json["findings"][0]["line"] == 2
    assert load.rows() == {}


def test_skip_bad_loads_the_rest_removes_nobody_and_still_fails(load: Loader) -> None:
    load(line("ada"), line("bob"), line("cyd"))
    printed = load(line("ada", email="a@uni.example"), '{"login_name": "bob"', options=("--skip-bad",))
    assert printed.exit == 1
    plan = printed.json["plan"]
    assert (plan["removed"], plan["kept"]) == ([], ["bob", "cyd"])
    assert {"person#bob", "person#cyd", "role_session#*#bob@uni.example"} <= load.rows().keys()
    person = load.table().by_login_name("ada")
    assert person is not None
    assert person.email == "a@uni.example"


def test_skip_bad_gives_nobody_the_identity_of_a_person_whose_line_is_bad(load: Loader) -> None:
    load(line("ada"), line("bob"))
    printed = load(line("ada", "bob@uni.example"), '{"login_name": "bob"', options=("--skip-bad",))
    assert printed.exit == 4
    assert "mend the bad lines first" in printed.err
    assert load.rows()["role_session#*#bob@uni.example"] == "bob"


def test_skip_bad_without_a_good_line_changes_nothing(load: Loader) -> None:
    load(line("ada"))
    assert load("{", options=("--skip-bad", "--allow-shrink")).exit == 1
    assert "person#ada" in load.rows()


def test_removals_up_to_a_fifth_pass_and_more_are_refused_unless_allowed(load: Loader) -> None:
    people = [line(f"p{n}") for n in range(10)]
    load(*people)
    assert load(*people[:8]).json["plan"]["removed"] == ["p8", "p9"]
    printed = load(*people[:6])
    assert printed.exit == 4
    assert "removes 2 of 8 people" in printed.err
    assert "--allow-shrink" in printed.err
    assert "person#p7" in load.rows()
    assert load(*people[:6], options=("--allow-shrink",)).exit == 0
    assert "person#p7" not in load.rows()


def test_an_empty_file_removes_nobody(load: Loader) -> None:
    load(line("ada"))
    assert load("").exit == 4
    assert "person#ada" in load.rows()


@pytest.mark.parametrize(
    ("removed", "present", "is_refused"), [(1, 5, False), (2, 9, True), (1, 4, True), (0, 0, False)]
)
def test_the_shrink_guard_counts_present_people(removed: int, present: int, is_refused: bool) -> None:
    names = tuple(f"p{n}" for n in range(removed))
    plan = Plan(present=present, wanted=0, added=(), changed={}, removed=names, kept=(), puts={}, deletes=())
    if not is_refused:
        check_shrink(plan, is_allowed=False)
        return
    with pytest.raises(Exception, match="more than 20 %"):
        check_shrink(plan, is_allowed=False)
    check_shrink(plan, is_allowed=True)


def test_a_row_that_nobody_can_read_is_written_anew(load: Loader) -> None:
    load(line("ada"))
    load.desk.clients.dynamodb().put_item(
        TableName="people",
        Item={"key": {"S": "person#ada"}, "login_name": {"S": "ada"}, "person": {"S": "{"}},
    )
    assert load(line("ada")).json["plan"]["rows_to_put"] == 1
    assert load.table().by_login_name("ada") is not None


def test_leftovers_of_a_load_that_broke_off_go(load: Loader) -> None:
    load(line("ada"))
    item = load.desk.clients.dynamodb().get_item(TableName="people", Key={"key": {"S": "person#ada"}})["Item"]
    load.desk.clients.dynamodb().put_item(
        TableName="people", Item={**item, "key": {"S": "role_session#*#old"}}
    )
    assert load(line("ada")).json["plan"]["rows_to_remove"] == 1
    assert "role_session#*#old" not in load.rows()


def test_hundreds_of_people_arrive(load: Loader) -> None:
    assert load(*(line(f"p{n}") for n in range(300))).exit == 0
    assert len(load.rows()) == 600


def test_the_table_for_people_lists_findings_and_counts(desk: Desk, load: Loader) -> None:
    load(line("ada"))
    load.file.write_text(json.dumps(line("ada", run_as="root")) + "\n" + json.dumps(line("bob")))
    printed = desk.run("people", "load", str(load.file))
    assert printed.exit == 0
    assert "line 1: warning: run_as: root: ada is unmapped" in printed.out
    assert "added    1      bob" in printed.out
    assert "changed  1      ada (run_as)" in printed.out
    assert "Written: 4 rows put, 0 removed." in printed.out
    assert max(map(len, printed.out.splitlines()[2:])) <= 100


def test_show_prints_one_person_or_says_that_there_is_none(desk: Desk, load: Loader) -> None:
    load(line("ada", email="ada@uni.example", run_as="root"))
    printed = desk.run("people", "show", "ada")
    assert "run_as       unmapped" in printed.out
    assert "role_session  ada@uni.example  any      trusted_roles of the policy" in printed.out
    assert desk.run("people", "show", "ada", "--json").json["email"] == "ada@uni.example"
    missing = desk.run("people", "show", "eve")
    assert (missing.exit, missing.out) == (3, "")
    assert missing.err == "proctor: login_name: 'eve' is not in the people directory\n"


def test_a_file_that_is_not_there_is_a_usage_error(desk: Desk) -> None:
    printed = desk.run("people", "load", "/nowhere/people.jsonl")
    assert printed.exit == 2
    assert "file: '/nowhere/people.jsonl' is not usable; name a readable file" in printed.err
