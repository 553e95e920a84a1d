"""`proctor budgets` and `budgets show`: the three numbers with their age, state, hold and next release."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from botocore.stub import Stubber

from proctor_cli.amounts import exact, whole
from proctor_cli.exits import Exit
from tests.unit.cli import golden
from tests.unit.cli.desk import NOW
from tests.unit.cli.holds_desk import HoldsDesk, moved

WHY = ("--justification", "ticket 4712")
BILL: dict[str, Any] = {
    "BudgetName": "bill",
    "BudgetLimit": {"Amount": "10000", "Unit": "USD"},
    "CostTypes": {"IncludeCredit": False, "IncludeRefund": False},
    "TimeUnit": "MONTHLY",
    "TimePeriod": {"Start": datetime(2026, 1, 1, tzinfo=UTC), "End": datetime(2087, 6, 15, tzinfo=UTC)},
    "CalculatedSpend": {"ActualSpend": {"Amount": "4100.50", "Unit": "USD"}},
    "BudgetType": "COST",
    "LastUpdatedTime": NOW - timedelta(hours=5),
    "HealthStatus": {"Status": "HEALTHY"},
}


def _two(slurm: HoldsDesk) -> None:
    slurm.allocate("lab1", 5000, "lab1", owner="ada")
    slurm.allocate("lab2", 9000, "lab2")
    slurm.spend("lab1", 55)
    slurm.spend("lab2", 10)
    slurm.job("4711")
    slurm.sweep()
    slurm.agent_reports()


def _rows(slurm: HoldsDesk, *argv: str) -> dict[str, dict[str, Any]]:
    printed = slurm.desk.run("budgets", "--json", *argv)
    assert (printed.exit, printed.err) == (0, "")
    return {row["budget"]: row for row in printed.json["budgets"]}


def test_the_table_is_as_in_the_golden_file(slurm: HoldsDesk) -> None:
    _two(slurm)
    printed = slurm.desk.run("budgets")
    assert (printed.exit, printed.err) == (0, "")
    assert printed.out == golden.read("budgets.txt")
    assert max(map(len, printed.out.splitlines())) <= 100


def test_one_budget_is_as_in_the_golden_file(slurm: HoldsDesk) -> None:
    _two(slurm)
    printed = slurm.desk.run("budgets", "show", "lab1", "--cluster", "gpu")
    assert (printed.exit, printed.out) == (0, golden.read("budgets-show.txt"))


def test_the_numbers(slurm: HoldsDesk) -> None:
    _two(slurm)
    rows = _rows(slurm)
    held, other = rows["lab1"], rows["lab2"]
    assert (held["state"], held["is_holding"], held["next_release_at"]) == (
        "held",
        True,
        "2026-12-01T00:00:00+00:00",
    )
    assert held["holds"][0]["status"] == "in_force"
    assert held["period"] == {"start_at": "2026-11-01T00:00:00+00:00", "end_at": "2026-12-01T00:00:00+00:00"}
    assert (other["state"], other["holds"], other["next_release_at"]) == ("ok", [], None)
    assert other["numbers"]["in_flight"] == "1000.00"
    assert (held["numbers"]["committed"], other["numbers"]["committed"]) == ("100.00", "0.00")


def test_what_the_next_look_would_change_is_told_apart_from_what_is_in_force(slurm: HoldsDesk) -> None:
    slurm.allocate("lab1", 5000, "lab1")
    slurm.spend("lab1", 55)
    row = _rows(slurm)["lab1"]
    assert (row["state"], row["is_holding"], row["next_state"]) == ("ok", False, "held")
    assert "lab1: the next look makes it HELD" in slurm.desk.run("budgets").out
    assert slurm.held() == set()


def test_a_hold_by_hand_ends_by_hand_or_at_its_time(slurm: HoldsDesk) -> None:
    _two(slurm)
    slurm.desk.run("hold", "lab2", "--apply", *WHY)
    assert _rows(slurm)["lab2"]["next_release_at"] is None
    assert "by hand" in slurm.desk.run("budgets").out.splitlines()[2]
    slurm.desk.run("hold", "lab2", "--until", "8h", "--apply", *WHY)
    assert _rows(slurm)["lab2"]["next_release_at"] == (NOW + timedelta(hours=8)).isoformat()


def test_an_aws_budget_is_as_old_as_awss_numbers(slurm: HoldsDesk) -> None:
    slurm.define("cluster", {"aws_budget": "bill"})
    slurm.spend("lab1", 1)
    asked = {"AccountId": "123456789012", "BudgetName": "bill"}
    with Stubber(slurm.desk.clients.budgets()) as stub:
        stub.add_response("describe_budget", {"Budget": BILL}, asked)
        stub.add_response("describe_notifications_for_budget", {"Notifications": []}, asked)
        row = _rows(slurm)["cluster"]
    numbers = row["numbers"]
    assert (numbers["settled"], numbers["limit"], numbers["age_seconds"]) == ("4100.50", "10000.00", 5 * 3600)
    assert numbers["settled_as_of_at"] == (NOW - timedelta(hours=5)).isoformat()
    assert numbers["slurm_as_of_at"] == NOW.isoformat()
    assert row["subject"] == "the whole cluster"


def test_without_the_right_to_ask_aws_the_budget_is_unknown_and_the_others_are_shown(
    slurm: HoldsDesk,
) -> None:
    _two(slurm)
    slurm.define("cluster", {"aws_budget": "bill"})
    with Stubber(slurm.desk.clients.budgets()) as stub:
        stub.add_client_error("describe_budget", "AccessDeniedException", "not yours")
        rows = _rows(slurm)
    assert rows["cluster"]["numbers"] is None
    assert "DeniedError" in rows["cluster"]["remark"]
    assert rows["lab1"]["numbers"]["source"] == "now"


def test_while_the_agent_is_silent_the_numbers_are_the_last_verdicts(slurm: HoldsDesk) -> None:
    _two(slurm)
    slurm.desk.now = NOW + timedelta(hours=1)
    row = _rows(slurm)["lab1"]
    assert (row["numbers"]["source"], row["numbers"]["age_seconds"]) == ("verdict", 3600)
    assert (row["numbers"]["limit"], row["numbers"]["in_flight"]) == ("5000.00", "5500.00")
    assert row["holds"][0]["status"] == "agent_silent"
    out = slurm.desk.run("budgets").out
    assert "lab1: the numbers are those of the latest verdict, 2026-11-30 18:00:00Z" in out
    assert "Slurm on gpu: unknown: the controller's agent is silent since" in out
    assert "unknown" in out.splitlines()[1]


def test_a_hold_nobody_confirms_is_not_in_force(slurm: HoldsDesk) -> None:
    slurm.allocate("lab1", 5000, "lab1")
    slurm.spend("lab1", 55)
    slurm.sweep()
    assert _rows(slurm)["lab1"]["holds"][0]["status"] == "pending"
    moved(slurm, minutes=4)
    assert _rows(slurm)["lab1"]["holds"][0]["status"] == "not_confirmed"
    assert "unconfirmed" in slurm.desk.run("budgets").out.splitlines()[1]


def test_a_definition_that_can_not_be_read_is_named(slurm: HoldsDesk) -> None:
    slurm.define("odd", {"aws_budget": "bill", "colour": "red"})
    printed = slurm.desk.run("budgets")
    assert "No budget is in force." in printed.out
    assert "odd: its definition in force can't be read: colour" in printed.out
    shown = slurm.desk.run("budgets", "show", "odd")
    assert shown.exit == Exit.NOT_FOUND
    assert "can't be read: colour" in shown.err


def test_an_older_stack_without_the_tables(slurm: HoldsDesk) -> None:
    del slurm.desk.outputs["ObservedTableName"]
    printed = slurm.desk.run("budgets")
    assert printed.exit == Exit.FAILED
    assert "no output 'ObservedTableName'; deploy the template of this version" in printed.err


def test_looking_writes_nothing(slurm: HoldsDesk) -> None:
    slurm.allocate("lab1", 5000, "lab1")
    slurm.spend("lab1", 55)
    before = _everything(slurm)
    for argv in (
        ["budgets"],
        ["budgets", "show", "lab1"],
        ["why", "account", "lab1"],
        ["hold", "lab1", *WHY],
    ):
        slurm.desk.clients.fake_functions.answer = lambda _: {"outcomes": []}
        assert slurm.desk.run(*argv).exit == 0
    assert _everything(slurm) == before


def _everything(slurm: HoldsDesk) -> dict[str, Any]:
    scan = slurm.desk.clients.dynamodb().scan
    return {
        name: scan(TableName=name)["Items"]
        for name in ("intents", "memory", "verdicts", "claims", "observed")
    }


def test_one_absurd_budget_does_not_hide_the_others(slurm: HoldsDesk) -> None:
    slurm.allocate("lab1", 5000, "lab1")
    for name, limit in (("huge", "1e30"), ("dust", "0.0001"), ("dime", "0.1")):
        slurm.define(name, {"account": "lab2", "allocation": {"limit": limit}})
    rows = _rows(slurm)
    assert set(rows) == {"lab1", "dime", "dust", "huge"} - _refused(slurm)
    for argv in (["budgets"], ["budgets", "--json"], ["why", "account", "lab2"]):
        printed = slurm.desk.run(*argv)
        assert (printed.exit, printed.err) == (0, "")
    for name in rows:
        assert slurm.desk.run("budgets", "show", name).exit == 0


def _refused(slurm: HoldsDesk) -> set[str]:
    return {row["budget"] for row in slurm.desk.run("budgets", "--json").json["unusable"]}


@pytest.mark.parametrize(
    ("amount", "shown", "told"),
    [
        ("0", "0.00", "0"),
        ("0.1", "0.10", "0.10"),
        ("0.004", "0.00", "<0.01"),
        ("99.5", "99.50", "99.50"),
        ("5000", "5000.00", "5,000"),
        ("4101.5", "4101.50", "4,102"),
        ("-0.5", "-0.50", "-0.50"),
        ("1e30", "1.00e+30", "1.00e+30"),
        ("-1e999999", "-1.00e+999999", "-1.00e+999999"),
        ("1e-999999", "0.00", "<0.01"),
    ],
)
def test_any_amount_can_be_written(amount: str, shown: str, told: str) -> None:
    assert exact(Decimal(amount)) == shown
    assert whole(Decimal(amount)) == told


def test_a_small_limit_is_not_shown_as_nothing(slurm: HoldsDesk) -> None:
    slurm.define("dime", {"account": "lab2", "allocation": {"limit": "0.1"}})
    assert "0.10 USD" in slurm.desk.run("budgets").out


def test_an_odd_number_in_a_verdict_is_unknown(slurm: HoldsDesk) -> None:
    _two(slurm)
    key = {"subject": {"S": "budget#gpu#lab1"}, "at": {"S": "latest"}}
    table = slurm.desk.clients.dynamodb()
    item = table.get_item(TableName="verdicts", Key=key)["Item"]
    inputs = json.loads(item["inputs"]["S"]) | {"limit": "a lot USD", "committed": "NaN USD"}
    table.put_item(TableName="verdicts", Item={**item, "inputs": {"S": json.dumps(inputs)}})
    slurm.desk.now = NOW + timedelta(hours=1)
    numbers = _rows(slurm)["lab1"]["numbers"]
    assert (numbers["limit"], numbers["committed"], numbers["settled"]) == (None, None, "0.00")
    assert slurm.desk.run("budgets").exit == 0


def test_while_paused_a_hold_says_so_and_why(slurm: HoldsDesk) -> None:
    slurm.allocate("lab1", 5000, "lab1")
    slurm.desk.run("pause", "gpu", "--reason", "wrong directory")
    slurm.spend("lab1", 55)
    slurm.sweep()
    row = _rows(slurm)["lab1"]
    assert (row["is_holding"], row["holds"][0]["status"]) == (True, "paused")
    out = slurm.desk.run("budgets").out
    assert "paused" in out.splitlines()[1]
    assert "gpu is paused: wrong directory (by arn:aws:sts" in out
    assert "2026-11-30 18:00:00Z); go on with proctor resume gpu" in out
    for argv in (["budgets", "show", "lab1"], ["why", "account", "lab1"]):
        told = " ".join(slurm.desk.run(*argv).out.split())
        assert "not asked of Slurm: gpu is paused: wrong directory (by arn:aws:sts" in told
        assert "the next look does" not in told
    slurm.desk.run("resume", "gpu")
    assert _rows(slurm)["lab1"]["holds"][0]["status"] == "not_written"


def test_while_paused_a_hold_in_force_is_not_let_go(slurm: HoldsDesk) -> None:
    _two(slurm)
    slurm.desk.run("pause", "gpu", "--reason", "wrong directory")
    slurm.desk.run("release", "lab1", "--apply", *WHY)
    told = " ".join(slurm.desk.run("why", "account", "lab1").out.split())
    assert (
        "no budget holds it any more, so it is let go once gpu is resumed; it is paused: wrong directory"
        in told
    )


def test_an_absurd_aws_budget_does_not_hide_the_others(slurm: HoldsDesk) -> None:
    slurm.define("cluster", {"aws_budget": "bill"})
    slurm.allocate("lab1", 5000, "lab1")
    for argv in (
        ["budgets"],
        ["budgets", "--json"],
        ["budgets", "show", "cluster"],
        ["why", "account", "lab1"],
    ):
        with Stubber(slurm.desk.clients.budgets()) as stub:
            vast = {**BILL, "BudgetLimit": {"Amount": "1e30", "Unit": "USD"}}
            stub.add_response("describe_budget", {"Budget": vast})
            stub.add_response("describe_notifications_for_budget", {"Notifications": []})
            printed = slurm.desk.run(*argv)
        assert (printed.exit, printed.err) == (0, "")
        assert "lab1" in printed.out or "show" in argv
        assert "1.00e+30" in printed.out or "1,000,000,000" in printed.out
