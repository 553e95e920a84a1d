"""Intents, reports and envelopes: what comes back is what went in, and nothing odd comes in."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.domain.agent_protocol import (
    Chunk,
    DrainNode,
    Header,
    Intent,
    IntentResult,
    LimitAccount,
    LimitPartitionQos,
    ObservedJob,
    ObservedUsage,
    Outcome,
    PartitionState,
    ProtocolError,
    Report,
    ReserveNodes,
    ResumeNode,
    Role,
    SetPartitionState,
    Undone,
    UndoneBy,
    Verb,
    controller_pk,
    make_enrolment,
    node_pk,
    open_enrolment,
    open_envelope,
    report_body,
    seal,
)

AT = datetime(2026, 12, 1, 10, 30, tzinfo=UTC)
KEY = bytes(range(32))
INSTANCE = "i-0123456789abcdef0"
HEADER = Header("ml-cluster", Role.CONTROLLER, "ip-10-1-0-1", INSTANCE, "1796064895000-deadbeef", 7)

moments = st.integers(0, 4_000_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, tz=UTC))
node_names = st.tuples(*[st.integers(0, 255)] * 4).map(lambda octets: "ip-" + "-".join(map(str, octets)))
partitions = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
accounts = st.from_regex(r"\A[a-z0-9][a-z0-9._-]{0,63}\Z").filter(lambda name: name != "root")
verbs: st.SearchStrategy[Verb] = st.one_of(
    st.builds(
        SetPartitionState,
        partitions,
        st.sampled_from([PartitionState.DOWN, PartitionState.DRAIN, PartitionState.INACTIVE]),
    ),
    st.builds(LimitAccount, accounts, st.booleans()),
    st.builds(LimitPartitionQos, partitions, accounts),
    st.builds(lambda nodes: ReserveNodes("proctor-x1", nodes=tuple(nodes)), st.lists(node_names, min_size=1)),
    st.builds(lambda name: ReserveNodes("proctor-x1", partition=name), partitions),
    st.builds(lambda name: DrainNode(name, INSTANCE, "proctor: xid 79"), node_names),
    st.builds(ResumeNode, node_names, st.just(INSTANCE), st.booleans()),
)
intents = st.builds(
    Intent,
    st.just(controller_pk("ml-cluster")),
    verbs,
    st.booleans(),
    st.sampled_from(["budget_holds", "node_health"]),
    st.integers(1, 10**9),
    moments,
)
words = st.text(st.characters(exclude_categories=["C"]), max_size=20)
jobs = st.builds(
    ObservedJob,
    *[words] * 7,
    st.integers(0, 5000),
    words,
    words,
    st.none() | moments,
    st.none() | moments,
    st.none() | st.integers(0, 10**6),
)
usages = st.builds(ObservedUsage, words, words, moments, *[st.integers(0, 10**12)] * 3)
reports = st.builds(
    Report,
    sent_at=moments,
    chunk=st.none() | st.builds(Chunk, words, st.integers(0, 99), st.integers(0, 100)),
    jobs=st.lists(jobs, max_size=4).map(tuple),
    usage=st.lists(usages, max_size=4).map(tuple),
    undone=st.lists(
        st.builds(Undone, st.just("partition#nlp"), words, st.sampled_from(UndoneBy), moments, st.none()),
        max_size=2,
    ).map(tuple),
)


def an_intent(**changes: Any) -> dict[str, Any]:
    verb = LimitAccount("lab1")
    base = Intent(controller_pk("ml-cluster"), verb, True, "budget_holds", 3, AT, {"GrpJobs": "10"}).to_item()
    return base | changes


@given(intents)
def test_an_intent_survives_the_table(intent: Intent) -> None:
    assert Intent.from_item(intent.to_item()) == intent
    assert Intent.from_item(json.loads(json.dumps(intent.to_item()))) == intent


@given(intents)
def test_numbers_may_come_as_decimals(intent: Intent) -> None:
    item = intent.to_item()
    assert (
        Intent.from_item(item | {"rev": Decimal(item["rev"]), "expires_at": Decimal(item["expires_at"])})
        == intent
    )


@given(reports)
def test_a_report_survives_the_queue(report: Report) -> None:
    envelope = open_envelope(seal(HEADER, report_body(report), KEY))
    assert envelope.is_from(KEY)
    assert (envelope.header, envelope.report()) == (HEADER, report)


@pytest.mark.parametrize(
    "changes",
    [
        {"surprise": 1},
        {"rev": 0},
        {"rev": "3"},
        {"rev": True},
        {"rev": Decimal("2.5")},
        {"owner": "Budget Holds"},
        {"owner": ""},
        {"is_held": "true"},
        {"is_held": None},
        {"expires_at": "2026-12-01"},
        {"expires_at": 2**60},
        {"sk": "account#lab2"},
        {"sk": "account#root"},
        {"kind": "partition"},
        {"subject": "lab2"},
        {"protocol": 2},
        {"previous": {"GrpJobs": "ten"}},
        {"previous": {"GrpJobs": "-2"}},
        {"previous": {"State": "UP"}},
        {"previous": {"GrpJobs": 10}},
        {"value": {}},
        {"value": {"verb": "Reboot", "node": "ip-10-1-0-1"}},
        {"value": {"verb": ["LimitAccount"]}},
        {"value": {"verb": "LimitAccount"}},
        {"value": {"verb": "LimitAccount", "account": "root"}},
        {"value": {"verb": "LimitAccount", "account": "lab1", "refuse_submissions": 1}},
        {"value": {"verb": "LimitAccount", "account": "lab1", "command": "id"}},
    ],
)
def test_an_odd_intent_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError):
        Intent.from_item(an_intent(**changes))


@pytest.mark.parametrize("missing", ["pk", "sk", "owner", "rev", "expires_at", "is_held", "value"])
def test_a_missing_field_is_named(missing: str) -> None:
    item = an_intent()
    del item[missing]
    with pytest.raises(ProtocolError, match=missing):
        Intent.from_item(item)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " nlp",
        "nlp ",
        "-a",
        "nlp,dev",
        "nlp;id",
        "$(id)",
        "nlp\n",
        "nlp=UP",
        "ALL dev",
        "a" * 65,
        "名前",
        "nlp/x",
    ],
)
def test_odd_partition_names_are_refused(name: str) -> None:
    item = Intent(
        controller_pk("c"), SetPartitionState("nlp", PartitionState.DOWN), True, "budget_holds", 1, AT
    ).to_item()
    item |= {"sk": f"partition#{name}", "subject": name}
    item["value"] |= {"partition": name}
    with pytest.raises(ProtocolError):
        Intent.from_item(item)


@pytest.mark.parametrize("account", ["Lab1", "lab 1", "lab1,lab2", "-lab1", "", "lab1\x00", "lab1|x"])
def test_odd_account_names_are_refused(account: str) -> None:
    item = an_intent(
        sk=f"account#{account}", subject=account, value={"verb": "LimitAccount", "account": account}
    )
    with pytest.raises(ProtocolError):
        Intent.from_item(item)


@pytest.mark.parametrize(
    "node", ["n1", "ip-10-1-0", "ip-10-1-0-256", "ip-10-1-0-01", "ip-10-1-0-1,ip-10-1-0-2", "ALL"]
)
def test_odd_node_names_are_refused(node: str) -> None:
    with pytest.raises(ProtocolError):
        node_pk("c", node)


@pytest.mark.parametrize(
    "reason", ["Action:Reboot", "xid 79", "proctor:", "proctor: a\nb", 'proctor: "x"', "proctor: a|b"]
)
def test_a_drain_reason_is_always_ours(reason: str) -> None:
    item = Intent(
        controller_pk("c"), DrainNode("ip-10-1-0-1", INSTANCE, "proctor: x"), True, "node_health", 1, AT
    ).to_item()
    item["value"] |= {"reason": reason}
    with pytest.raises(ProtocolError):
        Intent.from_item(item)


def test_a_hold_can_not_be_up() -> None:
    with pytest.raises(ProtocolError):
        SetPartitionState("nlp", PartitionState.UP)


def test_a_forged_changed_or_foreign_report_is_not_believed() -> None:
    message = json.loads(seal(HEADER, report_body(Report(sent_at=AT)), KEY))
    assert open_envelope(json.dumps(message)).is_from(KEY)
    other = {"instance_id": "i-0fedcba9876543210", "node": "ip-10-1-0-2", "role": "node", "cluster": "other"}
    changes: dict[str, Any] = other | {
        "sequence": 8,
        "boot_id": "1796064895001-deadbeef",
        "body": '{"sent_at":1}',
    }
    for name, value in changes.items():
        assert not open_envelope(json.dumps(message | {name: value})).is_from(KEY), name
    assert not open_envelope(json.dumps(message)).is_from(bytes(32))


def test_a_replay_is_not_newer() -> None:
    assert HEADER.is_newer_than("1796064895000-deadbeef", 6)
    assert not HEADER.is_newer_than("1796064895000-deadbeef", 7)
    assert not HEADER.is_newer_than("1796064896000-00000000", 1)
    assert HEADER.is_newer_than("1796064894999-ffffffff", 10**6)


def test_an_enrolment_proves_its_key() -> None:
    message = make_enrolment(HEADER, KEY, AT)
    enrolment = open_enrolment(message)
    assert (enrolment.key, enrolment.header, enrolment.created_at) == (KEY, HEADER, AT)
    raw = json.loads(message)
    with pytest.raises(ProtocolError, match="MAC"):
        open_enrolment(json.dumps(raw | {"instance_id": "i-0fedcba9876543210"}))
    with pytest.raises(ProtocolError, match="type"):
        open_envelope(message)


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense", '{"type":"report"}', "[" * 100_000])
def test_what_is_no_message_is_refused(text: str) -> None:
    with pytest.raises(ProtocolError):
        open_envelope(text)


def test_a_report_over_200_kb_is_refused() -> None:
    result = IntentResult("account#lab1", 1, Outcome.APPLIED, "x" * 300, "", None, AT)
    with pytest.raises(ProtocolError, match="chunks"):
        seal(HEADER, report_body(Report(sent_at=AT, results=(result,) * 1000)), KEY)


def test_an_unknown_section_is_refused() -> None:
    body = json.dumps({"sent_at": 1, "commands": []})
    with pytest.raises(ProtocolError, match="commands"):
        open_envelope(seal(HEADER, body, KEY)).report()
