"""`proctor why job`, `why account`, `why partition`: what is held and why, what isn't, and what is unknown."""

from datetime import timedelta
from typing import Any

import pytest

from proctor.adapters.intents_table import DynamoIntents
from proctor.domain.agent_protocol import (
    Intent,
    Outcome,
    PartitionState,
    ReserveNodes,
    SetPartitionState,
    Undone,
    UndoneBy,
    controller_pk,
    encode,
)
from proctor_cli.exits import Exit
from proctor_cli.job_reasons import in_words
from proctor_cli.why_job import find_job
from tests.fakes import budget_values as values
from tests.unit.cli import golden
from tests.unit.cli.desk import CLUSTER, NOW
from tests.unit.cli.holds_desk import HoldsDesk

WHY = ("--justification", "ticket 4712")
PARTITION = {
    "aws_budget": "bill",
    "partitions": ["gpu"],
    "hold": {"level": "partition", "accept_collateral": True},
}


def _ask(slurm: HoldsDesk, *argv: str) -> dict[str, Any]:
    printed = slurm.desk.run("why", *argv, "--json")
    assert (printed.exit, printed.err) == (0, "")
    data: dict[str, Any] = printed.json
    return data


def _held_account(slurm: HoldsDesk) -> None:
    slurm.allocate("lab1", 5000, "lab1", owner="ada")
    slurm.spend("lab1", 55)
    slurm.sweep()
    slurm.agent_reports()


def _held_partition(slurm: HoldsDesk, **hold: Any) -> None:
    slurm.define("gpu-money", {**PARTITION, "hold": {**PARTITION["hold"], **hold}})  # type: ignore[dict-item]
    slurm.desk.run("hold", "gpu-money", "--apply", *WHY)
    slurm.agent_reports()
    slurm.see("partitions", values.partition("gpu", state=hold.get("partition_state", "DOWN")))


def _intent(slurm: HoldsDesk, verb: Any, owner: str = "budget_holds") -> None:
    intent = Intent(controller_pk(CLUSTER), verb, True, owner, 1, NOW + timedelta(days=14))
    DynamoIntents(slurm.desk.clients, "intents").put(intent, 0)


def test_a_held_job_is_as_in_the_golden_file(slurm: HoldsDesk) -> None:
    _held_account(slurm)
    slurm.job("4711", reason="AssocGrpJobsLimit")
    printed = slurm.desk.run("why", "job", "4711")
    assert (printed.exit, printed.err) == (0, "")
    assert printed.out == golden.read("why-job.txt")


def test_a_held_job_names_the_budget_its_numbers_and_what_releases_it(slurm: HoldsDesk) -> None:
    _held_account(slurm)
    slurm.job("4711", reason="AssocGrpJobsLimit")
    data = _ask(slurm, "job", "4711")
    assert (data["conclusion"], data["text"]) == ("held", "held by account lab1 for budget lab1")
    (hold,) = data["holds"]
    assert (hold["subject"], hold["status"], hold["budgets"]) == ("account#lab1", "in_force", ["lab1"])
    (budget,) = data["budgets"]
    numbers = budget["numbers"]
    assert (numbers["settled"], numbers["in_flight"], numbers["committed"]) == ("0.00", "5500.00", "100.00")
    assert (numbers["limit"], numbers["currency"], numbers["percent"]) == ("5000.00", "USD", "110.00")
    assert (numbers["source"], numbers["age_seconds"]) == ("now", 0)
    assert budget["next_release_at"] == "2026-12-01T00:00:00+00:00"
    assert "when the spend is under 95 %" in budget["released_when"]
    assert data["verdicts"][0]["reason"] == "hold_written"


@pytest.mark.parametrize(
    ("reason", "account", "told"),
    [
        ("Priority", "lab2", "no hold of Proctor stops it. Slurm says Priority: jobs with a higher priority"),
        ("Dependency", "lab2", "Slurm says Dependency: it waits for another job"),
        ("QOSMaxJobsPerUserLimit", "lab2", "a limit of its QOS is reached"),
        ("", "lab2", "Slurm names no reason"),
    ],
)
def test_a_job_that_waits_for_slurm_says_so(slurm: HoldsDesk, reason: str, account: str, told: str) -> None:
    _held_account(slurm)
    slurm.job("7", reason=reason, account=account, login_name="dan")
    data = _ask(slurm, "job", "7")
    assert (data["conclusion"], data["holds"]) == ("not_held", [])
    assert told in data["text"]


def test_a_held_job_that_would_wait_anyway_says_both(slurm: HoldsDesk) -> None:
    _held_account(slurm)
    slurm.job("7", reason="Dependency")
    text = _ask(slurm, "job", "7")["text"]
    assert text == (
        "held by account lab1 for budget lab1. Without the hold it would wait too: "
        "Slurm says Dependency: it waits for another job"
    )


