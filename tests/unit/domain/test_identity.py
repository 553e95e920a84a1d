import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.domain.identity import (
    Identity,
    IdentityKind,
    Person,
    find_person,
    identity_key,
    is_runnable,
    lookup_keys,
    owns,
    parse_owner,
)
from tests.fakes.people import FakePeopleDirectory
from tests.fakes.values import ACCOUNT, iam_user_arn, person, role_arn

TRUSTED = ("AWSReservedSSO_*",)


def found(arn: str, *people: Person, trusted: tuple[str, ...] = TRUSTED) -> str | None:
    """Login name of whoever the directory takes the owner for."""
    owner = parse_owner(arn)
    assert owner is not None
    directory = FakePeopleDirectory()
    for someone in people:
        directory.put(someone)
    someone_found = find_person(owner, directory.by_owner([owner]), trusted)
    return someone_found.login_name if someone_found else None


@pytest.mark.parametrize(
    ("arn", "kind", "name", "role"),
    [
        pytest.param(
            role_arn("ada@uni.example"),
            "role_session",
            "ada@uni.example",
            "AWSReservedSSO_HyperPod_0123456789abcdef",
            id="an Identity Center session is named by the person",
        ),
        pytest.param(
            role_arn("a.b-c+d=e,f@x", "Ops"),
            "role_session",
            "a.b-c+d=e,f@x",
            "Ops",
            id="every mark that STS allows stays in the name",
        ),
        pytest.param(iam_user_arn("grace"), "iam_user", "grace", None, id="an IAM user without a path"),
        pytest.param(
            iam_user_arn("grace", "staff/physics/"),
            "iam_user",
            "grace",
            None,
            id="an IAM user's path is no part of the name",
        ),
        pytest.param(
            "arn:aws-us-gov:sts::123456789012:assumed-role/R/ada",
            "role_session",
            "ada",
            "R",
            id="another partition",
        ),
    ],
)
def test_an_owner_arn_is_taken_apart(arn: str, kind: str, name: str, role: str | None) -> None:
    owner = parse_owner(arn)

    assert owner is not None
    assert (owner.kind.value, owner.name, owner.role_name, owner.account_id) == (kind, name, role, ACCOUNT)
    assert owner.arn == arn


@pytest.mark.parametrize(
    "arn",
    [
        pytest.param(f"arn:aws:iam::{ACCOUNT}:root", id="the account root is nobody in particular"),
        pytest.param(f"arn:aws:sts::{ACCOUNT}:federated-user/ada", id="a federated user"),
        pytest.param(f"arn:aws:iam::{ACCOUNT}:role/Ops", id="a role itself holds no session"),
        pytest.param("arn:aws:sts::1234:assumed-role/R/ada", id="an account id of four digits"),
        pytest.param(role_arn("a"), id="a role session name is at least two characters"),
        pytest.param(role_arn("ada") + "\n", id="a line break at the end"),
        pytest.param(role_arn("ada lovelace"), id="a blank in the name"),
        pytest.param("", id="nothing"),
        pytest.param("ssm.amazonaws.com", id="a service principal"),
    ],
)
def test_an_arn_that_no_person_can_have_is_no_owner(arn: str) -> None:
    assert parse_owner(arn) is None


def test_two_domains_that_share_a_short_name_are_two_people() -> None:
    chemist = person("ada", identities=[Identity(IdentityKind.ROLE_SESSION, "ada@chem.example")])
    physicist = person("ada2", identities=[Identity(IdentityKind.ROLE_SESSION, "ada@phys.example")])

    assert found(role_arn("ada@chem.example"), chemist, physicist) == "ada"
    assert found(role_arn("ada@phys.example"), chemist, physicist) == "ada2"
    assert found(role_arn("ada@math.example"), chemist, physicist) is None
    assert found(role_arn("ada"), chemist, physicist) is None


def test_role_session_names_and_iam_user_names_are_compared_without_case() -> None:
    ada = person("ada", identities=[Identity(IdentityKind.ROLE_SESSION, "Ada@Uni.Example")])

    assert found(role_arn("aDA@uni.eXample"), ada) == "ada"


