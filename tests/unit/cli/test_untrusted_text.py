"""What nodes and AWS say may hold anything: a terminal is told nothing by it, and is not flooded."""

import json

import pytest

from proctor_cli.console import Console, printable
from tests.unit.cli.desk import NOW
from tests.unit.cli.holds_desk import CONTROLLER, HoldsDesk
from tests.unit.cli.test_console import Terminal

HOSTILE = "a\u202eb\u009bc\u2028d\x1b[2Je\rf\u200bg\ud800h"


@pytest.mark.parametrize("command", [["agents"], ["agents", "--problems"], ["agents", "--json"], ["status"]])
def test_no_control_bidi_or_separator_character_of_a_node_is_printed(
    slurm: HoldsDesk, command: list[str]
) -> None:
    slurm.beat(NOW, problems=("slurm: a\u202eb\u009b2Jc\u2028d\nforged: line",))
    printed = slurm.desk.run(*command)
    assert all(line.isprintable() for line in printed.out.split("\n"))
    assert "\nforged" not in printed.out


def test_json_keeps_what_it_escapes(slurm: HoldsDesk) -> None:
    slurm.beat(NOW, problems=("a\u202eb\u009bc\u2028\U000e0001d",))
    printed = slurm.desk.run("agents", "--json")
    assert "\\u202e" in printed.out
    assert printed.json["agents"][0]["problems"] == ["a\u202eb\u009bc\u2028\U000e0001d"]


def test_two_thousand_problems_are_a_screenful_and_the_rest_is_counted(slurm: HoldsDesk) -> None:
    slurm.beat(NOW, problems=tuple(f"{number} {'x' * 60}" for number in range(2000)))
    printed = slurm.desk.run("agents")
    assert len(printed.out.splitlines()) < 20
    assert len(printed.out) < 4000
    assert f"({CONTROLLER}): 1,995 more problems; --json has all" in printed.out
    assert len(slurm.desk.run("agents", "--json").json["agents"][0]["problems"]) == 2000


def test_one_long_problem_is_cut(slurm: HoldsDesk) -> None:
    slurm.beat(NOW, problems=("y" * 50_000,))
    assert len(slurm.desk.run("agents").out) < 2000


def test_many_agents_with_problems_are_cut_too(slurm: HoldsDesk) -> None:
    for number in range(60):
        key = f"i-{number:017x}"
        slurm.put("heartbeat#nodes", key, {"verbs": "odd"}, node=f"ip-{number}", role="node")
    out = slurm.desk.run("agents").out
    assert "and 10 more agents with problems; --json has all" in out


def test_whatever_a_command_answers_is_cleaned_on_the_way_out() -> None:
    for out in (Terminal(), Terminal()):
        console = Console(out=out, err=Terminal())
        console.answer({}, f"{console.heading('Title')}\n{HOSTILE}\n")
        console.error(HOSTILE, 1)
        assert "a?b?c?d?[2Je?f?g?h" in out.getvalue()
        assert out.getvalue().startswith("\033[1mTitle\033[0m\n")


def test_json_answers_and_errors_are_ascii_where_a_terminal_would_obey() -> None:
    out, err = Terminal(), Terminal()
    console = Console(is_json=True, out=out, err=err)
    console.answer({HOSTILE: HOSTILE}, "")
    console.error(HOSTILE, 1)
    assert json.loads(out.getvalue()) == {HOSTILE: HOSTILE}
    assert json.loads(err.getvalue())["error"] == HOSTILE
    for text in (out.getvalue(), err.getvalue()):
        assert all(line.isprintable() for line in text.split("\n"))


def test_letters_of_any_script_stay() -> None:
    assert printable("Zoë, 東京, naïve — ≥ 5 €") == "Zoë, 東京, naïve — ≥ 5 €"
