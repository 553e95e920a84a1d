"""`proctor exempt`, `pause`, `resume` and `mode`: what they write, and what they refuse to."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proctor.adapters.exemptions_table import DynamoExemptions
from proctor.adapters.parameters import ParameterPause
from proctor.domain.exemptions import Exemption, exemption_for
from proctor_cli.exempt import end_of
from proctor_cli.exits import UsageError
from proctor_cli.governed import governed
from tests.unit.cli.desk import CLUSTER, NOW, PAUSE, POLICY, Desk
from tests.unit.cli.test_why import ADA, _put

WHY = ("--justification", "paper deadline")


def _exemptions(desk: Desk) -> list[Exemption]:
    return list(DynamoExemptions(desk.clients, "exemptions").for_function("session_limits"))


def test_an_exemption_is_kept_with_its_owner_and_end(desk: Desk) -> None:
    _put(desk, ADA)
    printed = desk.run("exempt", "ada", "--until", "8h", "--max-sessions", "6", "--cluster", "gpu", *WHY)
    assert printed.exit == 0
    assert printed.out == "ada has a cap of 6 on gpu until 2026-12-01 02:00:00Z, within 60 s.\n"
    (kept,) = _exemptions(desk)
    assert kept == Exemption(
        login_name="ada",
        ends_at=NOW + timedelta(hours=8),
        granted_by=desk.clients.sts().get_caller_identity()["Arn"],
        justification="paper deadline",
        max_sessions=6,
        cluster="gpu",
    )


def test_no_cap_on_all_clusters(desk: Desk) -> None:
    _put(desk, ADA)
    printed = desk.run("exempt", "ada", "--until", "7d", "--no-cap", *WHY, "--json")
    assert (printed.json["max_sessions"], printed.json["cluster"]) == (None, None)
    assert _exemptions(desk)[0].max_sessions is None


def test_revoking_ends_what_runs_and_keeps_the_rows(desk: Desk) -> None:
    _put(desk, ADA)
    desk.run("exempt", "ada", "--until", "7d", "--no-cap", *WHY)
    desk.run("exempt", "ada", "--until", "1d", "--max-sessions", "5", "--cluster", "gpu", *WHY)
    desk.now = NOW + timedelta(hours=1)
    assert desk.run("exempt", "ada", "--revoke", "--cluster", "gpu", *WHY).out.startswith(
        "1 exemption(s) of ada end"
    )
    assert desk.run("exempt", "ada", "--revoke", *WHY).out.startswith("1 exemption(s)")
    assert exemption_for(_exemptions(desk), "ada", "gpu", desk.now) is None
    assert len(_exemptions(desk)) == 2
    assert desk.run("exempt", "ada", "--revoke", *WHY).exit == 3


@pytest.mark.parametrize(
    ("argv", "exit_code", "told"),
    [
        (("eve", "--until", "8h", "--no-cap"), 3, "'eve' is not in the people directory"),
        (("ada", "--until", "8h"), 2, "--max-sessions N or --no-cap"),
        (("ada", "--no-cap"), 2, "give --until TIME"),
        (("ada", "--until", "tomorrow", "--no-cap"), 2, "write 8h, 7d, or a time"),
        (("ada", "--until", "8h", "--no-cap", "--cluster", "gpuu"), 2, "governs: gpu, cpu"),
    ],
)
def test_what_exempt_refuses(desk: Desk, argv: tuple[str, ...], exit_code: int, told: str) -> None:
    _put(desk, ADA)
    printed = desk.run("exempt", *argv, *WHY)
    assert printed.exit == exit_code
    assert told in printed.err
    assert _exemptions(desk) == []


@pytest.mark.parametrize("text", [" ", "x" * 513])
def test_an_exemption_needs_a_reason_of_sensible_length(desk: Desk, text: str) -> None:
    _put(desk, ADA)
    assert desk.run("exempt", "ada", "--until", "8h", "--no-cap", "--justification", text).exit == 2


@pytest.mark.parametrize(
    ("text", "ends_at"),
    [
        ("90m", NOW + timedelta(minutes=90)),
        ("+8h", NOW + timedelta(hours=8)),
        ("366d", NOW + timedelta(days=366)),
        ("2026-12-24T18:00+01:00", datetime(2026, 12, 24, 17, tzinfo=UTC)),
        ("2026-12-24T18:00Z", datetime(2026, 12, 24, 18, tzinfo=UTC)),
    ],
)
def test_times_that_are_understood(text: str, ends_at: datetime) -> None:
    assert end_of(text, NOW) == ends_at
    assert end_of(text, NOW).utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "text",
    [
        *("", "8", "8w", "-8h", "0h", "367d", "99999d", "2026-12-24", "2026-12-24T18:00"),
        *("2026-11-30T17:59Z", "2036-01-01T00:00Z"),
    ],
)
def test_times_that_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--until"):
        end_of(text, NOW)


def test_pause_stops_the_cluster_and_says_who_and_why(desk: Desk) -> None:
    printed = desk.run("pause", CLUSTER, "--reason", "wrong directory loaded")
    assert printed.exit == 0
    arn = desk.clients.sts().get_caller_identity()["Arn"]
    reason = f"wrong directory loaded (by {arn}, 2026-11-30 18:00:00Z)"
    assert ParameterPause(desk.clients, (CLUSTER,)).paused_clusters() == {CLUSTER: reason}
    assert "proctor resume gpu" in printed.out


def test_a_reason_that_reads_like_off_pauses_all_the_same(desk: Desk) -> None:
    desk.run("pause", CLUSTER, "--reason", "off")
    assert CLUSTER in ParameterPause(desk.clients, (CLUSTER,)).paused_clusters()


def test_a_cluster_whose_switch_is_missing_can_be_paused(desk: Desk) -> None:
    assert desk.run("pause", "cpu").exit == 0
    assert "cpu" in ParameterPause(desk.clients, ("cpu",)).paused_clusters()


def test_resume_goes_on_and_tells_what_it_was(desk: Desk) -> None:
    desk.run("pause", CLUSTER, "--reason", "wrong directory")
    printed = desk.run("resume", CLUSTER)
    assert "goes on; it was paused: wrong directory" in printed.out
    assert desk.parameter(PAUSE) == "off"
    version = desk.clients.ssm().get_parameter(Name=PAUSE)["Parameter"]["Version"]
    assert "is not paused" in desk.run("resume", CLUSTER).out
    assert desk.clients.ssm().get_parameter(Name=PAUSE)["Parameter"]["Version"] == version


@pytest.mark.parametrize("reason", ["a\nb", "x" * 513, " "])
def test_a_reason_is_one_line(desk: Desk, reason: str) -> None:
    assert desk.run("pause", CLUSTER, "--reason", reason).exit == 2
    assert desk.parameter(PAUSE) == "off"


@pytest.mark.parametrize("command", ["pause", "resume"])
def test_a_cluster_that_is_not_governed_is_refused(desk: Desk, command: str) -> None:
    printed = desk.run(command, "other")
    assert printed.exit == 2
    assert "name one of the clusters that the stack governs: gpu, cpu" in printed.err


def test_mode_writes_one_field_and_keeps_the_rest_in_order(desk: Desk) -> None:
    text = '{\n  "cap": {"max_sessions": 5},\n  "mode": "dry_run",\n  "appeal": "Frag Aarsø."\n}'
    desk.put_policy(text)
    printed = desk.run("mode", "session_limits", "off", "--cluster", CLUSTER)
    assert printed.exit == 0
    version, policy = desk.policy()
    assert version == 3
    assert policy == {"cap": {"max_sessions": 5}, "mode": "off", "appeal": "Frag Aarsø."}
    assert list(policy) == ["cap", "mode", "appeal"]
    assert desk.parameter(POLICY).startswith('{\n  "cap"')
    assert "version 3 of /proctor/gpu/session_limits" in printed.out


def test_a_rule_is_switched_beside_the_others(desk: Desk) -> None:
    desk.put_policy('{"mode": "apply", "rules": {"unmapped": "off"}}')
    desk.run("mode", "session_limits", "--rule", "document", "dry_run", "--cluster", CLUSTER)
    assert desk.policy()[1] == {"mode": "apply", "rules": {"unmapped": "off", "document": "dry_run"}}


def test_the_mode_that_is_set_already_is_not_written_again(desk: Desk) -> None:
    desk.put_policy('{"mode": "off"}')
    printed = desk.run("mode", "session_limits", "off", "--cluster", CLUSTER, "--json")
    assert printed.json["is_written"] is False
    assert desk.policy()[0] == 2


def test_over_a_refused_version_the_one_in_force_is_built_on(desk: Desk) -> None:
    desk.put_policy('{"cap": {"max_sessions": 7}}')
    desk.put_policy('{"cap": {"max_sessions": 0}}', is_in_force=False)
    printed = desk.run("mode", "session_limits", "off", "--cluster", CLUSTER)
    assert printed.exit == 0
    assert desk.policy() == (4, {"cap": {"max_sessions": 7}, "mode": "off"})
    assert "built on version 2, in force, since version 3 is refused" in printed.out


def test_with_no_valid_version_at_all_it_says_what_to_mend(desk: Desk) -> None:
    desk.put_policy('{"cap": 3}')
    printed = desk.run("mode", "session_limits", "off", "--cluster", CLUSTER)
    assert printed.exit == 1
    assert "mend it first: cap" in printed.err
    assert desk.policy()[0] == 2


def test_apply_under_a_stack_in_dry_run_does_not_pass_for_acting(desk: Desk) -> None:
    out = desk.run("mode", "session_limits", "apply", "--cluster", CLUSTER).out
    assert "the stack's parameter ApplyActions is false" in out
    desk.outputs["ApplyActions"] = "true"
    desk.put_policy('{"mode": "dry_run"}')
    out = desk.run("mode", "session_limits", "apply", "--rule", "cap", "--cluster", CLUSTER).out
    assert "the policy's own mode is dry_run" in out
    assert "ApplyActions" not in out


def test_the_only_cluster_need_not_be_named_but_one_of_several_must(desk: Desk) -> None:
    printed = desk.run("mode", "session_limits", "off")
    assert printed.exit == 2
    assert "--cluster: None is not usable; name one of gpu, cpu" in printed.err
    desk.outputs["ClusterNames"] = f"{CLUSTER}, "
    assert desk.run("mode", "session_limits", "off").exit == 0


def test_mode_refuses_a_missing_policy_and_an_unknown_rule(desk: Desk) -> None:
    assert desk.run("mode", "session_limits", "off", "--cluster", "cpu").exit == 3
    printed = desk.run("mode", "session_limits", "off", "--cluster", CLUSTER, "--rule", "caps")
    assert printed.exit == 2
    assert "cap, disabled, document" in printed.err


@pytest.mark.parametrize(("operation", "call", "kept"), [("GetParameter", 2, 2), ("PutParameter", 1, 3)])
def test_somebody_elses_write_in_between_is_noticed(desk: Desk, operation: str, call: int, kept: int) -> None:
    """Before the last look nothing is written over it; after that it is told."""
    calls: list[str] = []

    def write_first(**_: object) -> None:
        calls.append(operation)
        if len(calls) == call:
            desk.put_policy('{"cap": {"max_sessions": 9}}', is_in_force=False)

    events = desk.clients.ssm().meta.events
    events.register(f"before-call.ssm.{operation}", write_first)
    try:
        printed = desk.run("mode", "session_limits", "off", "--cluster", CLUSTER)
    finally:
        events.unregister(f"before-call.ssm.{operation}", write_first)
    assert printed.exit == 5
    assert printed.out == ""
    assert desk.policy()[0] == kept


def test_a_policy_that_grows_too_long_is_written_without_its_spaces(desk: Desk) -> None:
    documents = ", \n".join(f'"doc-{n:04}"' for n in range(300))
    text = f'{{\n "allowed_documents": [{documents}]}}'
    assert len(text) < 4096
    desk.put_policy(text)
    assert desk.run("mode", "session_limits", "off", "--cluster", CLUSTER).exit == 0
    assert len(desk.parameter(POLICY)) <= 4096
    assert len(desk.policy()[1]["allowed_documents"]) == 300


@pytest.mark.parametrize("rule", ["budget", "policy", "scope"])
def test_a_rule_that_can_not_be_switched_is_not_offered(desk: Desk, rule: str) -> None:
    printed = desk.run("mode", "budget_holds", "off", "--rule", rule, "--cluster", CLUSTER)
    assert printed.exit == 2
    assert "name one of alarm, hold, notice" in printed.err


@pytest.mark.parametrize("name", ["session_limits", "budget_holds"])
def test_exactly_the_rules_whose_mode_the_function_asks_for_are_offered(name: str) -> None:
    sources = (Path(__file__).parents[3] / "functions" / name).glob("*.py")
    text = "\n".join(file.read_text() for file in sources)
    asked = set(re.findall(r"mode_of\(\s*(?:\w+, )?Rule\.([A-Z_]+)", text))
    if name == "session_limits":
        asked |= set(re.findall(r"found = Rule\.([A-Z_]+)", text))
    assert {rule.upper() for rule in governed(name).rules} == asked
