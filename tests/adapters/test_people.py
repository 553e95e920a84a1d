from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from proctor.adapters.items import to_item
from proctor.adapters.people_table import DynamoPeople, person_of, record_of
from proctor.domain.errors import TerminalError, ThrottledError
from proctor.domain.identity import (
    Identity,
    IdentityKind,
    Person,
    SessionOwner,
    find_person,
    identity_key,
    parse_owner,
)
from proctor.ports import PeopleDirectory
from tests.adapters.aws import CountedClients, ScriptedClients
from tests.fakes import values
from tests.fakes.people import FakePeopleDirectory


@dataclass
class Setting:
    """A directory, and who loads people into it."""

    directory: PeopleDirectory
    load: Callable[[Person], None]


def _real(aws: CountedClients) -> Setting:
    people = DynamoPeople(aws, "people")

    def load(person: Person) -> None:
        rows = {identity.key: person for identity in person.identities}
        people.write({f"person#{person.login_name}": person, **rows}, ())

    return Setting(people, load)


@pytest.fixture(params=["fake", "dynamodb"])
def here(request: pytest.FixtureRequest) -> Setting:
    if request.param == "fake":
        fake = FakePeopleDirectory()
        return Setting(fake, fake.put)
    return _real(request.getfixturevalue("aws"))


def owner(name: str, account: str = values.ACCOUNT) -> SessionOwner:
    found = parse_owner(values.role_arn(name, account=account))
    assert found is not None
    return found


def full() -> Person:
    return Person(
        login_name="ada",
        identities=(
            Identity(IdentityKind.ROLE_SESSION, "ada@uni.example", "123456789012", ("AWSReservedSSO_*",)),
            Identity(IdentityKind.IAM_USER, "ada"),
        ),
        email="ada@uni.example",
        time_zone="Europe/Berlin",
        groups=frozenset({"physics", "staff"}),
        run_as="ada_l",
        is_disabled=True,
        is_break_glass=True,
    )


def test_an_unknown_owner_has_no_row(here: Setting) -> None:
    assert here.directory.by_owner([owner("nobody")]) == {}
    assert here.directory.by_login_name("nobody") is None


def test_a_person_comes_back_whole(here: Setting) -> None:
    here.load(full())

    assert here.directory.by_login_name("ada") == full()
    assert list(here.directory.by_owner([owner("ada@uni.example")]).values()) == [full()]


def test_names_are_compared_without_case(here: Setting) -> None:
    here.load(values.person("ada"))

    assert list(here.directory.by_owner([owner("ADA@Uni.Example")]).values()) == [values.person("ada")]


def test_a_row_for_one_account_comes_before_a_row_for_any(here: Setting) -> None:
    name = "guest@uni.example"
    anywhere = values.person("guest", identities=[Identity(IdentityKind.ROLE_SESSION, name)])
    here_only = values.person(
        "visitor", identities=[Identity(IdentityKind.ROLE_SESSION, name, values.ACCOUNT)]
    )
    here.load(anywhere)
    here.load(here_only)

    found = here.directory.by_owner([owner(name), owner(name, "210987654321")])

    assert len(found) == 2
    trusted = ["AWSReservedSSO_*"]
    assert find_person(owner(name), found, trusted) == here_only
    assert find_person(owner(name, "210987654321"), found, trusted) == anywhere


def test_a_role_session_is_no_iam_user_of_that_name(here: Setting) -> None:
    here.load(values.person("ada", identities=[Identity(IdentityKind.IAM_USER, "ada")]))

    assert here.directory.by_owner([owner("ada")]) == {}


def test_many_owners_at_once(here: Setting) -> None:
    for n in range(130):
        here.load(values.person(f"p{n}"))

    found = here.directory.by_owner(owner(f"p{n}@uni.example") for n in range(130))

    assert {person.login_name for person in found.values()} == {f"p{n}" for n in range(130)}


# The table


def test_calls(aws: CountedClients) -> None:
    people = DynamoPeople(aws, "people")
    for act, cost in (
        (lambda: people.by_owner([]), 0),
        (lambda: people.by_owner([owner("ada")]), 1),
        (lambda: people.by_owner([owner("ada"), owner("ada")]), 1),
        (lambda: people.by_owner(owner(f"p{n}") for n in range(50)), 1),
        (lambda: people.by_owner(owner(f"p{n}") for n in range(51)), 2),
        (lambda: people.by_login_name("ada"), 1),
    ):
        aws.calls.clear()
        act()
        assert aws.calls == ["BatchGetItem"] * cost