def test_a_name_under_a_role_that_anybody_may_assume_is_not_believed() -> None:
    ada = person("ada")

    assert found(role_arn("ada@uni.example", role="ResearchRole"), ada) is None


def test_an_identitys_own_roles_take_the_place_of_the_trusted_ones() -> None:
    robot = person("ci", identities=[Identity(IdentityKind.ROLE_SESSION, "ci-runner", roles=("Ci*",))])

    assert found(role_arn("ci-runner", role="CiDeploy"), robot) == "ci"
    assert found(role_arn("ci-runner"), robot) is None


def test_an_iam_user_needs_no_trusted_role() -> None:
    grace = person("grace", identities=[Identity(IdentityKind.IAM_USER, "grace")])

    assert found(iam_user_arn("grace", "staff/"), grace, trusted=()) == "grace"


def test_a_role_session_is_no_iam_user_of_the_same_name() -> None:
    grace = person("grace", identities=[Identity(IdentityKind.IAM_USER, "grace")])

    assert found(role_arn("grace"), grace) is None


def test_an_identity_bound_to_one_account_is_nobody_in_another() -> None:
    grace = person("grace", identities=[Identity(IdentityKind.IAM_USER, "grace", account_id="210987654321")])

    assert found(iam_user_arn("grace"), grace) is None
    assert found(iam_user_arn("grace", account="210987654321"), grace) == "grace"


def test_the_row_of_the_owners_own_account_goes_before_the_row_of_any_account() -> None:
    everywhere = person("grace", identities=[Identity(IdentityKind.IAM_USER, "grace")])
    here = person("hopper", identities=[Identity(IdentityKind.IAM_USER, "grace", account_id=ACCOUNT)])

    assert found(iam_user_arn("grace"), everywhere, here) == "hopper"


def test_one_person_is_found_by_each_of_several_identities() -> None:
    ada = person(
        "ada",
        identities=[
            Identity(IdentityKind.ROLE_SESSION, "ada@uni.example"),
            Identity(IdentityKind.IAM_USER, "ada-legacy"),
            Identity(IdentityKind.ROLE_SESSION, "ada@uni.example", account_id="210987654321", roles=("Lab",)),
        ],
    )

    for arn in (
        role_arn("ada@uni.example", role="AWSReservedSSO_Admin_00"),
        iam_user_arn("ada-legacy"),
        role_arn("ada@uni.example", role="Lab", account="210987654321"),
    ):
        owner = parse_owner(arn)
        assert owner is not None
        assert owns(ada, owner, TRUSTED), arn


@pytest.mark.parametrize(
    ("name", "is_fine"),
    [
        ("ada", True),
        ("_svc", True),
        ("ada.l-2", True),
        ("root", False),
        ("ssm-user", False),
        ("Ada", False),
        ("2ada", False),
        ("ada;reboot", False),
        ("ada\n", False),
        ("a" * 32, True),
        ("a" * 33, False),
        ("", False),
    ],
)
def test_a_run_as_name_is_one_that_the_ssm_agent_can_and_may_run(name: str, is_fine: bool) -> None:
    assert is_runnable(name) is is_fine


def test_without_a_run_as_tag_the_login_name_is_run() -> None:
    assert person("ada").run_as_name == "ada"
    assert person("ada", run_as="ada_gpu").run_as_name == "ada_gpu"
    assert person("ada", run_as="root").run_as_name is None
    assert person("ada", run_as="").run_as_name is None


@given(st.text(max_size=200))
def test_no_text_makes_parsing_an_owner_fail(text: str) -> None:
    owner = parse_owner(text)

    assert owner is None or (owner.arn == text and owner.name in text)


@given(st.from_regex(r"[\w+=,.@-]{2,64}", fullmatch=True, alphabet=st.characters(codec="ascii")))
def test_a_role_session_name_survives_from_arn_to_lookup_key(name: str) -> None:
    owner = parse_owner(role_arn(name))

    assert owner is not None
    assert owner.name == name
    assert lookup_keys(owner)[0] == identity_key(IdentityKind.ROLE_SESSION, ACCOUNT, name.upper())
