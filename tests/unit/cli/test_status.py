"""`proctor status`: what it shows, and that one unreadable part doesn't hide the others."""

from datetime import timedelta

from botocore.stub import Stubber

from proctor.domain.decision import OutcomeStatus
from proctor_cli.clients import CliClients
from proctor_cli.tables import MEGABYTES_AT_MOST, VerdictReader
from tests.unit.cli import golden
from tests.unit.cli.desk import CLUSTER, NOW, PAUSE, Desk
from tests.unit.cli.records import context, first_sweep, record, verdict


def _busy(desk: Desk) -> None:
    desk.outputs["ApplyActions"] = "true"
    desk.put_policy('{"mode": "apply", "rules": {"document": "off"}}')
    desk.put_policy('{"mode": "on"}', is_in_force=False)
    desk.clients.ssm().put_parameter(Name=PAUSE, Value="wrong directory", Type="String", Overwrite=True)
    sqs = desk.clients.sqs()
    for _ in range(3):
        sqs.send_message(QueueUrl=desk.outputs["SessionLimitsQueueUrl"], MessageBody="{}")
    sqs.send_message(QueueUrl=desk.outputs["SessionLimitsDeadLetterQueueUrl"], MessageBody="{}")
    first_sweep(desk, NOW - timedelta(days=3))
    record(desk, verdict("ada-1", "ada", "allowed"), OutcomeStatus.NONE, context(NOW - timedelta(hours=2)))
    record(
        desk, verdict("ada-2", "ada", "over_cap"), OutcomeStatus.APPLIED, context(NOW - timedelta(hours=1))
    )
    sweep = context(NOW - timedelta(minutes=4), "Sweep")
    record(desk, verdict("bob-1", "bob", "allowed"), OutcomeStatus.NONE, sweep)


def test_the_text_is_as_in_the_golden_file(desk: Desk) -> None:
    _busy(desk)
    printed = desk.run("status")
    assert (printed.exit, printed.err) == (0, "")
    assert printed.out == golden.read("status.txt")
    assert max(map(len, printed.out.splitlines()[:20])) <= 100


def test_the_numbers(desk: Desk) -> None:
    _busy(desk)
    data = desk.run("status", "--json").json
    gpu, cpu, *others = data["clusters"]
    assert [(row["cluster"], row["function"], row["mode"]) for row in others] == [
        ("gpu", "budget_holds", "off"),
        ("cpu", "budget_holds", "off"),
        ("gpu", "agent_reports", "apply"),
        ("cpu", "agent_reports", "apply"),
    ]
    assert (gpu["mode"], gpu["policy_mode"], gpu["rules"]) == ("apply", "apply", {"document": "off"})
    assert (gpu["version_in_force"], gpu["newest_version"], gpu["paused"]) == (2, 3, "wrong directory")
    assert "mode" in gpu["newest_error"]
    assert (cpu["version_in_force"], cpu["newest_version"]) == (None, None)
    assert data["queues"] == [
        {"function": "session_limits", "waiting": 3, "in_flight": 0, "dead_letters": 1},
        {"function": "budget_holds", "waiting": 0, "in_flight": 0, "dead_letters": 0},
        {"function": "agent_reports", "waiting": 0, "in_flight": 0, "dead_letters": 0},
    ]
    assert data["verdicts"]["by_outcome"] == {"none": 2, "applied": 1}
    assert data["verdicts"]["by_reason"] == {"allowed": 2, "over_cap": 1}
    assert data["verdicts"]["newest_by_sweep_at"] == (NOW - timedelta(minutes=4)).isoformat()
    assert data["sweep"]["first_at"] == (NOW - timedelta(days=3)).isoformat()
    assert data["sweep"]["last_at"] == (NOW - timedelta(days=3)).isoformat()
    told = "\n".join(data["attention"])
    for part in (
        "is paused",
        "version 3 is refused",
        "cpu, session_limits: no policy is in force",
        "dead letters",
    ):
        assert part in told


def test_the_stack_bounds_the_mode(desk: Desk) -> None:
    desk.put_policy('{"mode": "apply"}')
    data = desk.run("status", "--json").json
    assert data["stack"]["mode"] == "dry_run"
    assert data["clusters"][0]["mode"] == "dry_run"
    assert data["clusters"][0]["policy_mode"] == "apply"


def test_a_version_that_is_not_in_force_yet_is_told(desk: Desk) -> None:
    desk.put_policy('{"mode": "off"}', is_in_force=False)
    assert f"{CLUSTER}, session_limits: policy version 2 is not in force yet" in desk.run("status").out


def test_a_part_that_is_denied_is_named_and_the_rest_is_shown(desk: Desk) -> None:
    with Stubber(desk.clients.sqs()) as stub:
        stub.add_client_error("get_queue_attributes", "AccessDenied", "not yours")
        printed = desk.run("status")
    assert printed.exit == 4
    assert "not read: sqs:GetQueueAttributes: AccessDenied not yours" in printed.out
    assert "session_limits  dry_run" in printed.out


def test_a_stack_that_is_not_there(desk: Desk) -> None:
    printed = desk.run("status", "--stack", "nope")
    assert (printed.exit, printed.out) == (3, "")
    assert printed.err == "proctor: stack 'nope' does not exist\n"


def test_an_older_stack_without_an_output(desk: Desk) -> None:
    del desk.outputs["SessionLimitsDeadLetterQueueUrl"]
    printed = desk.run("status")
    assert printed.exit == 1
    assert "no output 'SessionLimitsDeadLetterQueueUrl'; deploy the template of this version" in printed.out


def test_no_more_than_a_bounded_part_of_the_verdicts_is_read() -> None:
    clients = CliClients("us-east-1")
    row = {"subject": {"S": "s"}, "at": {"S": "latest"}, "decided_at": {"S": "2026"}}
    more = [
        {"Items": [row], "LastEvaluatedKey": {"subject": {"S": f"s{n}"}, "at": {"S": "latest"}}}
        for n in range(MEGABYTES_AT_MOST)
    ]
    for last, is_partial in ((more[-1], True), ({"Items": [row]}, False)):
        with Stubber(clients.dynamodb()) as stub:
            for page in (*more[:-1], last):
                stub.add_response("scan", page)
            read = VerdictReader(clients, "verdicts").latest_rows()
        assert (len(read.rows), read.is_partial) == (MEGABYTES_AT_MOST, is_partial)
