"""The help: it teaches, fits, and is what the golden files say."""

import argparse

import pytest

from proctor_cli.completion import nodes, subcommands
from proctor_cli.exits import Exit
from proctor_cli.parser import build_parser
from tests.unit.cli import golden
from tests.unit.cli.desk import Desk

COMMANDS = [(path, parser) for path, parser in nodes(build_parser(), "") if not subcommands(parser)]


def test_every_help_is_as_in_its_golden_file_and_no_file_is_left_over() -> None:
    texts = dict(golden.helps())
    assert {path.name for path in golden.FOLDER.glob("help*.txt")} == texts.keys()
    for name, text in texts.items():
        assert golden.read(name) == text, (
            f"{name}: run python -m tests.unit.cli.golden and read the difference"
        )
        assert max(map(len, text.splitlines())) <= 100, name


@pytest.mark.parametrize(("path", "parser"), COMMANDS, ids=[path.strip() for path, _ in COMMANDS])
def test_every_command_says_what_it_changes_and_gives_an_example(
    path: str, parser: argparse.ArgumentParser
) -> None:
    text = parser.format_help()
    assert "\nChanges: " in text
    assert f"example:\n  proctor{path}" in text
    for action in parser._actions:
        assert action.help, f"{path}: {action.dest} has no help"


@pytest.mark.parametrize(("path", "parser"), COMMANDS, ids=[path.strip() for path, _ in COMMANDS])
def test_every_example_is_a_command_line_that_parses(path: str, parser: argparse.ArgumentParser) -> None:
    import shlex  # noqa: PLC0415 - only here

    epilog = parser.epilog or ""
    for example in epilog.removeprefix("example:\n").splitlines():
        words = shlex.split(example.partition(" | ")[0].partition(" > ")[0])
        assert words[0] == "proctor"
        parsed = build_parser().parse_args(words[1:])
        assert callable(parsed.command), path


def test_options_for_everything_may_stand_on_either_side() -> None:
    parser = build_parser()
    for argv in (["--json", "--stack", "x", "status"], ["status", "--json", "--stack", "x"]):
        args = parser.parse_args(argv)
        assert (args.json, args.stack) == (True, "x")
    assert parser.parse_args(["why", "--json", "person", "ada"]).json is True
    assert parser.parse_args(["status"]).stack == "proctor"


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["nonsense"],
        ["invoke", "session_limits", "--scope", "all"],
        ["invoke", "session_limits", "--justification", "x"],
        ["invoke", "other", "--scope", "all", "--justification", "x"],
        ["invoke", "session_limits", "--scope", "all", "--justification", "x", "--app"],
        ["mode", "session_limits", "on"],
        ["exempt", "ada", "--until", "1h", "--max-sessions", "0", "--justification", "x"],
        ["exempt", "ada", "--until", "1h", "--max-sessions", "3", "--no-cap", "--justification", "x"],
        ["completion", "fish"],
    ],
    ids=" ".join,
)
def test_a_command_line_that_is_not_usable_exits_with_2(argv: list[str], desk: Desk) -> None:
    with pytest.raises(SystemExit) as left:
        desk.run(*argv)
    assert left.value.code == Exit.USAGE
