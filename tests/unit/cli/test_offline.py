"""`proctor policy check`, `proctor completion`, and the schemas: what needs no AWS."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agent_reports.policy import AgentReportsPolicy
from budget_holds.definition import BudgetDefinition
from budget_holds.policy import BudgetHoldsPolicy
from proctor.domain.errors import InvalidInputError
from proctor.wire.policy import policy_parser
from proctor_cli import schemas
from proctor_cli.completion import nodes, script
from proctor_cli.parser import build_parser
from proctor_cli.people_file import read_people
from proctor_cli.policy_check import findings
from session_limits.policy import SessionLimitsPolicy
from session_limits.trigger import parse
from tests.unit.cli.bad_lines import BAD_LINES, line
from tests.unit.cli.desk import Desk

EVENTS = Path(__file__).parents[3] / "events" / "session_limits"


def test_a_valid_policy_is_valid_and_needs_no_stack(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_text('{"mode": "apply", "cap": {"max_sessions": 3}}')
    desk.outputs.clear()
    printed = desk.run("policy", "check", str(file))
    assert (printed.exit, printed.out) == (0, f"{file}: valid\n")


BAD_POLICIES = [
    ("{", "document", "write one valid JSON object"),
    ("[]", "document", "use an object"),
    ('{"mode": "off", "mode": "apply"}', "document", "'mode' stands there twice"),
    ('{"mode": "on"}', "mode", "use 'off', 'dry_run' or 'apply'"),
    ('{"max_session": 3}', "max_session", "did you mean max_sessions?"),
    ('{"cap": {"max_sessions": 0}}', "cap", "max_sessions must be 1 or more"),
    ('{"cap": {"max_sessions": "three"}}', "cap.max_sessions", "use a valid integer"),
    ('{"group_caps": [{"group": "physics"}]}', "group_caps.0.max_sessions", "add this field"),
    ('{"rules": {"caps": "off"}}', "rules.caps.[key]", "'cap'"),
    ('{"weights": {"ssh": -1}}', "document", "weights.ssh must be 0 or more"),
    ('{"appeal": "' + "x" * 4096 + '"}', "document", "shorten it to 4096 bytes"),
    ('\ufeff{"mode": "off"}', "document", "without BOM"),
]


@pytest.mark.parametrize(
    ("text", "field", "fix"), BAD_POLICIES, ids=[text[:30] for text, _, _ in BAD_POLICIES]
)
def test_a_bad_policy_is_told_with_field_value_and_fix(
    desk: Desk, tmp_path: Path, text: str, field: str, fix: str
) -> None:
    file = tmp_path / "policy.json"
    file.write_text(text)
    printed = desk.run("policy", "check", str(file), "--json")
    assert printed.exit == 1
    found = printed.json["findings"]
    assert any(f["field"] == field and fix in f["fix"] for f in found), found
    assert "the function would refuse it" in desk.run("policy", "check", str(file)).out


def test_every_finding_is_told_at_once() -> None:
    text = b'{"mode": "on", "zzz": 1, "cap": {"max_sessions": "x"}}'
    assert {f.field for f in findings(text, SessionLimitsPolicy)} == {
        "mode",
        "zzz",
        "cap.max_sessions",
    }


def test_the_files_in_docs_are_what_the_types_say() -> None:
    assert {path.name for path in schemas.FOLDER.glob("*.json")} == schemas.schemas().keys()
    for name, text in schemas.schemas().items():
        assert (schemas.FOLDER / name).read_text() == text, f"docs/schema/{name}: run make schemas"


def test_the_command_writes_what_differs_and_check_only_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(schemas, "FOLDER", tmp_path / "schema")
    monkeypatch.setattr(sys, "argv", ["schemas", "--check"])
    assert schemas.main() == 1
    assert not (tmp_path / "schema").exists()
    monkeypatch.setattr(sys, "argv", ["schemas"])
    assert schemas.main() == 0
    assert "docs/schema/people.json: written" in capsys.readouterr().out
    assert {p.name: p.read_text() for p in (tmp_path / "schema").iterdir()} == schemas.schemas()
    monkeypatch.setattr(sys, "argv", ["schemas", "--check"])
    assert schemas.main() == 0


def _objects(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = {schema["title"]: schema, **schema.get("$defs", {})}
    return {name: part for name, part in found.items() if "properties" in part}


def test_every_field_has_a_description_and_every_description_a_field() -> None:
    fields = set()
    for text in schemas.schemas().values():
        schema = json.loads(text)
        Draft202012Validator.check_schema(schema)
        for owner, part in _objects(schema).items():
            assert part["description"]
            for name, values in part["properties"].items():
                assert values.get("description"), f"{owner}.{name}"
                fields.add(f"{owner}.{name}")
    assert schemas.TEXTS.keys() <= fields


def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads(schemas.schemas()[name]))


type Place = tuple[str, type[Any], dict[str, Any]]


def _with(path: str, value: object) -> Place:
    """(schema, type, document) in which only one field is set: `Cap.max_sessions` within where that type stands."""
    owner, _, name = path.partition(".")
    mine = {name: value}
    # The two percentages of a hold bound each other.
    beside = {
        "hold_at_percent": {"release_below_percent": 1},
        "release_below_percent": {"hold_at_percent": 200},
    }
    sessions: dict[str, dict[str, Any]] = {
        "SessionLimitsPolicy": mine,
        "Cap": {"cap": mine},
        "GroupCap": {"group_caps": [{"group": "g", "max_sessions": 1, **mine}]},
        "Reconnects": {"reconnects": mine},
        "GuardrailSettings": {"guardrails": mine},
        "ActionBudget": {"guardrails": {"session_ends": mine}},
    }
    holds: dict[str, dict[str, Any]] = {
        "BudgetHoldsPolicy": {**beside.get(name, {}), **mine},
        "Plausibility": {"plausibility": mine},
        "Rates": {"rates": mine},
    }
    budget: dict[str, dict[str, Any]] = {
        "Allocation": {"account": "lab1", "allocation": {"limit": 1, **mine}},
        "BudgetDefinition": {"aws_budget": "bill", **mine},
    }
    places: list[tuple[str, type[Any], dict[str, dict[str, Any]]]] = [
        ("session_limits.json", SessionLimitsPolicy, sessions),
        ("budget_holds.json", BudgetHoldsPolicy, holds),
        ("budget.json", BudgetDefinition, budget),
        ("agent_reports.json", AgentReportsPolicy, {"AgentReportsPolicy": mine}),
    ]
    return next((file, kind, found[owner]) for file, kind, found in places if owner in found)


BOUNDED = sorted(
    path
    for path, (_, bounds) in schemas.TEXTS.items()
    if {"minimum", "exclusiveMinimum", "anyOf"} & bounds.keys()
)


@pytest.mark.parametrize("path", BOUNDED)
def test_the_bounds_in_the_schema_are_those_of_the_parser(path: str) -> None:
    for value in (-1, 0, 1, 2, 100, 101):
        file, kind, document = _with(path, [value] if path.endswith("thresholds") else value)
        try:
            policy_parser(kind)(json.dumps(document))
            is_parsed = True
        except InvalidInputError:
            is_parsed = False
        assert _validator(file).is_valid(document) is is_parsed, (path, value)


def test_policies_that_the_schema_and_the_parser_see_alike() -> None:
    validator = _validator("session_limits.json")
    for text, *_ in BAD_POLICIES:
        try:
            policy = json.loads(text)
        except ValueError:
            continue
        if "appeal" not in text and text.count("mode") < 2:
            assert not validator.is_valid(policy), text
    assert validator.is_valid({})
    assert validator.is_valid({"weights": {"ssh": 0}, "rules": {"cap": "off"}})


def test_people_that_the_schema_and_the_loader_see_alike() -> None:
    """An editor can't know everything (zones, ARNs in one of two shapes), but it refuses nothing that the loader takes."""
    validator = _validator("people.json")
    assert validator.is_valid(line("ada", email=None, groups=["x"], run_as=None))
    refused = [name for name, bad, *_ in BAD_LINES if isinstance(bad, dict) and not validator.is_valid(bad)]
    assert {
        "no login name",
        "misspelt field",
        "blank in the name",
        "short account",
        "unknown kind",
        "an ARN",
    } <= set(refused)
    for name, bad, *_ in BAD_LINES:
        if name in refused:
            assert read_people(json.dumps(bad).encode()).errors