def test_writing_puts_and_deletes_25_a_call(aws: CountedClients) -> None:
    people = DynamoPeople(aws, "people")
    people.write({f"person#p{n}": values.person(f"p{n}") for n in range(30)}, ())
    assert aws.calls == ["BatchWriteItem"] * 2

    people.write({"person#p0": values.person("p0")}, [f"person#p{n}" for n in range(29)])
    assert people.keys() == {"person#p0": "p0", "person#p29": "p29"}


def test_all_keys_are_read_over_all_pages(aws: CountedClients) -> None:
    for n in range(6):
        row = {"key": f"person#p{n}", "login_name": f"p{n}", "person": "x" * 300_000}
        aws.dynamodb().put_item(TableName="people", Item=to_item(row))
    aws.calls.clear()

    assert DynamoPeople(aws, "people").keys() == {f"person#p{n}": f"p{n}" for n in range(6)}
    assert aws.count("Scan") >= 2


def _row(login_name: str) -> dict[str, Any]:
    return to_item(
        {
            "key": f"person#{login_name}",
            "login_name": login_name,
            "person": '{"login_name": "ada", "identities": []}',
        }
    )


def test_keys_that_were_not_read_are_asked_for_again() -> None:
    waits: list[float] = []
    key = {"key": {"S": "person#ada"}}
    aws = ScriptedClients(
        BatchGetItem=[
            {"Responses": {"people": []}, "UnprocessedKeys": {"people": {"Keys": [key]}}},
            {"Responses": {}, "UnprocessedKeys": {"people": {"Keys": [key]}}},
            {"Responses": {"people": [_row("ada")]}, "UnprocessedKeys": {}},
        ]
    )
    found = DynamoPeople(aws, "people", waits.append).by_login_name("ada")

    assert found == Person(login_name="ada", identities=())
    assert aws.sent[1] == ("BatchGetItem", {"RequestItems": {"people": {"Keys": [key]}}})
    assert waits == [0.1, 0.2]


def test_keys_that_are_never_read_are_an_error_not_a_missing_person() -> None:
    waits: list[float] = []
    key = {"key": {"S": "person#ada"}}
    aws = ScriptedClients(BatchGetItem={"Responses": {}, "UnprocessedKeys": {"people": {"Keys": [key]}}})

    with pytest.raises(ThrottledError):
        DynamoPeople(aws, "people", waits.append).by_login_name("ada")
    assert sum(waits) < 3


def test_items_that_were_not_written_are_sent_again() -> None:
    waits: list[float] = []
    left = {"people": [{"PutRequest": {"Item": _row("bob")}}]}
    aws = ScriptedClients(BatchWriteItem=[{"UnprocessedItems": left}, {"UnprocessedItems": {}}])
    DynamoPeople(aws, "people", waits.append).write({"person#ada": values.person("ada")}, ())
    assert aws.sent[1] == ("BatchWriteItem", {"RequestItems": left})

    stuck = ScriptedClients(BatchWriteItem={"UnprocessedItems": left})
    with pytest.raises(ThrottledError):
        DynamoPeople(stuck, "people", waits.append).write({"person#ada": values.person("ada")}, ())


@pytest.mark.parametrize(
    "text", ["not json", "[]", "{}", '{"login_name": "ada"}', '{"login_name": "ada", "identities": [{}]}']
)
def test_a_broken_row_is_an_error_not_a_missing_person(aws: CountedClients, text: str) -> None:
    key = identity_key(IdentityKind.ROLE_SESSION, "*", "ada@uni.example")
    row = {"key": key, "login_name": "ada", "person": text}
    aws.dynamodb().put_item(TableName="people", Item=to_item(row))

    with pytest.raises(TerminalError, match="the row of ada can't be read") as raised:
        DynamoPeople(aws, "people").by_owner([owner("ada@uni.example")])
    assert "uni.example" not in str(raised.value)


@pytest.mark.parametrize("person", [full(), values.person(), Person(login_name="x", identities=())])
def test_a_record_reads_back(person: Person) -> None:
    record: Mapping[str, Any] = record_of(person)

    assert person_of(record) == person
