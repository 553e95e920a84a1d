"""One contract for fake and adapter: intents, memory, definitions, exemptions."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from budget_holds.definition import BudgetDefinition
from proctor.adapters.aws_clients import AwsClients
from proctor.adapters.budget_exemptions_table import DynamoBudgetExemptions
from proctor.adapters.budget_memory_table import DynamoBudgetMemory
from proctor.adapters.budget_parameters import ParameterBudgets
from proctor.adapters.intents_table import DynamoIntents
from proctor.domain.agent_protocol import (
    Intent,
    LimitAccount,
    PartitionState,
    ReserveNodes,
    SetPartitionState,
    Verb,
)
from proctor.domain.budgets_exemptions import BudgetExemption, ExemptKind
from proctor.domain.budgets_memory import BudgetMemory, Doubt, Fired, HandKind, HandOrder, Level, Why
from proctor.domain.budgets_period import Period
from proctor.domain.errors import LostRaceError, NotFoundError, TerminalError
from proctor.domain.policy import PolicyInForce
from proctor.ports.budgets import BudgetDefinitions, BudgetMemoryStore
from proctor.ports.slurm import IntentStore
from tests.adapters.retries import LossyClients, no_backoff
from tests.adapters.slurm_side.conftest import put
from tests.fakes.budget_values import NOW, START, usd
from tests.fakes.slurm_side import FakeBudgetDefinitions, FakeBudgetMemory, FakeIntentStore
from tests.unit.budget_holds.judging import LAB1, PARSE_BUDGET

VERBS: list[Verb] = [
    LimitAccount("lab1", refuse_submissions=True),
    SetPartitionState("gpu", PartitionState.DRAIN),
    ReserveNodes("proctor-hold-gpu", "gpu"),
    ReserveNodes("proctor-some", None, ("ip-10-0-0-1", "ip-10-0-0-2")),
]
FULL = BudgetMemory(
    period=Period(START, START + timedelta(days=30)),
    level=Level.HELD,
    level_at=NOW,
    why=Why.LIMIT_REACHED,
    held_in="2026-09-01T00:00Z",
    is_holding=True,
    doubt=Doubt.STALE,
    limit=usd("1000.10"),
    trusted=usd("999.999999999"),
    trusted_at=NOW,
    most_nodes=9,
    fired={"50": Fired(NOW, is_told=True), "forecast": Fired(NOW, is_told=False)},
    hand=HandOrder(kind=HandKind.HOLD, by="ops", at=NOW, until_at=NOW + timedelta(days=1)),
    approved={Doubt.UNHEALTHY: "ops"},
)


def made(verb: Verb = VERBS[0], rev: int = 1, owner: str = "budget_holds", cluster: str = "alpha") -> Intent:
    previous = {"partition": {"State": "UP"}, "account": {"GrpJobs": "7", "GrpTRES/node": "-1"}}.get(
        verb.kind
    )
    return Intent(
        pk=f"{cluster}#controller",
        verb=verb,
        is_held=rev % 2 == 1,
        owner=owner,
        rev=rev,
        expires_at=NOW + timedelta(days=14),
        previous=previous,
    )


@pytest.fixture(params=["fake", "dynamodb"])
def intents(request: pytest.FixtureRequest, clients: AwsClients) -> IntentStore:
    return FakeIntentStore() if request.param == "fake" else DynamoIntents(clients, "intents")


@pytest.fixture(params=["fake", "dynamodb"])
def memory(request: pytest.FixtureRequest, clients: AwsClients) -> BudgetMemoryStore:
    return FakeBudgetMemory() if request.param == "fake" else DynamoBudgetMemory(clients, "memory")


@pytest.mark.parametrize("verb", VERBS)
def test_an_intent_comes_back_as_it_was_written(intents: IntentStore, verb: Verb) -> None:
    intents.put(made(verb), 0)
    assert intents.get("alpha#controller", made(verb).sk) == made(verb)
    assert intents.intents("alpha") == {made(verb).sk: made(verb)}
    assert intents.intents("beta") == {}


def test_an_intent_is_written_over_the_revision_that_was_seen(intents: IntentStore) -> None:
    intents.put(made(), 0)
    intents.put(made(rev=2), 1)
    for lost in (made(rev=2), made(rev=3)):
        with pytest.raises(LostRaceError):
            intents.put(lost, 1)
    with pytest.raises(LostRaceError):
        intents.put(made(), 0)
    assert intents.get("alpha#controller", "account#lab1") == made(rev=2)


def test_an_intent_of_another_owner_stays(intents: IntentStore) -> None:
    intents.put(made(owner="node_health"), 0)
    with pytest.raises(LostRaceError):
        intents.put(made(rev=2), 1)


def test_an_item_that_can_not_be_read_is_said_to_be_there(clients: AwsClients) -> None:
    store = DynamoIntents(clients, "intents")
    put(clients, "intents", {"pk": "alpha#controller", "sk": "account#odd", "verb": "Explode"})
    put(clients, "intents", {"pk": "alpha#controller", "sk": "control#pause", "is_paused": True, "rev": 1})
    assert store.intents("alpha") == {"account#odd": None}
    with pytest.raises(TerminalError, match="account#odd"):
        store.get("alpha#controller", "account#odd")


def test_many_intents_come_from_all_pages(clients: AwsClients) -> None:
    store = DynamoIntents(clients, "intents")
    for number in range(150):
        intent = made(LimitAccount(f"lab{number}"))
        put(clients, "intents", {**intent.to_item(), "padding": "x" * 20000})
    assert len(store.intents("alpha")) == 150


def test_memory_is_swapped_by_revision(memory: BudgetMemoryStore) -> None:
    assert memory.get("alpha#lab1") == BudgetMemory()
    memory.swap("alpha#lab1", FULL, 0)
    memory.swap("alpha2#lab1", BudgetMemory(), 0)
    assert memory.get("alpha#lab1") == replace(FULL, rev=1)
    for stale in (0, 2):
        with pytest.raises(LostRaceError):
            memory.swap("alpha#lab1", BudgetMemory(), stale)
    memory.swap("alpha#lab1", BudgetMemory(), 1)
    assert memory.all("alpha") == {"alpha#lab1": BudgetMemory(rev=2)}
    with pytest.raises(TypeError):
        memory.swap("alpha#lab1", {"level": "held"}, 2)


def test_a_memory_whose_answer_was_lost_is_no_lost_race(
    clients: AwsClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    """botocore sends the write again and it meets itself; what another evaluator wrote is still a lost race."""
    lossy = LossyClients()
    memory = DynamoBudgetMemory(lossy, "memory")
    with no_backoff(monkeypatch):
        memory.swap("alpha#lab1", FULL, 0)
        memory.swap("alpha#lab1", BudgetMemory(), 1)
    assert lossy.lost == ["PutItem", "PutItem"]
    assert memory.get("alpha#lab1") == BudgetMemory(rev=2)
    with no_backoff(monkeypatch), pytest.raises(LostRaceError):
        memory.swap("alpha#lab1", FULL, 1)


def test_a_memory_that_can_not_be_read_is_not_taken_for_an_empty_one(clients: AwsClients) -> None:
    put(clients, "memory", {"scope": "budget_holds#budget", "subject": "alpha#x", "rev": 1, "memory": "{}"})
    with pytest.raises(TerminalError, match="alpha#x"):
        DynamoBudgetMemory(clients, "memory").all("alpha")


type Written = Callable[[str, str], str]


@pytest.fixture(params=["fake", "parameters"])
def definitions(
    request: pytest.FixtureRequest, clients: AwsClients
) -> tuple[BudgetDefinitions[BudgetDefinition], Written]:
    if request.param == "fake":
        fake = FakeBudgetDefinitions("budget_holds", ("alpha", "beta"), PARSE_BUDGET)
        return fake, lambda budget, text: fake.write("alpha", budget, text)

    def write(budget: str, text: str) -> str:
        name = f"/proctor/alpha/budget_holds/{budget}"
        clients.ssm().put_parameter(Name=name, Value=text, Type="String", Overwrite=True)
        return name

    clients.ssm().put_parameter(Name="/proctor/alpha/budget_holds", Value="{}", Type="String")
    moved = iter(float(n * 61) for n in range(1000))
    store = ParameterBudgets(clients, "budget_holds", ("alpha", "beta"), PARSE_BUDGET, lambda: next(moved))
    return store, write


def test_definitions_come_into_force_by_their_label(
    definitions: tuple[BudgetDefinitions[BudgetDefinition], Written],
) -> None:
    store, write = definitions
    good, other = json.dumps(LAB1), json.dumps({**LAB1, "account": "lab2"})
    name = write("lab1", good)
    assert store.in_force() == {"alpha": {}, "beta": {}}
    (draft,) = store.drafts("alpha")
    assert (draft.parameter_name, draft.version, draft.is_in_force, draft.error) == (name, 1, False, None)
    store.put_in_force(name, 1)
    assert store.in_force()["alpha"] == {"lab1": PolicyInForce("alpha", 1, PARSE_BUDGET(good))}
    write("lab1", "{}")
    refused = store.draft(name)
    assert refused is not None
    assert (refused.version, refused.is_in_force) == (2, False)
    assert "exactly one" in (refused.error or "")
    assert store.in_force()["alpha"] == {"lab1": PolicyInForce("alpha", 1, PARSE_BUDGET(good))}
    for number in range(12):
        store.put_in_force(write(f"more{number}", other), 1)
    assert len(store.in_force()["alpha"]) == 13
    assert len(store.drafts("alpha")) == 13


def test_a_definition_in_force_that_can_not_be_read_is_no_absent_one(
    definitions: tuple[BudgetDefinitions[BudgetDefinition], Written],
) -> None:
    store, write = definitions
    store.put_in_force(write("lab1", '{"allocation": 1}'), 1)
    found = store.in_force()["alpha"]["lab1"]
    assert isinstance(found, str)


def test_a_definition_that_does_not_exist(
    definitions: tuple[BudgetDefinitions[BudgetDefinition], Written],
) -> None:
    store, _ = definitions
    assert store.draft("/proctor/alpha/budget_holds/none") is None
    with pytest.raises(NotFoundError):
        store.put_in_force("/proctor/alpha/budget_holds/none", 1)


def test_the_last_readable_definition_stays_in_force(clients: AwsClients) -> None:
    """A release that reads less than the one before must not let go of a hold."""
    readable = [True]

    def parse(text: str) -> BudgetDefinition:
        return PARSE_BUDGET(text if readable[0] else "{}")

    moved = iter(float(n * 61) for n in range(1000))
    store = ParameterBudgets(clients, "budget_holds", ("alpha",), parse, lambda: next(moved))
    clients.ssm().put_parameter(
        Name="/proctor/alpha/budget_holds/lab1", Value=json.dumps(LAB1), Type="String"
    )
    store.put_in_force("/proctor/alpha/budget_holds/lab1", 1)
    before = store.in_force()
    readable[0] = False
    assert store.in_force() == before


def test_exemptions_come_back_and_are_kept_for_a_minute(clients: AwsClients) -> None:
    clock = [0.0]
    store = DynamoBudgetExemptions(clients, "exemptions", lambda: clock[0])
    rows = [
        BudgetExemption(
            kind=kind, name="x", ends_at=NOW, granted_by="ops", justification="j", cluster=cluster
        )
        for kind, cluster in [
            (ExemptKind.ACCOUNT, None),
            (ExemptKind.QOS, "alpha"),
            (ExemptKind.PERSON, None),
        ]
    ]
    store.put(rows[0])
    assert list(store.exemptions()) == rows[:1]
    store.put(rows[1])
    store.put(rows[2])
    assert len(store.exemptions()) == 1
    clock[0] = 60.0
    assert sorted(r.kind for r in store.exemptions()) == sorted(r.kind for r in rows)
    put(clients, "exemptions", {"function": "session_limits", "id": "ada#*#x", "login_name": "ada"})
    clock[0] = 120.0
    assert len(store.exemptions()) == 3
