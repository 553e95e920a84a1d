"""What a hold comes to in Slurm, whom else it stops, and what stays open."""

from datetime import timedelta
from typing import Any

import pytest

from budget_holds.targets import Targets, reservation_name, targets_of
from proctor.domain.agent_protocol import (
    LimitAccount,
    LimitPartitionQos,
    PartitionState,
    ReserveNodes,
    SetPartitionState,
)
from proctor.domain.agent_protocol.names import RESERVATION
from proctor.domain.budgets_exemptions import BudgetExemption, ExemptKind
from proctor.domain.slurm_state import AccountTree, SlurmView
from tests.fakes.budget_values import ASSOCIATIONS, NOW, association, partition, slurm
from tests.unit.budget_holds.judging import CLOUD, LAB1, situation, view


def exempt(kind: ExemptKind, name: str, *, hours: float = 1, cluster: str | None = None) -> BudgetExemption:
    return BudgetExemption(
        kind=kind,
        name=name,
        ends_at=NOW + timedelta(hours=hours),
        granted_by="ops",
        justification="deadline",
        cluster=cluster,
    )


def targets(definition: dict[str, Any], *rows: BudgetExemption, seen: SlurmView | None = None) -> Targets:
    one = situation(definition)
    shown = seen or slurm()
    cluster = view(one, seen=shown, exemptions=rows)
    return targets_of(one, cluster, AccountTree(shown.associations), NOW)


def accounts(found: Targets) -> set[str]:
    return {verb.account for verb in found.verbs if isinstance(verb, LimitAccount)}


def test_an_account_is_one_limit() -> None:
    found = targets(LAB1)
    assert found.verbs == (LimitAccount("lab1", refuse_submissions=False),)
    assert "dev: closed" in found.bypasses
    assert "several partitions: closed" in found.bypasses
    assert targets({**LAB1, "hold": {"refuse": True}}).verbs == (
        LimitAccount("lab1", refuse_submissions=True),
    )


def test_the_whole_cluster_by_account_is_every_account_under_root() -> None:
    assert accounts(targets(CLOUD)) == {"lab1", "lab2"}


@pytest.mark.parametrize(
    ("row", "held", "opened"),
    [
        (exempt(ExemptKind.ACCOUNT, "lab1-vision"), {"lab1-nlp"}, ("lab1-vision",)),
        (exempt(ExemptKind.PERSON, "bob"), {"lab1-nlp"}, ("lab1-vision",)),
        (exempt(ExemptKind.PERSON, "ada"), set(), ("lab1",)),
        (exempt(ExemptKind.ACCOUNT, "lab1"), set(), ("lab1",)),
        (exempt(ExemptKind.ACCOUNT, "lab2"), {"lab1"}, ()),
        (exempt(ExemptKind.QOS, "deadline"), {"lab1-vision"}, ("lab1-nlp",)),
        (exempt(ExemptKind.ACCOUNT, "lab1-vision", hours=0), {"lab1"}, ()),
        (exempt(ExemptKind.ACCOUNT, "lab1-vision", cluster="beta"), {"lab1"}, ()),
    ],
)
def test_exemptions_open_the_smallest_accounts(
    row: BudgetExemption, held: set[str], opened: tuple[str, ...]
) -> None:
    rows = [
        association("lab1-nlp", "cyd", qos=("normal", "deadline")) if a.login_name == "cyd" else a
        for a in ASSOCIATIONS
    ]
    found = targets(LAB1, row, seen=slurm(associations=tuple(rows)))
    assert (accounts(found), found.opened) == (held, opened)


def test_an_exempt_parent_keeps_its_children_open() -> None:
    child = {**LAB1, "account": "lab1-nlp"}
    found = targets(child, exempt(ExemptKind.ACCOUNT, "lab1"))
    assert (accounts(found), found.opened) == (set(), ("lab1-nlp",))


def test_without_slurm_a_plain_account_is_still_known() -> None:
    silent = slurm(seen_at=None)
    assert accounts(targets(LAB1, seen=silent)) == {"lab1"}
    assert not targets(CLOUD, seen=silent).is_complete
    assert not targets(LAB1, exempt(ExemptKind.ACCOUNT, "lab1-nlp"), seen=silent).is_complete


def place(level: str, **hold: Any) -> dict[str, Any]:
    return {**CLOUD, "partitions": ["gpu"], "hold": {"level": level, **hold}}


@pytest.mark.parametrize("level", ["partition", "nodes"])
def test_places_need_a_word_for_those_they_stop_too(level: str) -> None:
    refused = targets(place(level))
    assert refused.verbs == ()
    assert "lab1, lab1-nlp, lab1-vision, lab2" in refused.problem
    assert "accept_collateral" in refused.problem
    assert targets(place(level, accept_collateral=True)).others == ("lab1", "lab1-nlp", "lab1-vision", "lab2")


def test_places_of_a_department_name_the_others() -> None:
    definition = {**LAB1, "partitions": ["gpu"], "hold": {"level": "partition", "accept_collateral": True}}
    assert targets(definition).others == ("lab2",)


def test_a_partition_hold_says_which_ways_stay_open() -> None:
    found = targets(place("partition", accept_collateral=True, partition_state="INACTIVE"))
    assert found.verbs == (SetPartitionState("gpu", PartitionState.INACTIVE),)
    assert "dev: open" in found.bypasses
    assert "several partitions: open" in found.bypasses
    everything = targets({**CLOUD, "hold": {"level": "partition", "accept_collateral": True}})
    assert {v.subject for v in everything.verbs} == {"gpu", "dev"}
    assert "dev: closed" in everything.bypasses
    assert "several partitions: closed" in everything.bypasses


def test_nodes_close_dev() -> None:
    found = targets(place("nodes", accept_collateral=True))
    assert found.verbs == (ReserveNodes(reservation_name("gpu"), "gpu"),)
    assert "dev: closed" in found.bypasses


def test_the_whole_cluster_by_nodes_is_the_partition_with_all_of_them() -> None:
    partitions = {"gpu": partition("gpu", 2), "dev": partition("dev", 9)}
    found = targets({**CLOUD, "hold": {"level": "nodes"}}, seen=slurm(partitions=partitions))
    assert [v.partition for v in found.verbs if isinstance(v, ReserveNodes)] == ["dev"]


def test_partition_qos_needs_the_qos_on_the_line() -> None:
    definition = place("partition_qos", accept_collateral=True, is_durable=True)
    assert "no QOS=" in targets(definition).problem
    seen = slurm(partitions={"gpu": partition("gpu", qos="part_gpu")})
    assert targets(definition, seen=seen).verbs == (LimitPartitionQos("gpu", "part_gpu"),)


def test_exempt_accounts_are_never_stopped_by_a_place() -> None:
    found = targets(place("partition", accept_collateral=True), exempt(ExemptKind.ACCOUNT, "lab2"))
    assert (found.verbs, "lab2" in found.problem) == ((), True)


def test_an_unknown_partition_leaves_the_others_held() -> None:
    definition = {
        **CLOUD,
        "partitions": ["gpu", "old"],
        "hold": {"level": "partition", "accept_collateral": True},
    }
    found = targets(definition)
    assert [v.subject for v in found.verbs] == ["gpu"]
    assert "no partition old" in found.problem


@pytest.mark.parametrize("name", ["gpu", "GPU", "ml.p5.48xlarge", "a" * 64, "-"])
def test_reservation_names_fit_slurm_and_stay_apart(name: str) -> None:
    made = reservation_name(name)
    assert RESERVATION.fullmatch(made)
    assert made != reservation_name(name.swapcase() + "x")