def test_a_running_job_is_never_held(slurm: HoldsDesk) -> None:
    _held_account(slurm)
    slurm.job("7", state="RUNNING", reason="None", start_at=NOW)
    assert _ask(slurm, "job", "7")["conclusion"] == "runs"


def test_a_job_in_two_partitions_is_held_only_where_one_is(slurm: HoldsDesk) -> None:
    _held_partition(slurm)
    slurm.job("1", partition="gpu", reason="PartitionDown", account="lab2")
    slurm.job("2", partition="gpu,dev", reason="Resources", account="lab2")
    assert _ask(slurm, "job", "1")["conclusion"] == "held"
    both = _ask(slurm, "job", "2")
    assert both["conclusion"] == "partly_held"
    assert "free to start in dev" in both["text"]


def test_a_drained_partition_does_not_stop_a_queued_job(slurm: HoldsDesk) -> None:
    _held_partition(slurm, partition_state="DRAIN")
    slurm.job("1", partition="gpu", account="lab2")
    assert _ask(slurm, "job", "1")["conclusion"] == "not_held"


def test_a_hold_that_does_not_bind_is_no_hold(slurm: HoldsDesk) -> None:
    _held_account(slurm)
    slurm.agent_reports(Outcome.CANNOT_BIND, "QOS normal sets every field")
    slurm.job("1")
    data = _ask(slurm, "job", "1")
    assert data["conclusion"] == "not_in_force"
    assert "QOS normal sets every field" in data["text"]
    slurm.put("limits", "gpu", encode(values.limits(bind=False)))
    account = _ask(slurm, "account", "lab1")
    assert (account["conclusion"], account["do_limits_bind"]) == ("not_in_force", False)
    assert "AccountingStorageEnforce has nothing" in account["text"]


def test_a_reservation_over_all_nodes_holds_every_partition(slurm: HoldsDesk) -> None:
    _intent(slurm, ReserveNodes("proctor-hold-dev", "dev"))
    slurm.agent_reports()
    slurm.job("1", partition="gpu", account="lab2", reason="ReqNodeNotAvail, Reserved for maintenance")
    data = _ask(slurm, "job", "1")
    assert data["conclusion"] == "held"
    assert "no budget holds it any more, so the next look lets it go" in data["holds"][0]["text"]


def test_a_job_that_is_over_is_not_found(slurm: HoldsDesk) -> None:
    printed = slurm.desk.run("why", "job", "99")
    assert printed.exit == Exit.NOT_FOUND
    assert "'99' is neither pending nor running on gpu" in printed.err


@pytest.mark.parametrize(("age", "is_known"), [(119, True), (120, True), (121, False)])
def test_what_is_older_than_two_minutes_is_unknown(slurm: HoldsDesk, age: int, is_known: bool) -> None:
    _held_account(slurm)
    slurm.job("4711")
    slurm.desk.now = NOW + timedelta(seconds=age)
    printed = slurm.desk.run("why", "job", "4711")
    account = _ask(slurm, "account", "lab1")
    partition = _ask(slurm, "partition", "gpu")
    assert account["slurm"]["is_known"] is is_known
    if is_known:
        assert printed.exit == 0
        assert (account["conclusion"], partition["slurm_state"]) == ("held", "UP")
        return
    assert printed.exit == Exit.TRY_LATER
    assert "unknown: the controller's agent is silent since 2026-11-30 18:00:00Z (2m)" in printed.err
    assert (account["conclusion"], partition["conclusion"]) == ("unknown", "unknown")
    assert account["text"].endswith("asked for is: account lab1")
    assert (account["pending_jobs"], account["do_limits_bind"], partition["slurm_state"]) == (
        None,
        None,
        None,
    )
    (budget,) = account["budgets"]
    assert budget["numbers"]["source"] == "verdict"
    assert budget["numbers"]["in_flight"] == "5500.00"
    assert budget["numbers"]["age_seconds"] == age


def test_an_account_below_a_held_one_is_held(slurm: HoldsDesk) -> None:
    _held_account(slurm)
    data = _ask(slurm, "account", "lab1-vision")
    assert (data["conclusion"], data["accounts_above"]) == ("held", ["lab1"])
    assert [b["budget"] for b in data["budgets"]] == ["lab1"]


def test_the_neighbour_is_not_held(slurm: HoldsDesk) -> None:
    _held_account(slurm)
    data = _ask(slurm, "account", "lab2")
    assert (data["conclusion"], data["holds"], data["budgets"]) == ("not_held", [], [])