def test_manual_requests_that_the_schema_and_the_function_see_alike() -> None:
    validator = _validator("manual.json")
    for name in ("manual.json", "manual_end_session.json"):
        request = json.loads((EVENTS / name).read_text())
        validator.validate(request)
        parse(request)
        assert not validator.is_valid({**request, "dryrun": False})


@pytest.mark.parametrize(
    ("line_so_far", "offered"),
    [
        ("proctor st", {"status"}),
        ("proctor why ", {"session", "person", "job", "account", "partition", "--json", "--stack"}),
        ("proctor --json people ", {"load", "show"}),
        ("proctor people load --", {"--dry-run", "--skip-bad", "--allow-shrink"}),
        ("proctor mode ", {"session_limits", "off", "dry_run", "apply", "--rule"}),
        ("proctor completion ", {"bash", "zsh"}),
        ("proctor policy check --function ", {"session_limits", "budget_holds", "agent_reports"}),
        ("proctor budgets ", {"show", "--cluster"}),
        ("proctor hold --", {"--until", "--apply", "--justification"}),
    ],
)
def test_completion_in_a_real_bash(line_so_far: str, offered: set[str], tmp_path: Path) -> None:
    words = line_so_far.split(" ")
    file = tmp_path / "proctor.bash"
    file.write_text(script("bash", build_parser()))
    ask = f'source {file}; COMP_WORDS=("$@"); COMP_CWORD={len(words) - 1}; _proctor; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["/bin/bash", "--norc", "-c", ask, "bash", *words],
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    assert done.stderr == ""
    assert offered <= set(done.stdout.split())


def test_completion_offers_files_where_a_file_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "people.jsonl").touch()
    file = tmp_path / "proctor.bash"
    file.write_text(script("bash", build_parser()))
    for words in (
        ["proctor", "people", "load", "peo"],
        ["proctor", "invoke", "session_limits", "--event-file", "peo"],
    ):
        ask = f'source {file}; COMP_WORDS=("$@"); COMP_CWORD={len(words) - 1}; _proctor; echo "${{COMPREPLY[@]}}"'
        done = subprocess.run(
            ["/bin/bash", "--norc", "-c", ask, "bash", *words],
            capture_output=True, text=True, timeout=20, check=True, cwd=tmp_path,
        )  # fmt: skip
        assert done.stdout == "people.jsonl\n"


def test_completion_for_zsh_loads_the_bash_way(desk: Desk) -> None:
    printed = desk.run("completion", "zsh")
    assert "bashcompinit" in printed.out
    assert printed.out.endswith("complete -F _proctor proctor\n")


def test_docs_cli_names_every_command_and_option() -> None:
    text = (schemas.FOLDER.parent / "cli.md").read_text()
    for path, parser in nodes(build_parser(), "proctor"):
        assert path in text, path
        for action in parser._actions:
            for option in action.option_strings:
                assert option in text or option in ("-h", "--help"), f"{path} {option}"
