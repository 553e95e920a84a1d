from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from proctor.domain.exemptions import Exemption
from proctor.domain.ledger import PersonLedger
from session_limits.caps import CapInForce, cap_in_cluster, cap_over_all, fits, weight_of
from tests.fakes.snapshots import entry, policy
from tests.fakes.values import NOW, person

STAFF = {"group": "staff", "max_sessions": 6}
GUESTS = {"group": "guests", "max_sessions": 1}
HOUR = timedelta(hours=1)


def exemption(**fields: Any) -> Exemption:
    known = {"login_name": "ada", "ends_at": NOW + HOUR, "granted_by": "ops", "justification": "thesis"}
    return Exemption(**{**known, **fields})


@pytest.mark.parametrize(
    ("groups", "exemptions", "cap"),
    [
        pytest.param([], [], CapInForce(3, "default"), id="everybody's"),
        pytest.param(["staff"], [], CapInForce(6, "group staff"), id="a group's goes before the default"),
        pytest.param(
            ["staff", "guests"], [], CapInForce(1, "group guests"), id="of two groups the first listed"
        ),
        pytest.param(["other"], [], CapInForce(3, "default"), id="a group without a cap"),
        pytest.param(
            ["guests"],
            [exemption(max_sessions=9)],
            CapInForce(9, "exemption"),
            id="an exemption goes before the group",
        ),
        pytest.param(
            ["staff"],
            [exemption(max_sessions=2)],
            CapInForce(2, "exemption"),
            id="an exemption can be a smaller cap",
        ),
        pytest.param([], [exemption()], CapInForce(None, "exemption"), id="an exemption from the cap"),
        pytest.param(
            ["staff"],
            [exemption(ends_at=NOW)],
            CapInForce(6, "group staff"),
            id="an exemption that is over binds nobody",
        ),
        pytest.param(
            [], [exemption(login_name="grace")], CapInForce(3, "default"), id="somebody else's exemption"
        ),
        pytest.param(
            [], [exemption(cluster="beta")], CapInForce(3, "default"), id="an exemption on another cluster"
        ),
    ],
)
def test_the_cap_comes_from_the_exemption_then_the_group_then_the_default(
    groups: list[str], exemptions: list[Exemption], cap: CapInForce
) -> None:
    in_force = policy(group_caps=[GUESTS, STAFF]).policy

    assert cap_in_cluster(person(groups=groups), "alpha", in_force, exemptions, NOW) == cap


@pytest.mark.parametrize(
    ("alpha", "beta", "groups", "exemptions", "cap"),
    [
        pytest.param({}, {}, [], [], CapInForce(None, "default"), id="no cap unless one is set"),
        pytest.param(
            {"cap": {"all_clusters": 5}},
            {"cap": {"all_clusters": 4}},
            [],
            [],
            CapInForce(4, "all clusters (beta)"),
            id="the smallest of the clusters' caps",
        ),
        pytest.param(
            {"group_caps": [{**STAFF, "all_clusters": 8}], "cap": {"all_clusters": 2}},
            {},
            ["staff"],
            [],
            CapInForce(8, "all clusters (alpha)"),
            id="a group's",
        ),
        pytest.param(
            {"group_caps": [STAFF], "cap": {"all_clusters": 2}},
            {},
            ["staff"],
            [],
            CapInForce(None, "default"),
            id="a group that sets none has none",
        ),
        pytest.param(
            {"cap": {"all_clusters": 2}},
            {},
            [],
            [exemption(max_sessions=5)],
            CapInForce(None, "exemption"),
            id="an exemption lifts it",
        ),
        pytest.param(
            {"cap": {"all_clusters": 2}},
            {},
            [],
            [exemption(ends_at=NOW)],
            CapInForce(2, "all clusters (alpha)"),
            id="an exemption that is over doesn't",
        ),
    ],
)
def test_the_cap_over_all_clusters(
    alpha: Mapping[str, Any],
    beta: Mapping[str, Any],
    groups: list[str],
    exemptions: list[Exemption],
    cap: CapInForce,
) -> None:
    policies = {"alpha": policy(**alpha), "beta": policy(cluster="beta", **beta)}

    assert cap_over_all(person(groups=groups), policies, exemptions, NOW) == cap


@pytest.mark.parametrize(
    ("document", "weight"),
    [
        pytest.param("SSM-SessionManagerRunShell", 1, id="a kind without a weight weighs one"),
        pytest.param("AWS-StartSSHSession", 2, id="SSH as the policy says"),
        pytest.param("AWS-StartPortForwardingSession", 0, id="a port forward for nothing"),
        pytest.param("AWS-StartPortForwardingSessionToRemoteHost", 0, id="to a remote host likewise"),
        pytest.param("Uni-Shell", 1, id="the site's own shell is a shell"),
        pytest.param("Unknown-Document", 5, id="whatever else"),
    ],
)
def test_a_session_weighs_what_its_document_opens(document: str, weight: int) -> None:
    in_force = policy(weights={"ssh": 2, "port_forward": 0, "other": 5}, own_shell_documents=["Uni-Shell"])

    assert weight_of(document, in_force.policy) == weight


@pytest.mark.parametrize(
    ("alpha", "beta", "is_within"),
    [
        pytest.param(3, 0, True, id="at the cap"),
        pytest.param(4, 0, False, id="one over it"),
        pytest.param(0, 4, False, id="one over it on the other cluster"),
        pytest.param(3, 2, True, id="at the cap over all clusters"),
        pytest.param(3, 3, False, id="one over that"),
    ],
)
def test_the_ledger_alone_shows_who_is_within_every_cap(alpha: int, beta: int, is_within: bool) -> None:
    policies = {"alpha": policy(cap={"max_sessions": 3, "all_clusters": 5}), "beta": policy(cluster="beta")}
    entries = {f"a{n}": entry() for n in range(alpha)} | {f"b{n}": entry(cluster="beta") for n in range(beta)}
    ledger = PersonLedger(holder="ada", rev=1, entries=entries)

    assert fits(person(), ledger, policies, [], NOW) is is_within