def test_a_release_that_the_agent_has_not_confirmed_is_told(slurm: HoldsDesk) -> None:
    _held_account(slurm)
    slurm.desk.run("release", "lab1", "--apply", *WHY)
    assert _ask(slurm, "account", "lab1")["conclusion"] == "releasing"
    slurm.agent_reports()
    assert _ask(slurm, "account", "lab1")["conclusion"] == "not_held"


def test_a_budget_in_dry_run_holds_nothing_and_says_so(slurm: HoldsDesk) -> None:
    slurm.write_policy({**values.POLICY, "rules": {"hold": "dry_run"}})
    slurm.allocate("lab1", 5000, "lab1")
    slurm.spend("lab1", 55)
    slurm.sweep()
    data = _ask(slurm, "account", "lab1")
    assert (data["conclusion"], data["holds"][0]["status"]) == ("not_in_force", "dry_run")
    assert "the mode is dry_run" in data["text"]


def test_a_partition_tells_whose_state_it_is_and_who_else_is_stopped(slurm: HoldsDesk) -> None:
    slurm.see("partitions", values.partition("gpu", state="DOWN"))
    own = slurm.desk.run("why", "partition", "gpu")
    assert "DOWN (set by somebody else, not by Proctor)" in own.out
    slurm.see("partitions", values.partition("gpu"))
    _held_partition(slurm)
    slurm.see("partitions", values.partition("gpu", state="DOWN"))
    printed = slurm.desk.run("why", "partition", "gpu")
    told = " ".join(printed.out.split())
    assert "set by somebody else" not in told
    assert "it is held by partition gpu (State=DOWN); running jobs go on" in told
    assert "before it: State=UP" in told
    assert "a hold stops lab1, lab1-nlp, lab1-vision, lab2 within their budgets" in told
    assert "dev: open" in told


def test_how_a_hold_was_undone_is_told(slurm: HoldsDesk) -> None:
    _held_partition(slurm)
    seen_at = NOW - timedelta(minutes=5)
    slurm.see(
        "undone",
        Undone("partition#gpu", "State=UP", UndoneBy.UPDATE, seen_at, seen_at + timedelta(seconds=2)),
    )
    (hold,) = _ask(slurm, "partition", "gpu")["holds"]
    assert hold["undone"]["by"] == "update"
    assert (
        "undone at 2026-11-30 17:55:00Z by update (State=UP), put back at 2026-11-30 17:55:02Z"
        in " ".join(slurm.desk.run("why", "partition", "gpu").out.split())
    )


def test_an_intent_of_another_function_and_an_odd_one_are_named(slurm: HoldsDesk) -> None:
    _intent(slurm, SetPartitionState("gpu", PartitionState.DOWN), owner="drill")
    slurm.agent_reports()
    slurm.see("partitions", values.partition("gpu", state="DOWN"))
    assert "partition gpu (State=DOWN) by drill: in force" in slurm.desk.run("why", "partition", "gpu").out
    slurm.desk.clients.dynamodb().put_item(
        TableName="intents", Item={"pk": {"S": "gpu#controller"}, "sk": {"S": "partition#dev"}}
    )
    (hold,) = _ask(slurm, "partition", "dev")["holds"]
    assert (hold["status"], hold["owner"]) == ("unreadable", None)


@pytest.mark.parametrize(("kind", "name"), [("account", "lab9"), ("partition", "cpu")])
def test_what_slurm_does_not_have_is_not_found(slurm: HoldsDesk, kind: str, name: str) -> None:
    assert slurm.desk.run("why", kind, name).exit == Exit.NOT_FOUND
    slurm.desk.now = NOW + timedelta(minutes=5)
    assert slurm.desk.run("why", kind, name).exit == Exit.TRY_LATER


def test_a_cluster_without_a_policy_says_what_to_write(slurm: HoldsDesk) -> None:
    printed = slurm.desk.run("why", "account", "lab1", "--cluster", "cpu")
    assert printed.exit == Exit.NOT_FOUND
    assert "write /proctor/cpu/budget_holds, {} is valid" in printed.err


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("12_5", "12_[3-9]"),
        ("12", "12_[3-9]"),
        ("12_10", None),
        ("13_4", "13_[2-8:2%2]"),
        ("13_3", None),
        ("14", "14"),
    ],
)
def test_a_task_of_an_array_is_found_in_its_line(asked: str, found: str | None) -> None:
    jobs = [values.job(job_id) for job_id in ("12_[3-9]", "13_[2-8:2%2]", "14", "120")]
    job = find_job(jobs, asked)
    assert (job.job_id if job else None) == found


def test_reasons_are_put_into_words() -> None:
    assert in_words("(ReqNodeNotAvail, UnavailableNodes:ip-10-0-0-1)").endswith(
        "a node it asks for is reserved, drained or down"
    )
    assert in_words("SomethingNew") == "Slurm says SomethingNew"
