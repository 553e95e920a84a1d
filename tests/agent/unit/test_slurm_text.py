"""Parsers on real output of Slurm 24.11 (samples/) and on lines of 22.05 pasted below."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_agent.errors import SlurmError
from proctor_agent.slurm import fields, json_reads, parse, usage
from proctor_agent.slurm.hostlist import expand
from proctor_agent.slurm.usage import HourUsage

SAMPLES = Path(__file__).parents[1] / "samples" / "slurm-24.11"
PARTITION_22 = (
    "PartitionName=nlp AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=NO QoS=N/A "
    "DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO MaxNodes=UNLIMITED "
    "MaxTime=UNLIMITED MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED Nodes=ip-10-1-0-[1-2] PriorityJobFactor=1 "
    "PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=EXCLUSIVE OverTimeLimit=NONE PreemptMode=OFF State=UP "
    "TotalCPUs=16 TotalNodes=2 SelectTypeParameters=NONE JobDefaults=(null) DefMemPerNode=UNLIMITED"
)
ASSOC_22 = (
    "ClusterName=university Account=lab1 UserName= Partition= Priority=0 ID=3 SharesRaw/Norm/Level/Factor=1/0.33/3/0.00 "
    "UsageRaw/Norm/Efctv=0.00/1.00/0.00 ParentAccount=root(1) Lft=8 DefAssoc=No GrpJobs=N(4) GrpJobsAccrue=N(0) "
    "GrpSubmitJobs=20(5) GrpWall=N(0.00) GrpTRES=cpu=N(0),mem=N(0),energy=N(0),node=3(2),billing=N(0),gres/gpu=16(0) "
    "GrpTRESMins=cpu=N(0),mem=N(0),energy=N(0),node=9(0)"
)


def sample(name: str) -> list[str]:
    return (SAMPLES / name).read_text(encoding="utf-8").splitlines()


def test_partitions_of_both_versions() -> None:
    row = parse.partition(PARTITION_22)
    assert row is not None
    assert (row.name, row.state, row.nodes, row.total_nodes, row.qos, row.is_default) == (
        "nlp", "UP", "ip-10-1-0-[1-2]", 2, None, False,
    )  # fmt: skip
    rows = {row.name: row for line in sample("partitions.txt") if (row := parse.partition(line))}
    assert {name: (row.state, row.qos, row.is_default) for name, row in rows.items()} == {
        "train": ("DOWN", "part_train", True),
        "dev": ("UP", None, False),
    }


def test_json_and_text_of_24_11_agree() -> None:
    text = {row.name: row for line in sample("partitions.txt") if (row := parse.partition(line))}
    raw = json_reads.elements(sample("partitions.json"), "partitions")
    from_json = {row.name: row for item in raw if (row := json_reads.partition(item))}
    assert {name: (row.state, row.nodes, row.total_nodes, row.qos) for name, row in text.items()} == {
        name: (row.state, row.nodes, row.total_nodes, row.qos) for name, row in from_json.items()
    }
    grouped = [found for line in sample("nodes.txt") if (found := parse.node_group(line))]
    of_text = {
        (name, row.state, row.reason, row.reason_at) for hosts, row in grouped for name in expand(hosts)
    }
    nodes = [json_reads.node(item) for item in json_reads.elements(sample("nodes.json"), "nodes")]
    assert {(node.name, node.state, node.reason, node.reason_at) for node in nodes if node} == of_text


def test_json_is_streamed_one_element_at_a_time() -> None:
    def lines() -> "list[str]":
        return ["{", '  "nodes": [', "    {", '      "name": "a"', "    },", "    {"]

    stream = json_reads.elements(iter(lines()), "nodes")
    assert next(stream) == {"name": "a"}
    with pytest.raises(SlurmError, match="not complete"):
        next(stream)


@pytest.mark.parametrize("content", ["{}", '{"nodes": []}', '{"other": [{"a": 1}]}', ""])
def test_json_without_the_array_is_an_error_or_empty(content: str) -> None:
    stream = json_reads.elements(content.splitlines(), "nodes")
    if "nodes" in content:
        assert list(stream) == []
    else:
        with pytest.raises(SlurmError):
            list(stream)


@given(
    st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=9) | st.lists(st.integers())), max_size=5)
)
def test_any_pretty_printed_array_is_read(items: list[dict[str, object]]) -> None:
    text = json.dumps({"meta": {"x": [1]}, "jobs": items, "errors": []}, indent=2)
    assert list(json_reads.elements(text.split("\n"), "jobs")) == items


def test_nodes_with_state_reason_and_who() -> None:
    rows = [found for line in sample("nodes.txt") if (found := parse.node_group(line))]
    assert [(hosts, row.state, row.reason, row.reason_by) for hosts, row in rows] == [
        ("ip-10-1-0-4", "fail", "Action:Replace", "root"),
        ("ip-10-1-0-3", "drained", "proctor: xid 79", "root"),
        ("ip-10-1-0-2", "idle", "", ""),
        ("ip-10-1-0-1", "mixed", "", ""),
    ]
    hosts, row = parse.node_group("down*|root|2026-11-30T18:10:00|ip-10-1-0-[1-2]|a|b reason") or ("", None)
    assert row is not None
    assert (hosts, row.state, row.flag, row.reason) == ("ip-10-1-0-[1-2]", "down", "*", "a|b reason")


def test_jobs() -> None:
    rows = [row for line in sample("jobs.txt") if (row := parse.job(line))]
    assert len(rows) == len(sample("jobs.txt"))
    pending = rows[-1]
    assert (pending.job_id, pending.state, pending.partition, pending.account, pending.reason) == (
        "2", "PENDING", "train", "lab1", "PartitionDown",
    )  # fmt: skip
    assert (pending.limit_minutes, pending.start_at, pending.gres) == (1560, None, "")
    assert rows[0].gres == "gres/gpu:2"
    assert parse.job("cut|off") is None


def test_what_the_scheduler_enforces() -> None:
    name, limits = parse.scheduler_limits(ASSOC_22, "Account") or ("", None)
    assert limits is not None
    assert (name, limits.grp_jobs, limits.grp_submit_jobs, limits.grp_tres_node) == ("lab1", None, 20, 3)
    assert [limits.value(field) for field in ("GrpJobs", "GrpSubmitJobs", "GrpTRES/node")] == [
        "-1",
        "20",
        "3",
    ]
    rows = [row for line in sample("assoc_mgr.txt") if (row := parse.scheduler_limits(line, "Account"))]
    assert [(name, limits.grp_jobs) for name, limits in rows] == [("lab1", 0)]
    rows = [row for line in sample("qos_mgr.txt") if (row := parse.scheduler_limits(line, "QOS"))]
    assert [(name, limits.grp_jobs, limits.grp_tres_node) for name, limits in rows] == [("team", 50, 10)]


def test_associations_qos_and_reservations() -> None:
    rows = [row for line in sample("associations.txt") if (row := parse.association(line))]
    assert [(row.account, row.login_name, row.parent, row.grp_jobs, row.qos) for row in rows] == [
        ("root", "", "", None, ("normal",)),
        ("root", "root", "", None, ("normal",)),
        ("lab1", "", "root", 0, ("normal",)),
        ("lab1", "games", "", None, ("normal",)),
        ("lab1", "root", "", None, ("normal",)),
    ]
    team = parse.qos(sample("qos.txt")[-1])
    assert team is not None
    assert (team.name, team.grp_jobs, team.grp_tres) == ("team", 50, "node=10")
    held = parse.reservation(sample("reservations.txt")[0])
    assert held is not None
    assert (held.name, held.nodes, held.state) == ("proctor-b1", "ip-10-1-0-2", "ACTIVE")
    assert parse.reservation("No reservations in the system") is None


def test_config_says_whether_limits_bind() -> None:
    config = parse.config(sample("config.txt"))
    assert (config.limits.do_limits_bind, config.limits.slurm_version[:5]) == (True, "24.11")
    assert (config.controllers, config.limits.cluster_name) == (("vm",), "feas")
    none = parse.config(
        ["AccountingStorageEnforce = none", "AccountingStorageType = accounting_storage/slurmdbd"]
    )
    assert (none.limits.do_limits_bind, none.limits.enforce) == (False, ())
    qos_only = [
        "AccountingStorageEnforce = associations,qos",
        "AccountingStorageType = accounting_storage/slurmdbd",
    ]
    assert not parse.config(qos_only).limits.do_limits_bind
    no_database = [
        "AccountingStorageEnforce = associations,limits",
        "AccountingStorageType = accounting_storage/none",
    ]
    assert not parse.config(no_database).limits.do_limits_bind


@pytest.mark.parametrize(
    ("lines", "host"),
    [
        (["Slurmctld(primary) at ip-10-1-2-3 is UP"], "ip-10-1-2-3"),
        (["Slurmctld(primary) at a is DOWN", "Slurmctld(backup) at b is UP"], "b"),
        (["Slurmctld(primary) at a is UP", "Slurmctld(backup) at b is UP"], "a"),
        (["Slurmctld(primary) at a.x.y is UP"], "a"),
        (["Slurmctld(primary) at a is DOWN", "****", "** RESTORE SLURMCTLD DAEMON TO SERVICE **"], None),
        ([], None),
    ],
)
def test_the_acting_controller_is_the_first_that_is_up(lines: list[str], host: str | None) -> None:
    assert parse.acting_controller(lines) == host


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("30:00", 30),
        ("1:00:00", 60),
        ("1-02:00:00", 1560),
        ("0:30", 1),
        ("UNLIMITED", None),
        ("NOT_SET", None),
        ("", None),
    ],
)
def test_time_limits(text: str, minutes: int | None) -> None:
    assert fields.minutes(text) == minutes


@given(st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1)))  # noqa: DTZ001 - made aware below
def test_times_are_read_as_strptime_would(at: datetime) -> None:
    at = at.replace(microsecond=0, tzinfo=UTC)
    assert fields.moment(at.strftime("%Y-%m-%dT%H:%M:%S")) == at


@pytest.mark.parametrize(
    "text", ["Unknown", "N/A", "None", "", "2026-13-30T18:06:52", "2026-11-30 18:06", "abcd-11-30T18:06:52"]
)
def test_what_is_no_time_is_none(text: str) -> None:
    assert fields.moment(text) is None


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("ip-10-1-0-[1-3,7]", ["ip-10-1-0-1", "ip-10-1-0-2", "ip-10-1-0-3", "ip-10-1-0-7"]),
        ("ip-10-1-[0-1]-[1-2]", ["ip-10-1-0-1", "ip-10-1-0-2", "ip-10-1-1-1", "ip-10-1-1-2"]),
        ("a,b[08-10]c,d", ["a", "b08c", "b09c", "b10c", "d"]),
        ("", []),
    ],
)
def test_host_lists(expression: str, names: list[str]) -> None:
    assert expand(expression) == names


@pytest.mark.parametrize(
    "expression", ["a[1-", "a]1[", "a[[1]]", "a[1-999999999]", "a[5-x]", "n[1-300]x[1-300]"]
)
def test_bad_host_lists_are_errors(expression: str) -> None:
    with pytest.raises(SlurmError):
        expand(expression)


def test_use_of_an_hour() -> None:
    hour_at = datetime(2026, 11, 30, 18, tzinfo=UTC)
    now = datetime(2026, 11, 30, 18, 30, tzinfo=UTC)

    def line(state: str, start: str, end: str, nodes: int, tres: str) -> str:
        return f"1|{state}|None|nlp|lab1|games|normal|{nodes}|{tres}|2026-11-30T10:00:00|{start}|{end}|60|ip-10-1-0-1"

    lines = [
        line("RUNNING", "2026-11-30T17:00:00", "Unknown", 2, "cpu=8,gres/gpu=16,node=2"),
        line("COMPLETED", "2026-11-30T18:10:00", "2026-11-30T18:20:00", 1, "cpu=8,node=1"),
        line("COMPLETED", "2026-11-30T16:10:00", "2026-11-30T17:20:00", 1, "cpu=8,node=1"),
        line("PENDING", "Unknown", "Unknown", 4, "cpu=8,node=4"),
        "cut|line",
    ]
    hour = HourUsage(hour_at, now)
    seen = list(hour.count(lines))
    assert len(seen) == 4
    (row,) = hour.rows()
    assert (row.account, row.partition, row.hour_at) == ("lab1", "nlp", hour_at)
    assert (row.node_seconds, row.gpu_seconds, row.job_count) == (2 * 1800 + 600, 16 * 1800, 2)
    assert [usage.is_present(parts) for parts in seen] == [True, False, False, True]


def test_jobs_of_the_database() -> None:
    hour = HourUsage(datetime(2026, 11, 30, 18, tzinfo=UTC), datetime(2026, 11, 30, 18, 55, tzinfo=UTC))
    rows = [usage.job(parts) for parts in hour.count(sample("sacct.txt")) if usage.is_present(parts)]
    assert len(rows) == 8
    assert (rows[0].gres, rows[0].limit_minutes, rows[0].nodes) == ("gres/gpu=2", 30, "ip-10-1-0-1")
    assert (rows[1].state, rows[1].nodes, rows[1].start_at) == ("PENDING", "", None)
